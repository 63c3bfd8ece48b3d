package change_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/authz/authorization"
	"github.com/countersign-dev/countersign/internal/authz/change"
	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/platform/durable"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// replay is a simulator that records the version that it simulated.
type replay struct {
	mu      sync.Mutex
	version int
}

func (r *replay) Simulate(_ context.Context, _ pg.Scope, v models.PolicyVersion, _ policy.EnvironmentKind, w authorization.Window) (authorization.Simulation, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.version = v.Version
	return authorization.Simulation{Action: v.ActionID, Version: v.Version, Decisions: w.Last}, nil
}

func TestGetShowsDifferenceAndSimulation(t *testing.T) {
	t.Parallel()
	b := setup(t)
	sim := &replay{}
	service := change.New(change.Deps{Store: b.Store, Clock: b.clock, Actions: b.actions, Tenancy: b.tenancy, Simulate: sim})
	b.activationOf(t, 3)
	v := b.activation(t)
	seen, err := service.Get(t.Context(), b.bob, v.ID)
	require.NoError(t, err)
	require.Equal(t, v.PolicyVersion, sim.version)
	require.Equal(t, 1000, seen.Simulation.Decisions)
	require.True(t, *seen.Applies)
	require.True(t, seen.Approvable)
	require.False(t, seen.Own)
	require.Len(t, seen.Differences, 1)
	require.Equal(t, "requirements.approvals_required", seen.Differences[0].Field)
	require.JSONEq(t, "3", string(seen.Differences[0].Before))
	require.JSONEq(t, "2", string(seen.Differences[0].After))

	own, err := service.Get(t.Context(), b.ann, v.ID)
	require.NoError(t, err)
	require.True(t, own.Own)
	require.False(t, own.Approvable)

	b.Exec("update actions set mode = 'shadow'")
	stale, err := service.Get(t.Context(), b.bob, v.ID)
	require.NoError(t, err)
	require.False(t, *stale.Applies)
	_, err = b.decide(t, v.ID, change.Reject, b.bob)
	require.NoError(t, err)
	settled, err := service.Get(t.Context(), b.bob, v.ID)
	require.NoError(t, err)
	require.Nil(t, settled.Applies)
	require.Nil(t, settled.Simulation)
	require.False(t, settled.Approvable)
}

func TestFirstActivationShowsWholeContent(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var fields []string
	for _, d := range b.activation(t).Differences {
		require.JSONEq(t, "null", string(d.Before), d.Field)
		fields = append(fields, d.Field)
	}
	require.Subset(t, fields, []string{"allowed_audiences", "allowed_callers", "context_schema", "proof_ttl_seconds", "requirements.coverage_min"})
}

func TestListShowsWhatPrincipalMaySee(t *testing.T) {
	t.Parallel()
	b := setup(t)
	activation, settings := b.activation(t), b.holdsFor(t, 3600)
	list := func(p identity.Principal, f change.Filter) []string {
		rows, next, err := b.service.List(t.Context(), p, f, pg.Page{Limit: 10})
		require.NoError(t, err)
		require.Empty(t, next)
		out := []string{}
		for _, r := range rows {
			out = append(out, r.ID)
		}
		return out
	}
	require.ElementsMatch(t, []string{settings.ID, activation.ID}, list(b.bob, change.Filter{}))
	require.Equal(t, []string{activation.ID}, list(b.ann, change.Filter{}), "settings are for admins")
	require.Empty(t, list(b.ann, change.Filter{Kind: models.ChangeEnvironmentSettings}))
	require.Equal(t, []string{settings.ID}, list(b.bob, change.Filter{Kind: models.ChangeEnvironmentSettings}))
	_, err := b.service.Get(t.Context(), b.ann, settings.ID)
	require.True(t, problem.Is(err, problem.NotFound))
	_, err = b.decide(t, activation.ID, change.Reject, b.bob)
	require.NoError(t, err)
	require.Equal(t, []string{activation.ID}, list(b.bob, change.Filter{Status: models.ChangeRejected}))
	require.Equal(t, []string{settings.ID}, list(b.bob, change.Filter{Status: models.ChangePending}))
	b.clock.Advance(life)
	require.Empty(t, list(b.bob, change.Filter{Status: models.ChangePending}))
	require.Equal(t, []string{settings.ID}, list(b.bob, change.Filter{Status: models.ChangeExpired}))
	n, err := b.service.Pending(t.Context(), b.Scope)
	require.NoError(t, err)
	require.Zero(t, n)
	other := b.bob
	other.EnvironmentID = "env_other"
	require.Empty(t, list(other, change.Filter{}))
}

// flow is a workflow that makes the move at once, or returns an error after or instead of it.
type flow struct {
	service *change.Service
	err     error
	skip    bool
	late    time.Duration // since the move began
	b       *bundle
	again   *atomic.Int32 // runs started again
}

func (f flow) RestartChange(context.Context, change.WorkflowInput) error {
	f.again.Add(1)
	return nil
}

func (f flow) DecideChange(ctx context.Context, in change.WorkflowInput, d change.Decision) (change.Outcome, error) {
	if f.skip {
		return change.Outcome{}, f.err
	}
	out, err := f.service.Decide(ctx, change.Move{
		Environment: in.Environment, ID: in.Change, Resolution: d.Resolution, Actor: d.Actor, RequestID: d.RequestID, At: f.b.clock.Now().Add(-f.late), WorkflowID: "change/" + in.Change,
	})
	return out, errors.Join(err, f.err)
}

// A page or a list promises only what permit allows: requester and approver are compared as they count now and as they counted before.
func TestViewsCompareFormerPrincipals(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		given      string // the key that was given to a different principal
		to, former string
		own        bool
	}{
		"nothing was given":                {given: "crd_cat", to: "credential:crd_cat", own: false},
		"the requester's key was bob's":    {given: "crd_ann", to: "credential:crd_eve", former: "credential:crd_bob", own: true},
		"the requester's key is bob's now": {given: "crd_ann", to: "credential:crd_bob", former: "credential:crd_ann", own: true},
		"bob's key was the requester's":    {given: "crd_bob", to: "credential:crd_bob", former: "credential:crd_ann", own: true},
		"bob's key was a third one's":      {given: "crd_bob", to: "credential:crd_bob", former: "credential:crd_eve", own: false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			v := b.activation(t)
			b.Exec("update credentials set principal = $2, former_principal = nullif($3, '') where id = $1", c.given, c.to, c.former)
			one, err := b.service.Get(t.Context(), b.bob, v.ID)
			require.NoError(t, err)
			listed, _, err := b.service.List(t.Context(), b.bob, change.Filter{}, pg.Page{Limit: 10})
			require.NoError(t, err)
			_, refused := b.decide(t, v.ID, change.Approve, b.bob)
			for _, seen := range []change.View{*one, listed[0]} {
				require.Equal(t, c.own, seen.Own)
				require.Equal(t, refused == nil, seen.Approvable)
			}
			require.Equal(t, c.own, problem.Is(refused, problem.SelfApproval))
		})
	}
}

func TestDecider(t *testing.T) {
	t.Parallel()
	unavailable := problem.NewUnavailable("Temporal is unavailable.", nil)
	for name, c := range map[string]struct {
		flow    flow
		prepare func(t *testing.T, b *bundle, v *change.View)
		code    problem.Code
		status  models.ChangeStatus
		again   int32
	}{
		"approves": {status: models.ChangeApproved},
		"repeated": {prepare: func(t *testing.T, b *bundle, v *change.View) {
			_, err := b.decide(t, v.ID, change.Approve, b.bob)
			require.NoError(t, err)
		}, status: models.ChangeApproved},
		"rejected before": {prepare: func(t *testing.T, b *bundle, v *change.View) {
			_, err := b.decide(t, v.ID, change.Reject, b.bob)
			require.NoError(t, err)
		}, code: problem.ChangeSettled},
		"expired before":       {prepare: func(_ *testing.T, b *bundle, _ *change.View) { b.clock.Advance(life) }, code: problem.ChangeExpired},
		"superseded":           {prepare: func(_ *testing.T, b *bundle, _ *change.View) { b.Exec("update actions set mode = 'shadow'") }, code: problem.ChangeSuperseded},
		"the result is lost":   {flow: flow{err: durable.ErrClosed}, status: models.ChangeApproved},
		"the workflow is gone": {flow: flow{err: durable.ErrClosed, skip: true}, code: problem.Unavailable, again: 1},
		"begun in time": {
			flow: flow{late: time.Minute}, prepare: func(_ *testing.T, b *bundle, _ *change.View) { b.clock.Advance(life) }, status: models.ChangeApproved,
		},
		"Temporal is down": {flow: flow{err: unavailable, skip: true}, code: problem.Unavailable},
		"the approver is alone": {prepare: func(_ *testing.T, b *bundle, _ *change.View) {
			b.Exec("update credentials set principal = 'credential:crd_ann' where id = 'crd_bob'")
		}, code: problem.SelfApproval},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			v := b.activation(t)
			if c.prepare != nil {
				c.prepare(t, b, v)
			}
			c.flow.b, c.flow.service, c.flow.again = b, b.service, new(atomic.Int32)
			got, err := change.NewDecider(b.service, c.flow).Decide(t.Context(), b.bob, v.ID, change.Approve, "")
			require.Equal(t, c.again, c.flow.again.Load())
			if c.code != "" {
				require.True(t, problem.Is(err, c.code), "%v", err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.status, got.Status)
		})
	}
}

func TestWorkflowInputOfSettledChange(t *testing.T) {
	t.Parallel()
	b := setup(t)
	v := b.activation(t)
	in, waits, err := b.service.WorkflowInput(t.Context(), b.Scope.Environment, v.ID)
	require.NoError(t, err)
	require.True(t, waits)
	require.Equal(t, change.WorkflowInput{Change: v.ID, Environment: b.Scope.Environment, Kind: "policy.activate", Action: b.Action.Key, ExpiresAt: now.Add(life)}, in)
	_, err = b.decide(t, v.ID, change.Withdraw, b.ann)
	require.NoError(t, err)
	_, waits, err = b.service.WorkflowInput(t.Context(), b.Scope.Environment, v.ID)
	require.NoError(t, err)
	require.False(t, waits)
	_, waits, err = b.service.WorkflowInput(t.Context(), b.Scope.Environment, "chg_gone")
	require.NoError(t, err)
	require.False(t, waits)
}
