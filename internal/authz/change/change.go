// Package change implements change requests. In an environment that requires a second approver, the activation of a policy
// version, a change of an action's mode, a change of the environment's settings, every change of a team and of the entries of a list, the
// deletion of a list, and what a webhook endpoint receives are not made at once: they wait until a second principal approves, and apply only
// if what they were requested against is still in force.
//
// Service makes every change of these kinds and returns either the result or the change request. It also makes the moves of
// the state machine, each one conditional UPDATE that names the state it expects. The workflow that serialises the moves is in
// package workflows; Service starts no workflow and waits for none. Time never approves.
package change

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/account/team"
	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/authz/action"
	"github.com/countersign-dev/countersign/internal/authz/authorization"
	"github.com/countersign-dev/countersign/internal/authz/lists"
	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// Resolutions of a change request.
const (
	Approve  = "approve"
	Reject   = "reject"
	Withdraw = "withdraw"
)

// simulated is the number of newest decisions that an approver sees decided again under a policy version.
const simulated = 1000

// Simulator decides stored decisions again under a policy version (authorization.Service).
type Simulator interface {
	Simulate(ctx context.Context, scope pg.Scope, v models.PolicyVersion, kind policy.EnvironmentKind, w authorization.Window) (authorization.Simulation, error)
}

// Service makes changes of the configuration, or requests them, and makes the moves of change requests.
type Service struct {
	store    *pg.Store
	clock    clock.Clock
	actions  *action.Service
	tenancy  *tenancy.Service
	teams    *team.Service
	lists    *lists.Service
	simulate Simulator

	endpoints    Endpoints
	signals      SignalStreams
	destinations Destinations
}

// Deps are the dependencies of a Service.
type Deps struct {
	Store    *pg.Store
	Clock    clock.Clock
	Actions  *action.Service
	Tenancy  *tenancy.Service
	Teams    *team.Service
	Lists    *lists.Service
	Simulate Simulator // nil if no change request is shown

	Endpoints    Endpoints     // nil if no change of a webhook endpoint is made or shown
	Signals      SignalStreams // nil if no change of an issuer of security events is made or shown
	Destinations Destinations  // nil if no change of a destination of the log is made or shown
}

// New returns a Service.
func New(d Deps) *Service {
	return &Service{
		store: d.Store, clock: d.Clock, actions: d.Actions, tenancy: d.Tenancy, teams: d.Teams, lists: d.Lists, simulate: d.Simulate,
		endpoints: d.Endpoints, signals: d.Signals, destinations: d.Destinations,
	}
}

// Made is the result of a change: it is applied, or Requested is set and it waits for a second approver.
type Made[T any] struct {
	Applied   T
	Requested *View
}

// Activate activates a policy version, or requests that.
func (s *Service) Activate(ctx context.Context, p identity.Principal, actionID string, version int) (Made[models.PolicyVersion], error) {
	v, err := s.actions.Activate(ctx, p, actionID, version)
	return made(v, err, func() (*View, error) {
		return s.propose(ctx, p, func(q *pg.Q) (proposal, error) {
			return activation(ctx, q, p.Store(), action.PolicyRef{Action: actionID, Version: version})
		})
	})
}

// RollBack makes a new version with the content of an earlier one and activates it, or requests that.
func (s *Service) RollBack(ctx context.Context, p identity.Principal, to action.PolicyRef, reason string) (Made[models.PolicyVersion], error) {
	var out Made[models.PolicyVersion]
	earlier, err := s.actions.Version(ctx, p.Store(), to.Action, to.Version)
	if err != nil {
		return out, err
	}
	contract, err := action.Contract(earlier)
	if err != nil {
		return out, err
	}
	draft, err := s.actions.CreateVersion(ctx, p, to.Action, action.CreateVersion{
		Requirements: contract.Requirements, ContextSchema: json.RawMessage(earlier.ContextSchema), AllowedAudiences: earlier.AllowedAudiences,
		AllowedCallers: list(earlier.AllowedCallers), ProofTTLSeconds: &earlier.ProofTTLSeconds, Reason: reason,
	})
	if err != nil {
		return out, err
	}
	return s.Activate(ctx, p, to.Action, draft.Version)
}

// Explain sets the reason of a pending change request, which only its requester does.
func (s *Service) Explain(ctx context.Context, p identity.Principal, id, reason string) error {
	if err := action.CheckReason(reason); err != nil {
		return err
	}
	return s.store.Write(ctx, func(q *pg.Q) error {
		c, err := found(lockChange(ctx, q, p.EnvironmentID, id))
		if err != nil {
			return err
		}
		if status := Effective(c, s.clock.Now()); status != models.ChangePending {
			return refuseSettled(status, "")
		}
		by, requester, err := parties(ctx, q, c, p.Actor())
		if err != nil {
			return err
		}
		if !requestedBy(c, by, requester) {
			return problem.New(problem.Forbidden, "Only the requester says why a change is requested.")
		}
		return explainChange(ctx, q, c, reason)
	})
}

// UpdateAction changes an action, or requests that as a whole if the environment requires a second approver.
func (s *Service) UpdateAction(ctx context.Context, p identity.Principal, id string, c action.Change) (Made[models.Action], error) {
	a, err := s.actions.Update(ctx, p, id, c)
	return made(a, err, func() (*View, error) {
		return s.propose(ctx, p, func(q *pg.Q) (proposal, error) { return modeChange(ctx, q, p.Store(), id, c) })
	})
}

// UpdateSettings changes settings of the principal's environment, or requests that.
func (s *Service) UpdateSettings(ctx context.Context, p identity.Principal, in tenancy.Settings) (Made[models.Environment], error) {
	return s.UpdateSettingsBy(ctx, p.Store(), in, By{Actor: p.Actor(), RequestID: p.RequestID})
}

// By is the author of a change that has no principal, such as a command.
type By struct {
	Actor     string
	RequestID string
	Reason    string // why, for the second approver; may be empty
}

// UpdateSettingsBy is UpdateSettings for an author without a principal.
func (s *Service) UpdateSettingsBy(ctx context.Context, scope pg.Scope, in tenancy.Settings, by By) (Made[models.Environment], error) {
	env, err := s.tenancy.UpdateSettings(ctx, scope, in, by.Actor, by.RequestID)
	return made(env, err, func() (*View, error) {
		return s.proposeBy(ctx, scope, by, func(q *pg.Q) (proposal, error) { return settingsChange(ctx, q, scope, in) })
	})
}

// made returns the applied change, or the change request that propose makes if one principal may not make the change alone.
func made[T any](applied T, err error, propose func() (*View, error)) (Made[T], error) {
	if !errors.Is(err, tenancy.ErrSecondApprover) {
		return Made[T]{Applied: applied}, err
	}
	requested, err := propose()
	return Made[T]{Requested: requested}, err
}

// Effective returns the status of a change request at a time: a pending one that is due is expired, however late its timer.
func Effective(c models.Change, now time.Time) models.ChangeStatus {
	if c.Status == models.ChangePending && !now.Before(c.ExpiresAt) {
		return models.ChangeExpired
	}
	return c.Status
}

// refuseSettled returns the refusal of a change request that is not pending, and nil if it was resolved the same way.
func refuseSettled(status models.ChangeStatus, resolution string) error {
	switch {
	case status == models.ChangeExpired:
		return problem.New(problem.ChangeExpired, "The change expired before it was settled. Request it again.")
	case status == models.ChangeApproved && resolution == Approve, status == models.ChangeRejected && resolution == Reject,
		status == models.ChangeWithdrawn && resolution == Withdraw:
		return nil
	case status == models.ChangeSuperseded && resolution == Approve:
		return errSuperseded()
	default:
		return problem.Newf(problem.ChangeSettled, "The change is %s. Request it again if it is still wanted.", status)
	}
}

func errSuperseded() error {
	return problem.New(problem.ChangeSuperseded, "The configuration has changed since the change was requested, so it was not made. Request it again.")
}
