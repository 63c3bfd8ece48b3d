package action

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"time"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// Author is the actor of a change and its circumstances.
type Author struct {
	Scope      pg.Scope
	Actor      string
	RequestID  string
	WorkflowID string // empty unless a workflow makes the change
	At         time.Time
}

func authorOf(p identity.Principal, now time.Time) Author {
	return Author{Scope: p.Store(), Actor: p.Actor(), RequestID: p.RequestID, At: now}
}

func (by Author) entry(a models.Action, data events.Data) events.Entry {
	return events.Entry{
		Scope: by.Scope, At: by.At, Action: a.Key, Actor: by.Actor, RequestID: by.RequestID, WorkflowID: by.WorkflowID, Data: data,
	}
}

// guard refuses a change that one principal may not make alone.
type guard func(ctx context.Context, q *pg.Q, scope pg.Scope) error

// approved guards a change that a second principal has approved.
func approved(context.Context, *pg.Q, pg.Scope) error { return nil }

// Update changes name, consequence, labels or mode; nil fields stay as they are. It is refused with tenancy.ErrSecondApprover
// as the cause if a value would change and the environment requires a second approver.
func (s *Service) Update(ctx context.Context, p identity.Principal, id string, c Change) (models.Action, error) {
	var after models.Action
	by := authorOf(p, s.clock.Now())
	err := s.store.Write(ctx, func(q *pg.Q) (err error) {
		after, err = update(ctx, q, by, id, c, tenancy.RefuseAlone)
		return err
	})
	s.Released(after)
	return after, err
}

// UpdateIn is Update of a change that a second principal has approved, in the caller's transaction. The caller calls Released
// after the commit.
func UpdateIn(ctx context.Context, q *pg.Q, by Author, id string, c Change) (models.Action, error) {
	return update(ctx, q, by, id, c, approved)
}

func update(ctx context.Context, q *pg.Q, by Author, id string, c Change, g guard) (models.Action, error) {
	if err := checkTexts(c.Name, c.Consequence, nil, nil); err != nil {
		return models.Action{}, err
	}
	if err := checkLabels(c.Labels); err != nil {
		return models.Action{}, err
	}
	before, err := lock(ctx, q, by.Scope, id)
	if err != nil {
		return before, err
	}
	if err := c.Check(before); err != nil {
		return before, err
	}
	current, err := c.Current(before)
	if err != nil {
		return before, err
	}
	if !reflect.DeepEqual(c, current) { // whichever field: users read and sign the texts
		if err := g(ctx, q, by.Scope); err != nil {
			return before, err
		}
	}
	if _, err := updateAction(ctx, q, by.Scope, id, c, by.At); err != nil {
		return before, err
	}
	after, err := GetAction(ctx, q, by.Scope, id)
	if err != nil {
		return after, err
	}
	change, err := events.NewChange(changeable(before), changeable(after))
	if err != nil {
		return after, err
	}
	data := events.ActionUpdatedData{ActionID: id, Mode: string(after.Mode), ModeBefore: string(before.Mode), Change: change}
	if err := events.Append(ctx, q, by.entry(after, data)); err != nil {
		return after, err
	}
	// Other replicas drop their cached contract when they receive the notification.
	return after, q.Notify(ctx, pg.ChannelPolicy, notice(after))
}

// changeable returns the fields of an action that can change. The event of an update contains their digests.
func changeable(a models.Action) any {
	out := map[string]any{"name": a.Name, "consequence": a.Consequence, "mode": a.Mode}
	if len(a.Labels) > 0 {
		out["labels"] = json.RawMessage(a.Labels)
	}
	return out
}

// Activate activates a draft and retires the previous version, in one transaction. Activating the active version changes nothing.
// A retired version cannot be activated again, so that each version was active for one span of time only. It is refused with
// tenancy.ErrSecondApprover as the cause if the environment requires a second approver.
func (s *Service) Activate(ctx context.Context, p identity.Principal, actionID string, version int) (models.PolicyVersion, error) {
	var after models.PolicyVersion
	var a models.Action
	by := authorOf(p, s.clock.Now())
	err := s.store.Write(ctx, func(q *pg.Q) (err error) {
		a, after, err = activate(ctx, q, by, PolicyRef{actionID, version}, tenancy.RefuseAlone)
		return err
	})
	s.Released(a)
	return after, err
}

// PolicyRef names a policy version.
type PolicyRef struct {
	Action  string // id
	Version int
}

// ActivateIn is Activate of a version that a second principal has approved, in the caller's transaction. The caller calls
// Released with the action after the commit.
func ActivateIn(ctx context.Context, q *pg.Q, by Author, v PolicyRef) (models.Action, error) {
	a, _, err := activate(ctx, q, by, v, approved)
	return a, err
}

func activate(ctx context.Context, q *pg.Q, by Author, v PolicyRef, g guard) (models.Action, models.PolicyVersion, error) {
	a, err := lock(ctx, q, by.Scope, v.Action)
	if err != nil {
		return a, models.PolicyVersion{}, err
	}
	before, err := PolicyVersion(ctx, q, by.Scope, v.Action, v.Version)
	if errors.Is(err, pg.ErrNotFound) {
		return a, before, problem.NotFoundBy("version")
	}
	if err != nil || before.Status == models.PolicyActive {
		return a, before, err
	}
	if before.Status != models.PolicyDraft {
		return a, before, notDraft(before)
	}
	if err := g(ctx, q, by.Scope); err != nil {
		return a, before, err
	}
	if err := listsExist(ctx, q, by.Scope, before); err != nil {
		return a, before, err
	}
	if err := needsMet(ctx, q, by.Scope, before); err != nil {
		return a, before, err
	}
	// The UPDATE names the status draft, so that of two concurrent activations one finds no row.
	moved, err := activatePolicyVersion(ctx, q, by.Scope, v.Action, v.Version, by.Actor, by.At)
	if err != nil {
		return a, before, err
	}
	if !moved {
		return a, before, notDraft(before)
	}
	after, err := PolicyVersion(ctx, q, by.Scope, v.Action, v.Version)
	if err != nil {
		return a, after, err
	}
	if err := events.Append(ctx, q, by.entry(a, events.PolicyActivatedData(versionData(after)))); err != nil {
		return a, after, err
	}
	if err := recordRetired(ctx, q, by, a); err != nil {
		return a, after, err
	}
	return a, after, q.Notify(ctx, pg.ChannelPolicy, notice(a))
}

func notDraft(v models.PolicyVersion) error {
	return problem.Newf(problem.PolicyNotDraft, "Policy version %d is %s: create a new version with its content.", v.Version, v.Status)
}

// lock locks an action that is not archived.
func lock(ctx context.Context, q *pg.Q, scope pg.Scope, id string) (models.Action, error) {
	a, err := LockAction(ctx, q, scope, id)
	if errors.Is(err, pg.ErrNotFound) {
		return a, problem.NotFoundBy("action_id")
	}
	return a, err
}

// Released drops what this process caches of an action that was changed.
func (s *Service) Released(a models.Action) { s.forget(a) }
