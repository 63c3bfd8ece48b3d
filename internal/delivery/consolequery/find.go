package consolequery

import (
	"context"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

const (
	// FindLimit is the number of records of a kind that a search returns.
	FindLimit = 8
	// FindMin is the least length of a text that is searched for, in characters.
	FindMin = 2
	// FindMax is the most.
	FindMax = 128
	// findDigits is the length from which the beginning of an id is searched for: its first ten digits are the millisecond in which
	// the record was made, so the search reads the records of one millisecond.
	findDigits = 10
)

// Hits are the records of one kind that a search found.
type Hits struct {
	Kind  string // prefix of their ids
	Found []Found
	More  bool // there are more than FindLimit
}

// findPermissions are the kinds that are found, with the permission that the search for each requires.
var findPermissions = map[string]models.Permission{
	ids.Authorization: models.PermissionDecisionsRead, ids.Challenge: models.PermissionDecisionsRead, ids.Proof: models.PermissionDecisionsRead,
	ids.Session: models.PermissionDecisionsRead, ids.Enrollment: models.PermissionDecisionsRead, ids.Subject: models.PermissionDecisionsRead,
	ids.Action: models.PermissionConfigRead, ids.PolicyVersion: models.PermissionConfigRead, ids.WebhookEndpoint: models.PermissionConfigRead,
	ids.Credential: models.PermissionConfigRead, ids.Evaluation: models.PermissionConfigRead, ids.Change: models.PermissionConfigRead,
	ids.Person: models.PermissionConfigRead, ids.Event: models.PermissionAudit,
}

var (
	findID     = regexp.MustCompile(`^([a-z]{3})_([0-9a-hjkmnp-tv-z]{1,26})$`)
	findNumber = regexp.MustCompile(`^#?([0-9]{1,18})$`)
)

// Find returns the records of the environment that the text names, by kind: by id or the beginning of an id, subjects by the
// beginning of the relying party's id, actions by key or name, people by name, and entries of the audit log by number. may
// reports whether the user has a permission; kinds without it are not searched. short reports that the text is an id of which too
// little is given.
func (r *Reader) Find(ctx context.Context, scope pg.Scope, text string, may func(models.Permission) bool) (hits []Hits, short bool, err error) {
	if n := utf8.RuneCountInString(text); n < FindMin && !findNumber.MatchString(text) || n > FindMax {
		return nil, false, nil
	}
	q := r.store
	var searches []search
	if m := findID.FindStringSubmatch(strings.ToLower(text)); m != nil && findPermissions[m[1]] != "" && m[1] != ids.Subject {
		if short = len(m[2]) < findDigits; !short {
			searches = append(searches, search{m[1], func() ([]Found, error) { return findByID(ctx, q.Q, scope, m[1], m[0], FindLimit+1) }})
		}
	}
	if m := findNumber.FindStringSubmatch(text); m != nil {
		number, _ := strconv.ParseInt(m[1], 10, 64) // at most 18 digits
		searches = append(searches, search{ids.Event, func() ([]Found, error) { return findEntry(ctx, q.Q, scope, number) }})
	}
	searches = append(searches,
		search{ids.Subject, func() ([]Found, error) { return findSubjectsByPrefix(ctx, q.Q, scope, text, FindLimit+1) }},
		search{ids.Action, func() ([]Found, error) { return findActions(ctx, q.Q, scope, text, FindLimit+1) }},
		search{ids.Person, func() ([]Found, error) { return findPeople(ctx, q.Q, scope, text, FindLimit+1) }})
	for _, s := range searches {
		if !may(findPermissions[s.kind]) {
			continue
		}
		found, err := s.run()
		if err != nil {
			return nil, short, err
		}
		if len(found) > 0 {
			hits = append(hits, Hits{Kind: s.kind, Found: found[:min(len(found), FindLimit)], More: len(found) > FindLimit})
		}
	}
	return hits, short, nil
}

// search is one search for records of a kind.
type search struct {
	kind string
	run  func() ([]Found, error)
}
