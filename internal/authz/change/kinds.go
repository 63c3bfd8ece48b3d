package change

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/countersign-dev/countersign/internal/account/subjectrow"
	"github.com/countersign-dev/countersign/internal/account/team"
	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/authz/action"
	"github.com/countersign-dev/countersign/internal/authz/lists"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// The stored documents. A row outlives deployments: fields are added as optional ones, never renamed.
type (
	// policyProposed names the version to activate. Its content never changes.
	policyProposed struct {
		Version     int    `json:"version"`
		ContentHash string `json:"content_hash"`
	}
	// policyBase has the facts that the approver of an activation relies on.
	policyBase struct {
		ActiveVersion *int                `json:"active_version"`
		Status        models.PolicyStatus `json:"status"` // of the proposed version
		Mode          models.ActionMode   `json:"mode"`
	}
	// modeProposed are the fields of an action to change; nil fields stay as they are.
	modeProposed struct {
		Name        *string            `json:"name,omitempty"`
		Consequence *string            `json:"consequence,omitempty"`
		Mode        *models.ActionMode `json:"mode,omitempty"`

		Labels map[string]models.ActionText `json:"labels,omitzero"`
	}
	// modeBase has the facts that the approver of a change of mode relies on: a mode enforces the policy that is active.
	modeBase struct {
		modeProposed
		ActiveVersion *int `json:"active_version"`
	}
)

// proposal is a change that is not stored yet.
type proposal struct {
	kind           models.ChangeKind
	target, action string
	proposed, base any
	differences    []Difference
	reason         string // of what is proposed; the author's own comes first
}

// activation proposes to activate a version. It must be a draft.
func activation(ctx context.Context, q *pg.Q, scope pg.Scope, v action.PolicyRef) (proposal, error) {
	a, err := found(action.GetAction(ctx, q, scope, v.Action))
	if err != nil {
		return proposal{}, err
	}
	after, err := found(action.PolicyVersion(ctx, q, scope, v.Action, v.Version))
	if err != nil {
		return proposal{}, err
	}
	if after.Status != models.PolicyDraft {
		return proposal{}, problem.Newf(problem.PolicyNotDraft, "Policy version %d is %s: create a new version with its content.", v.Version, after.Status)
	}
	var before *models.PolicyVersion
	if a.ActivePolicyVersion != nil {
		active, err := action.PolicyVersion(ctx, q, scope, v.Action, *a.ActivePolicyVersion)
		if err != nil {
			return proposal{}, err
		}
		before = &active
	}
	differences, err := policyDifferences(before, after)
	return proposal{
		kind: models.ChangePolicyActivate, target: a.ID, action: a.Key, differences: differences, reason: after.Reason,
		proposed: policyProposed{Version: v.Version, ContentHash: after.ContentHash},
		base:     policyBase{ActiveVersion: a.ActivePolicyVersion, Status: after.Status, Mode: a.Mode},
	}, err
}

func modeChange(ctx context.Context, q *pg.Q, scope pg.Scope, id string, c action.Change) (proposal, error) {
	a, err := found(action.GetAction(ctx, q, scope, id))
	if err != nil {
		return proposal{}, err
	}
	if err := c.Check(a); err != nil {
		return proposal{}, err
	}
	proposed := modeProposed(c)
	base, err := proposed.current(a)
	if err != nil {
		return proposal{}, err
	}
	differences, err := fieldDifferences(base.modeProposed, proposed)
	return proposal{
		kind: models.ChangeActionMode, target: a.ID, action: a.Key, proposed: proposed, base: base, differences: differences,
	}, err
}

// current returns the action's values of the fields that are proposed.
func (m modeProposed) current(a models.Action) (modeBase, error) {
	current, err := action.Change(m).Current(a)
	return modeBase{modeProposed: modeProposed(current), ActiveVersion: a.ActivePolicyVersion}, err
}

// settingsChange proposes to change settings of the environment. The values must be valid.
func settingsChange(ctx context.Context, q *pg.Q, scope pg.Scope, in tenancy.Settings) (proposal, error) {
	env, err := found(tenancy.BrandedEnvironment(ctx, q, scope))
	if err != nil {
		return proposal{}, err
	}
	if in, err = in.Check(env); err != nil {
		return proposal{}, err
	}
	base, err := in.Current(env)
	if err != nil {
		return proposal{}, err
	}
	differences, err := fieldDifferences(base, in)
	return proposal{
		kind: models.ChangeEnvironmentSettings, target: env.ID, proposed: in, base: base, differences: differences,
	}, err
}

// targets reads the records that changes change.
type targets struct {
	*pg.Q
	action      func(ctx context.Context, q *pg.Q, s pg.Scope, id string) (models.Action, error)
	environment func(ctx context.Context, q *pg.Q, s pg.Scope) (models.Environment, error)
	team        func(ctx context.Context, q *pg.Q, s pg.Scope, id string) (models.Team, error)
	endpoint    func(ctx context.Context, q *pg.Q, s pg.Scope, id string) (Endpoint, error)
	signals     func(ctx context.Context, q *pg.Q, s pg.Scope, name string) (SignalStream, error)
	destination func(ctx context.Context, q *pg.Q, s pg.Scope, name string) (Destination, error)
	list        func(ctx context.Context, q *pg.Q, s pg.Scope, id string) (models.List, error)
	subject     func(ctx context.Context, q *pg.Q, s pg.Scope, id string) (models.Subject, error)
	at          time.Time // decides who can review
}

// read reads without locks.
func (s *Service) read(q *pg.Q, at time.Time) targets {
	return targets{q, action.GetAction, tenancy.BrandedEnvironment, team.GetTeam, s.settingsOf(false), s.signalsOf(false), s.destinationOf(false), lists.Get, subjectrow.Get, at}
}

// locked locks what it reads until the transaction ends.
func (s *Service) locked(q *pg.Q, at time.Time) targets {
	return targets{q, action.LockAction, tenancy.LockEnvironment, team.LockTeam, s.settingsOf(true), s.signalsOf(true), s.destinationOf(true), lists.Lock, subjectrow.Lock, at}
}

// inForce returns the state that a change request would be requested against now, and false if the change cannot be made any
// more.
func (t targets) inForce(ctx context.Context, c models.Change) (any, bool, error) {
	scope := scopeOf(c)
	switch {
	case isTeam(c.Kind):
		return t.teamBase(ctx, c)
	case isEndpoint(c.Kind):
		return t.endpointBase(ctx, c)
	case isSignals(c.Kind):
		return t.signalsBase(ctx, c)
	case isDestination(c.Kind):
		return t.destinationBase(ctx, c)
	case isList(c.Kind):
		return t.listBase(ctx, c)
	case c.Kind == models.ChangeSubjectReinstate:
		return t.subjectBase(ctx, c)
	case c.Kind == models.ChangePersonManager:
		return t.managerBase(ctx, c)
	}
	if c.Kind == models.ChangeEnvironmentSettings {
		var in tenancy.Settings
		if err := json.Unmarshal(c.Proposed, &in); err != nil {
			return nil, false, err
		}
		env, err := t.environment(ctx, t.Q, scope)
		if err != nil {
			return nil, false, err
		}
		_, refused := in.Check(env)
		now, err := in.Current(env)
		return now, refused == nil, err
	}
	a, err := t.action(ctx, t.Q, scope, c.Target)
	if errors.Is(err, pg.ErrNotFound) { // archived since
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	if c.Kind == models.ChangeActionMode {
		var in modeProposed
		if err := json.Unmarshal(c.Proposed, &in); err != nil {
			return nil, false, err
		}
		now, err := in.current(a)
		return now, action.Change(in).Check(a) == nil, err
	}
	var in policyProposed
	if err := json.Unmarshal(c.Proposed, &in); err != nil {
		return nil, false, err
	}
	v, err := action.PolicyVersion(ctx, t.Q, scope, c.Target, in.Version)
	return policyBase{ActiveVersion: a.ActivePolicyVersion, Status: v.Status, Mode: a.Mode}, err == nil, err
}

// apply makes the change in the caller's transaction. It returns what to do after the commit.
func (s *Service) apply(ctx context.Context, q *pg.Q, c models.Change, by action.Author) (func(), error) {
	switch c.Kind {
	case models.ChangePolicyActivate:
		var in policyProposed
		if err := json.Unmarshal(c.Proposed, &in); err != nil {
			return nil, err
		}
		a, err := action.ActivateIn(ctx, q, by, action.PolicyRef{Action: c.Target, Version: in.Version})
		return func() { s.actions.Released(a) }, err
	case models.ChangeActionMode:
		var in modeProposed
		if err := json.Unmarshal(c.Proposed, &in); err != nil {
			return nil, err
		}
		a, err := action.UpdateIn(ctx, q, by, c.Target, action.Change(in))
		return func() { s.actions.Released(a) }, err
	case models.ChangeEnvironmentSettings:
		var in tenancy.Settings
		if err := json.Unmarshal(c.Proposed, &in); err != nil {
			return nil, err
		}
		_, err := tenancy.UpdateSettingsIn(ctx, q, in, events.Entry{
			Scope: by.Scope, At: by.At, Actor: by.Actor, RequestID: by.RequestID, WorkflowID: by.WorkflowID,
		})
		return func() { s.tenancy.Changed(by.Scope.Environment) }, err
	case models.ChangeTeamCreate, models.ChangeTeamUpdate, models.ChangeTeamDelete:
		return nil, applyTeam(ctx, q, c, by)
	case models.ChangeWebhookCreate, models.ChangeWebhookUpdate:
		return s.applyEndpoint(ctx, q, c, by)
	case models.ChangeSignalsSet, models.ChangeSignalsRemove:
		return nil, s.applySignals(ctx, q, c, by)
	case models.ChangeDestinationSet, models.ChangeDestinationRemove:
		return nil, s.applyDestination(ctx, q, c, by)
	case models.ChangeListEntries, models.ChangeListDelete:
		return nil, s.applyList(ctx, q, c, by)
	case models.ChangeSubjectReinstate:
		return nil, applySubject(ctx, q, c, by)
	case models.ChangePersonManager:
		return nil, applyManager(ctx, q, c, by)
	default:
		return nil, fmt.Errorf("change %s has the unknown kind %q", c.ID, c.Kind)
	}
}

// found maps a missing row to the problem not_found.
func found[T any](row T, err error) (T, error) {
	if errors.Is(err, pg.ErrNotFound) {
		return row, problem.NewNotFound()
	}
	return row, err
}

// permission returns the permission that a credential needs to make, and to approve, a change of the kind.
func permission(k models.ChangeKind) models.Permission {
	switch {
	case k == models.ChangeEnvironmentSettings, k == models.ChangePersonManager, isSignals(k), isDestination(k):
		return models.PermissionConfig
	case isEndpoint(k):
		return models.PermissionWebhooks
	case k == models.ChangeSubjectReinstate:
		return models.PermissionSubjects
	default:
		return models.PermissionPolicyActivate
	}
}

// scopeOf returns the environment of a change request.
func scopeOf(c models.Change) pg.Scope {
	return pg.Scope{Tenant: c.TenantID, Environment: c.EnvironmentID}
}
