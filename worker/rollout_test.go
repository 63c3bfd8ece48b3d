package worker_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	sdkworker "go.temporal.io/sdk/worker"

	"github.com/countersign-dev/countersign/internal/authz/hold"
	"github.com/countersign-dev/countersign/models"
	"github.com/countersign-dev/countersign/worker"
	"github.com/countersign-dev/countersign/workflows"
	"github.com/countersign-dev/countersign/workflows/rollout"
)

// The builds of the tests: the product's workflow code, and code with a flag more.
const (
	oldBuild = "1.0.0"
	newBuild = "1.1.0"
)

// startBuild runs a worker process of a build until the test ends or stop is called.
func (b *bundle) startBuild(t *testing.T, id string) (stop func()) {
	t.Helper()
	d := worker.Deps{
		Temporal: b.temporal, Services: b.services(), Log: slog.New(slog.DiscardHandler), Options: worker.DefaultTuning().Options(),
		Build: worker.Build{Namespace: b.namespace, Deployment: "countersign", ID: id, Flags: workflows.Flags()},
	}
	if id != oldBuild {
		d.Options.Interceptors = append(d.Options.Interceptors, &newerCode{})
		d.Build.Flags = append(d.Build.Flags, flagOfNewerCode)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- worker.Run(ctx, d) }()
	var once bool
	stop = func() {
		if !once {
			once = true
			cancel()
			require.NoError(t, <-ended)
		}
	}
	t.Cleanup(stop)
	return stop
}

// rollouts starts a worker of the old build, which is current.
func rollouts(t *testing.T) (*bundle, *rollout.Rollout) {
	t.Helper()
	b := setup(t)
	b.runs.StartLazily()
	r := rollout.New(b.temporal, b.namespace, "countersign")
	b.startBuild(t, oldBuild)
	b.route(t, func() error { return r.SetCurrent(t.Context(), oldBuild) })
	return b, r
}

// route changes the routing once Temporal knows the build, and empties the cache of workflow runs, which the workers of a test share
// and those of an installation do not.
func (b *bundle) route(t *testing.T, change func() error) {
	t.Helper()
	require.Eventually(t, func() bool {
		err := change()
		if !errors.Is(err, rollout.ErrUnsettled) && !errors.Is(err, rollout.ErrNoBuild) {
			require.NoError(t, err)
		}
		return err == nil
	}, 3*patience, 50*time.Millisecond)
	sdkworker.PurgeStickyWorkflowCache()
}

// listed waits until Temporal's list of workflow runs, by which a rollback finds them and which follows with a delay, has one of the
// build.
func listed(t *testing.T, r *rollout.Rollout, build string) {
	t.Helper()
	require.Eventually(t, func() bool {
		s, err := r.Status(t.Context())
		return err == nil && slices.ContainsFunc(s.Builds, func(on rollout.Build) bool { return on.ID == build && on.Open == 1 })
	}, patience, 50*time.Millisecond)
}

// approve sends an approval until it is recorded, and returns the status of the hold.
func (b *bundle) approve(t *testing.T, h models.Hold, reviewer string) string {
	t.Helper()
	p := b.review(t, h, reviewer, hold.Approve)
	var status string
	require.Eventually(t, func() bool {
		out, err := b.runs.ReviewHold(t.Context(), p.Workflow, p.Resolution, p.Request)
		status = string(out.Status)
		return err == nil
	}, patience, 50*time.Millisecond)
	return status
}

// buildOf returns the build that ran the last task of a workflow.
func (b *bundle) buildOf(t *testing.T, id string) string {
	t.Helper()
	d, err := b.temporal.DescribeWorkflow(t.Context(), id, "")
	require.NoError(t, err)
	return d.RawResponse.GetWorkflowExecutionInfo().GetVersioningInfo().GetDeploymentVersion().GetBuildId()
}

// complete completes a challenge.
func (b *bundle) complete(t *testing.T, c models.Challenge) {
	t.Helper()
	p := b.confirm(t, c)
	require.Eventually(t, func() bool {
		out, err := b.runs.CompleteChallenge(t.Context(), p.Workflow, p.Request)
		return err == nil && out.Status == models.ChallengeCompleted
	}, patience, 50*time.Millisecond)
}

// open starts the workflow of a challenge and waits until a build has taken it.
func (b *bundle) open(t *testing.T) models.Challenge {
	t.Helper()
	c := b.Challenge(challengeTTL, "sandbox_confirm")
	in, _, err := b.challenges.WorkflowInput(t.Context(), c.EnvironmentID, c.ID)
	require.NoError(t, err)
	require.NoError(t, b.runs.StartChallenge(t.Context(), in))
	require.Eventually(t, func() bool { return b.buildOf(t, workflows.ChallengeID(c.ID)) != "" }, patience, 50*time.Millisecond)
	return c
}

// A hold that waits moves to the build that a rollout ramps. A challenge stays on the build that it began on.
func TestRolloutMovesHoldsAndKeepsChallenges(t *testing.T) {
	t.Parallel()
	b, r := rollouts(t)
	waits := b.Hold(time.Hour, 2)
	require.Equal(t, "pending", b.approve(t, waits, "crd_ann"))
	require.Equal(t, oldBuild, b.buildOf(t, workflows.HoldID(waits.AuthorizationID)))
	short := b.open(t)

	b.startBuild(t, newBuild)
	b.route(t, func() error { return r.Ramp(t.Context(), newBuild, 100) })
	require.Equal(t, "approved", b.approve(t, waits, "crd_bob"))
	require.Equal(t, newBuild, b.buildOf(t, workflows.HoldID(waits.AuthorizationID)))
	b.complete(t, short)
	require.Equal(t, oldBuild, b.buildOf(t, workflows.ChallengeID(short.ID)))
	b.complete(t, b.open(t))

	b.route(t, func() error { return r.SetCurrent(t.Context(), newBuild) })
	s, err := r.Status(t.Context())
	require.NoError(t, err)
	require.Equal(t, newBuild, s.Current)
	require.Empty(t, s.Ramping)
	require.Len(t, s.Builds, 2)
	require.Equal(t, 1, b.Events("hold.approved"))
	require.Equal(t, 2, b.Events("challenge.completed"))
}

// After a rollback a hold returns to the old build, unless it recorded a change that the old code cannot replay: that one ends on
// the new build.
func TestRollbackLeavesWhatOldCodeCannotReplay(t *testing.T) {
	t.Parallel()
	b, r := rollouts(t)
	b.startBuild(t, newBuild)
	b.route(t, func() error { return r.Ramp(t.Context(), newBuild, 100) })
	changed, fresh := b.Hold(time.Hour, 2), b.Hold(time.Hour, 1)
	require.Equal(t, "pending", b.approve(t, changed, "crd_ann"))
	require.Equal(t, newBuild, b.buildOf(t, workflows.HoldID(changed.AuthorizationID)))

	listed(t, r, newBuild)
	var out rollout.RolledBack
	rollback := func() (err error) {
		out, err = r.Rollback(t.Context(), newBuild)
		return err
	}
	b.route(t, rollback)
	require.Equal(t, rollout.RolledBack{From: newBuild, To: oldBuild, Held: 1}, out)
	b.route(t, rollback) // as an operator does if the first was not settled
	require.Equal(t, rollout.RolledBack{From: newBuild, To: oldBuild, Held: 1}, out)
	require.Equal(t, "approved", b.approve(t, fresh, "crd_ann"))
	require.Equal(t, oldBuild, b.buildOf(t, workflows.HoldID(fresh.AuthorizationID)))
	require.Equal(t, "approved", b.approve(t, changed, "crd_bob"))
	require.Equal(t, newBuild, b.buildOf(t, workflows.HoldID(changed.AuthorizationID)))
	require.Equal(t, 2, b.Events("hold.approved"))
}

// A build that was current is left for the one that was current before.
func TestRollbackFromTheCurrentBuild(t *testing.T) {
	t.Parallel()
	b, r := rollouts(t)
	_, err := r.Rollback(t.Context(), oldBuild)
	require.ErrorIs(t, err, rollout.ErrNoPrevious)
	_, err = r.Rollback(t.Context(), newBuild)
	require.ErrorIs(t, err, rollout.ErrNoBuild)
	b.startBuild(t, newBuild)
	b.route(t, func() error { return r.SetCurrent(t.Context(), newBuild) })
	changed := b.Hold(time.Hour, 2)
	require.Equal(t, "pending", b.approve(t, changed, "crd_ann"))

	listed(t, r, newBuild)
	var s rollout.Status
	b.route(t, func() error {
		if _, err := r.Rollback(t.Context(), newBuild); err != nil {
			return err
		}
		if s, err = r.Status(t.Context()); err == nil && !slices.ContainsFunc(s.Builds, func(on rollout.Build) bool { return on.ID == newBuild && on.Held == 1 }) {
			err = rollout.ErrUnsettled
		}
		return err
	})
	require.Equal(t, oldBuild, s.Current)

	n, err := r.Release(t.Context(), newBuild)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	b.route(t, func() error { return r.SetCurrent(t.Context(), newBuild) })
	require.Equal(t, "approved", b.approve(t, changed, "crd_bob"))
}

// A share of the runs that begin moves with a ramp, and none to a build that has no worker.
func TestRampSharesRuns(t *testing.T) {
	t.Parallel()
	b, r := rollouts(t)
	require.ErrorIs(t, r.Ramp(t.Context(), "2.0.0", 50), rollout.ErrNoBuild)
	b.startBuild(t, newBuild)
	b.route(t, func() error { return r.Ramp(t.Context(), newBuild, 50) })
	const runs = 40 // all on one side of the half once in 10^12 times
	on := map[string]int{}
	for range runs {
		on[b.buildOf(t, workflows.ChallengeID(b.open(t).ID))]++
	}
	require.Len(t, on, 2, "%v", on)
	require.Equal(t, runs, on[oldBuild]+on[newBuild])
	_, err := rollout.New(b.temporal, b.namespace, "typo").Status(t.Context())
	require.ErrorIs(t, err, rollout.ErrNoDeployment)
}
