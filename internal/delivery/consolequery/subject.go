package consolequery

import (
	"context"
	"encoding/json"
	"time"

	"github.com/countersign-dev/countersign/internal/account/subjectrow"
	"github.com/countersign-dev/countersign/internal/authz/assurance"
	"github.com/countersign-dev/countersign/internal/authz/authorization"
	"github.com/countersign-dev/countersign/internal/authz/challenge"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// The most rows of each kind that a subject's page shows. The page has no pagination.
const (
	maxDecisions = 200
	maxSessions  = 50
	maxEntries   = 100
	maxTrust     = 200
)

// Subject is the timeline of a subject.
type Subject struct {
	models.Subject
	Passkeys  int
	Decisions []authorization.Trace // newest first
	Sessions  []models.Session      // newest first, with the status as of now
	Entries   []models.Event        // newest first
	Trust     []TrustPoint          // oldest first
}

// TrustPoint is a change of the trust state of one of the subject's sessions.
type TrustPoint struct {
	At       time.Time
	State    string
	Score    *float64 // 0..1, 1 is the enrolled person
	Coverage string
}

// Subject reads the timeline of a subject by the relying party's id. It returns the problem not_found if there is none.
func (r *Reader) Subject(ctx context.Context, scope pg.Scope, id string) (Subject, error) {
	sub, err := subjectrow.Get(ctx, r.store.AsStored(), scope, id)
	if err != nil {
		return Subject{}, notFound(err)
	}
	out := Subject{Subject: sub}
	keys, err := challenge.ActivePasskeys(ctx, r.store.Q, scope, sub.UID)
	if err != nil {
		return out, err
	}
	out.Passkeys = len(keys)
	if out.Decisions, _, err = r.authorizations.List(ctx, scope, authorization.TraceFilter{Subject: id}, pg.Page{Limit: maxDecisions}); err != nil {
		return out, err
	}
	if out.Sessions, _, err = subjectrow.ListSessions(ctx, r.store.Q, scope, subjectrow.SessionFilter{SubjectUID: sub.UID}, pg.Page{Limit: maxSessions}); err != nil {
		return out, err
	}
	now := r.clock.Now()
	for i, s := range out.Sessions {
		out.Sessions[i].Status = assurance.Effective(s, now)
	}
	if out.Entries, _, err = events.QueryActivity(ctx, r.store.Q, scope, events.ActivityFilter{Types: events.Selected(""), Subject: id}, pg.Page{Limit: maxEntries}); err != nil {
		return out, err
	}
	out.Trust, err = r.trust(ctx, scope, id)
	return out, err
}

// trust reads the subject's changes of trust state from the event log.
func (r *Reader) trust(ctx context.Context, scope pg.Scope, id string) ([]TrustPoint, error) {
	f := events.ActivityFilter{Types: []string{string(events.TrustStateChanged)}, Subject: id}
	rows, _, err := events.QueryActivity(ctx, r.store.Q, scope, f, pg.Page{Limit: maxTrust})
	out := make([]TrustPoint, 0, len(rows))
	for i := len(rows) - 1; i >= 0; i-- {
		var data struct {
			To       string   `json:"to"`
			Score    *float64 `json:"score"`
			Coverage string   `json:"coverage"`
		}
		if json.Unmarshal(rows[i].Data, &data) == nil { // an erased entry has no data
			out = append(out, TrustPoint{At: rows[i].At, State: data.To, Score: data.Score, Coverage: data.Coverage})
		}
	}
	return out, err
}
