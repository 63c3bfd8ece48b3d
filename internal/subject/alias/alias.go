// Package alias stores by which names the security events of identity providers know a subject (RFC 9493): the issuer's subject, an opaque id or an
// e-mail address. The relying party sends them; without them no event matches a subject.
//
// The package stores keyed digests, which say nothing about a name without the master key. A name is of one subject of an environment.
package alias

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/account/subjectrow"
	"github.com/countersign-dev/countersign/internal/platform/canonical"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// Formats of names.
const (
	IssSub = "iss_sub"
	Opaque = "opaque"
	Email  = "email"
)

const (
	// Max is the maximum number of names of a subject.
	Max = 50
	// MaxName is the maximum length of a part of a name in bytes.
	MaxName = 512
	purpose = "subject-alias" // of the keyring
)

// Name is a subject identifier of one of the Formats, with the members that RFC 9493 gives the format.
type Name struct {
	Format  string `json:"format"`
	Issuer  string `json:"iss,omitempty"`
	Subject string `json:"sub,omitempty"`
	ID      string `json:"id,omitempty"`
	Email   string `json:"email,omitempty"`
}

// Usable reports whether a name has the members of its format and no others, each a text that is compared as it is.
func (n Name) Usable() bool { return n.fault() == "" }

// fault says which member is missing, superfluous or not usable; an empty text if none is.
func (n Name) fault() string {
	wanted, known := map[string][]string{IssSub: {"iss", "sub"}, Opaque: {"id"}, Email: {"email"}}[n.Format]
	if !known {
		return "format"
	}
	for _, member := range []struct{ name, value string }{{"iss", n.Issuer}, {"sub", n.Subject}, {"id", n.ID}, {"email", n.Email}} {
		bad := len(member.value) > MaxName || member.name == "email" && member.value != "" && canonical.Normal(member.value) == "" || !utf8.ValidString(member.value) || strings.ContainsFunc(member.value, unicode.IsControl)
		if slices.Contains(wanted, member.name) == (member.value == "") || bad {
			return member.name
		}
	}
	return ""
}

// parts are the compared parts of a name. Addresses are compared in their normal form: providers disagree about case, and a space that was copied with an
// address must not keep an event from its subject.
func (n Name) parts(environment string) [][]byte {
	return [][]byte{[]byte(environment), []byte(n.Format), []byte(n.Issuer), []byte(n.Subject), []byte(n.ID), []byte(canonical.Normal(n.Email))}
}

// Service stores the names of the subjects of all environments. It is safe for concurrent use.
type Service struct {
	store *pg.Store
	keys  *keyring.Keyring
	clock clock.Clock
}

// New returns the service.
func New(st *pg.Store, keys *keyring.Keyring, c clock.Clock) *Service {
	return &Service{store: st, keys: keys, clock: c}
}

// List returns the stored part of the names of a subject, the oldest first. It returns the problem not_found if there is no such subject.
func (s *Service) List(ctx context.Context, scope pg.Scope, id string) ([]models.SubjectAlias, error) {
	row, err := subjectrow.Get(ctx, s.store.Q, scope, id)
	if err != nil {
		return nil, notFound(err)
	}
	return listAliases(ctx, s.store.Q, scope, row.UID)
}

// Put replaces the names of a subject. Those that it has already keep their time. It returns the problem conflict if one is the name of a
// different subject.
func (s *Service) Put(ctx context.Context, p identity.Principal, id string, names []Name) ([]models.SubjectAlias, error) {
	if err := check(names); err != nil {
		return nil, err
	}
	var out []models.SubjectAlias
	now, scope := s.clock.Now(), p.Store()
	err := s.store.Write(ctx, func(q *pg.Q) error {
		row, err := subjectrow.Lock(ctx, q, scope, id)
		if err != nil {
			return notFound(err)
		}
		changed, err := s.replace(ctx, q, row, names, now)
		if err != nil {
			return err
		}
		if out, err = listAliases(ctx, q, scope, row.UID); err != nil || !changed {
			return err
		}
		return events.Append(ctx, q, events.Entry{
			Scope: scope, At: now, SubjectUID: row.UID, Subject: row.ExternalID, Actor: p.Actor(), RequestID: p.RequestID,
			Data: events.SubjectAliasesChangedData{Formats: countsOf(out)},
		})
	})
	return out, err
}

func notFound(err error) error {
	if errors.Is(err, pg.ErrNotFound) {
		return problem.NewNotFound()
	}
	return err
}

func check(names []Name) error {
	for i, n := range names {
		if member := n.fault(); member != "" {
			msg := fmt.Sprintf("%s is not as the format needs it: iss_sub has iss and sub, opaque has id, email has email, each with 1 to %d bytes without control characters", member, MaxName)
			return problem.Invalid([]any{"body", "aliases", i, member}, msg, "value_error")
		}
	}
	return nil
}

// replace makes the names those of a subject, whose row is locked, and reports whether one was added or removed.
func (s *Service) replace(ctx context.Context, q *pg.Q, of models.Subject, names []Name, now time.Time) (changed bool, err error) {
	var keep [][]byte
	for i, n := range names {
		macs := s.keys.MACs(purpose, n.parts(of.EnvironmentID)...)
		row := models.SubjectAlias{
			EnvironmentID: of.EnvironmentID, TenantID: of.TenantID, SubjectUID: of.UID, MAC: macs[0], Format: n.Format, CreatedAt: now,
		}
		owners, err := ownersOf(ctx, q, row.EnvironmentID, macs)
		if err != nil {
			return false, err
		}
		if slices.ContainsFunc(owners, func(o models.SubjectAlias) bool { return o.SubjectUID != of.UID }) {
			return false, problem.Newf(problem.Conflict, "aliases[%d] is a name of a different subject. Remove it there first.", i)
		}
		keep = append(keep, row.MAC)
		if slices.ContainsFunc(owners, func(o models.SubjectAlias) bool { return bytes.Equal(o.MAC, row.MAC) }) {
			continue
		}
		added, err := addAlias(ctx, q, row)
		if err != nil {
			return false, err
		}
		if !added {
			return false, problem.New(problem.Conflict, "One of the names was given to a different subject at the same time. Send the request again.")
		}
		changed = true
	}
	removed, err := removeOthers(ctx, q, of, keep)
	return changed || removed > 0, err
}

// countsOf returns how many names there are of each format, such as "email 1".
func countsOf(rows []models.SubjectAlias) []string {
	n := map[string]int{}
	for _, r := range rows {
		n[r.Format]++
	}
	out := []string{}
	for _, format := range []string{Email, IssSub, Opaque} {
		if n[format] > 0 {
			out = append(out, fmt.Sprintf("%s %d", format, n[format]))
		}
	}
	return out
}

// Find returns the uids of the subjects of an environment that have one of the names.
func (s *Service) Find(ctx context.Context, q *pg.Q, scope pg.Scope, names []Name) ([]string, error) {
	var macs [][]byte
	for _, n := range names {
		macs = append(macs, s.keys.MACs(purpose, n.parts(scope.Environment)...)...)
	}
	if len(macs) == 0 {
		return nil, nil
	}
	return subjectsNamed(ctx, q, scope, macs)
}
