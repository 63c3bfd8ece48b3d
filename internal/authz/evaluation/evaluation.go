// Package evaluation measures the decisions of some actions over a window against success criteria. The database counts; this
// package defines what the metrics mean. The workflow that closes an evaluation at its end is in package workflows; Service
// starts no workflow and waits for none.
package evaluation

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/account/subjectrow"
	"github.com/countersign-dev/countersign/internal/authz/action"
	"github.com/countersign-dev/countersign/internal/platform/admission"
	"github.com/countersign-dev/countersign/internal/platform/apitime"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/displaytext"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/platform/outbox"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// Criteria is the contract's EvaluationCriteria with the defaults filled in.
type Criteria struct {
	MinShadowDecisions int64   `json:"min_shadow_decisions"` // 1..1000000, default 50
	MinOutcomeCoverage float64 `json:"min_outcome_coverage"` // 0..1, default 0.5
	MaxAbstentionRate  float64 `json:"max_abstention_rate"`  // 0..1, default 0.5
}

// DefaultCriteria returns the defaults of the contract.
func DefaultCriteria() Criteria {
	return Criteria{MinShadowDecisions: 50, MinOutcomeCoverage: 0.5, MaxAbstentionRate: 0.5}
}

// UnmarshalJSON fills in the defaults of the contract.
func (c *Criteria) UnmarshalJSON(text []byte) error {
	type plain Criteria // without this method
	in := plain(DefaultCriteria())
	if err := json.Unmarshal(text, &in); err != nil {
		return err
	}
	*c = Criteria(in)
	return nil
}

// Create describes a new evaluation.
type Create struct {
	Name string
	// ActionKeys must be keys of actions of the environment, without repetition.
	ActionKeys []string
	StartsAt   *time.Time // nil: now
	// EndsAt must be after StartsAt.
	EndsAt   *time.Time // nil: open until it is closed
	Criteria Criteria
}

// View is the contract's Evaluation.
type View struct {
	ID         string   `json:"id"`
	Name       string   `json:"name"`
	ActionKeys []string `json:"action_keys"`
	Criteria   Criteria `json:"success_criteria"`
	// Status is open or closed, computed on read: an evaluation past its end is closed.
	Status string `json:"status"`
	// Times are in RFC 3339, to the millisecond. EndsAt is nil for an evaluation without an end.
	StartsAt  string  `json:"starts_at"`
	EndsAt    *string `json:"ends_at"`
	CreatedAt string  `json:"created_at"`
}

// Service opens, reports and closes evaluations.
type Service struct {
	store   *pg.Store
	clock   clock.Clock
	reports *admission.Gate // limits concurrent counts for readers
}

// New returns a Service.
func New(st *pg.Store, c clock.Clock) *Service {
	return &Service{store: st, clock: c, reports: admission.New(reportsAtOnce, reportsEach, reportsQueue)}
}

// Effective returns the status of an evaluation at a time: one past its end is closed, however late its timer.
func Effective(e models.Evaluation, now time.Time) models.EvaluationStatus {
	if e.Status == models.EvaluationOpen && e.EndsAt != nil && !now.Before(*e.EndsAt) {
		return models.EvaluationClosed
	}
	return e.Status
}

// checkNamesNoSubject refuses a name with the id of a subject: the name is part of the record, which an erasure does not change. A word of letters
// alone is no id, so that an ordinary one is never refused.
func (s *Service) checkNamesNoSubject(ctx context.Context, scope pg.Scope, name string) error {
	words := slices.DeleteFunc(strings.Fields(name), func(w string) bool {
		return strings.IndexFunc(w, func(r rune) bool { return !unicode.IsLetter(r) }) < 0
	})
	for _, w := range words {
		words = append(words, strings.Trim(w, `.,:;!?()[]"'`))
	}
	id, err := subjectrow.Named(ctx, s.store.Q, scope, words)
	if err != nil || id == "" {
		return err
	}
	return problem.Invalid([]any{"body", "name"}, "name contains the id of a user. It would stay after the user's data is erased: leave the id out.", "value_error")
}

// Create opens an evaluation. Its workflow is started through the outbox.
func (s *Service) Create(ctx context.Context, p identity.Principal, in Create) (View, error) {
	if err := displaytext.Check("name", in.Name); err != nil {
		return View{}, err
	}
	if err := s.checkNamesNoSubject(ctx, p.Store(), in.Name); err != nil {
		return View{}, err
	}
	now := s.clock.Now()
	starts := now
	if in.StartsAt != nil {
		starts = *in.StartsAt
	}
	if in.EndsAt != nil && !in.EndsAt.After(starts) {
		return View{}, problem.Invalid([]any{"body", "ends_at"}, "ends_at must be after starts_at.", "window_invalid")
	}
	actions, err := s.resolve(ctx, p.Store(), in.ActionKeys)
	if err != nil {
		return View{}, err
	}
	criteria, err := json.Marshal(in.Criteria)
	if err != nil {
		return View{}, fmt.Errorf("success criteria: %w", err)
	}
	row := models.Evaluation{
		ID: ids.New(ids.Evaluation), TenantID: p.TenantID, EnvironmentID: p.EnvironmentID, Name: in.Name,
		ActionKeys: in.ActionKeys, ActionIDs: actions, SuccessCriteria: criteria, Status: models.EvaluationOpen,
		StartsAt: starts, EndsAt: in.EndsAt, CreatedAt: now,
	}
	digest, err := pg.RecordDigest(row)
	if err != nil {
		return View{}, err
	}
	err = s.store.Write(ctx, func(q *pg.Q) error {
		if err := insertEvaluation(ctx, q, row); err != nil {
			return err
		}
		if err := events.Append(ctx, q, events.Entry{
			Scope: p.Store(), At: now, Actor: p.Actor(), RequestID: p.RequestID,
			Data: events.EvaluationCreatedData{Evaluation: row.ID, RecordDigest: digest},
		}); err != nil {
			return err
		}
		return outbox.Add(ctx, q, outbox.Item{
			Topic: outbox.TopicEvaluationStart, Environment: p.EnvironmentID, Ref: row.ID, At: now,
		})
	})
	if err != nil {
		return View{}, err
	}
	return s.view(row)
}

// resolve returns the ids of action keys. It refuses unknown and repeated keys, all in one error.
func (s *Service) resolve(ctx context.Context, scope pg.Scope, keys []string) (models.Strings, error) {
	found, err := action.IDs(ctx, s.store.Q, scope, keys)
	if err != nil {
		return nil, err
	}
	var fields []problem.Field
	seen := map[string]bool{}
	out := make(models.Strings, 0, len(keys))
	for i, k := range keys {
		loc := []any{"body", "action_keys", i}
		switch id, known := found[k]; {
		case seen[k]:
			fields = append(fields, problem.Field{Loc: loc, Msg: "The key is repeated.", Type: "duplicate_item"})
		case !known:
			fields = append(fields, problem.Field{Loc: loc, Msg: "No action of this environment has this key.", Type: "unknown_action"})
		default:
			out = append(out, id)
		}
		seen[k] = true
	}
	if len(fields) > 0 {
		return nil, problem.InvalidFields(fields)
	}
	return out, nil
}

// Get returns one evaluation.
func (s *Service) Get(ctx context.Context, scope pg.Scope, id string) (View, error) {
	row, err := getEvaluation(ctx, s.store.Q, scope, id)
	if err != nil {
		return View{}, err
	}
	return s.view(row)
}

// List lists evaluations, newest first; an empty status is every status.
func (s *Service) List(ctx context.Context, scope pg.Scope, status models.EvaluationStatus, page pg.Page) ([]View, string, error) {
	rows, next, err := listEvaluations(ctx, s.store.Q, scope, status, s.clock.Now(), page)
	if err != nil {
		return nil, "", err
	}
	out := make([]View, 0, len(rows))
	for _, r := range rows {
		v, err := s.view(r)
		if err != nil {
			return nil, "", err
		}
		out = append(out, v)
	}
	return out, next, nil
}

// view returns the contract's view of an evaluation at the current time.
func (s *Service) view(e models.Evaluation) (View, error) {
	c, err := criteriaOf(e)
	return View{
		ID: e.ID, Name: e.Name, ActionKeys: e.ActionKeys, Criteria: c, Status: string(Effective(e, s.clock.Now())),
		StartsAt: apitime.Time(e.StartsAt), EndsAt: apitime.OptionalTime(e.EndsAt), CreatedAt: apitime.Time(e.CreatedAt),
	}, err
}

// criteriaOf decodes the stored criteria.
func criteriaOf(e models.Evaluation) (Criteria, error) {
	var c Criteria
	if err := json.Unmarshal(e.SuccessCriteria, &c); err != nil {
		return c, fmt.Errorf("success criteria of %s: %w", e.ID, err)
	}
	return c, nil
}
