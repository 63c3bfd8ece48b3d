package worker_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"

	"github.com/countersign-dev/countersign/internal/authz/challenge"
	"github.com/countersign-dev/countersign/internal/authz/settle"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/durable"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
	"github.com/countersign-dev/countersign/worker"
	"github.com/countersign-dev/countersign/workflows"
)

// If a worker dies in the middle of a move, another worker makes the move once, and a repeated request gets the response.
func TestStoppedWorkerMoveIsMadeOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c := b.Challenge(challengeTTL, "sandbox_confirm")
	p := b.confirm(t, c)

	entered, never := make(chan struct{}), make(chan struct{})
	defer close(never)
	var once sync.Once
	dying := challenge.New(challenge.Deps{Store: b.Store, Clock: clock.System(),
		Decide: func(context.Context, *pg.Q, settle.FollowUp) (models.Authorization, error) {
			once.Do(func() { close(entered) })
			<-never // the process is gone: no response and no commit
			return models.Authorization{}, context.Canceled
		}})
	options := worker.DefaultTuning().Options()
	options.WorkerStopTimeout = time.Millisecond
	services := b.services()
	services.Challenges = dying
	first := worker.New(worker.Deps{Temporal: b.temporal, Services: services, Options: options})
	require.NoError(t, first.Start())

	var all sync.WaitGroup
	all.Go(func() { _, _ = b.runs.CompleteChallenge(t.Context(), p.Workflow, p.Request) })
	<-entered
	first.Stop()
	b.startWorker()
	require.Eventually(t, func() bool {
		out, err := b.runs.CompleteChallenge(t.Context(), p.Workflow, p.Request)
		return err == nil && out.Status == "completed"
	}, 2*patience, 100*time.Millisecond)
	all.Wait()
	require.Equal(t, 1, b.Events("challenge.completed"))
	require.Equal(t, 1, b.Count("select count(*) from authorizations where parent_id is not null"))
}

// Moves use the workflow's time: a worker whose clock is five minutes off neither expires challenges early nor late.
func TestWorkerClockSkewIsIgnored(t *testing.T) {
	t.Parallel()
	for name, off := range map[string]time.Duration{"ahead": 5 * time.Minute, "behind": -5 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			skewed := challenge.New(challenge.Deps{Store: b.Store, Clock: clock.Offset(clock.System(), off),
				Decide: func(ctx context.Context, q *pg.Q, r settle.FollowUp) (models.Authorization, error) {
					return b.FollowUp(ctx, q, r, "allow")
				}})
			services := b.services()
			services.Challenges = skewed
			w := worker.New(worker.Deps{Temporal: b.temporal, Services: services})
			require.NoError(t, w.Start())
			t.Cleanup(w.Stop)

			inTime := b.Challenge(time.Minute, "sandbox_confirm")
			p := b.confirm(t, inTime)
			out, err := b.runs.CompleteChallenge(t.Context(), p.Workflow, p.Request)
			require.NoError(t, err)
			require.Equal(t, models.ChallengeCompleted, out.Status)

			late := b.Challenge(time.Second, "sandbox_confirm")
			run, _, err := b.challenges.WorkflowInput(t.Context(), late.EnvironmentID, late.ID)
			require.NoError(t, err)
			require.NoError(t, b.runs.StartChallenge(t.Context(), run))
			b.eventually(t, 1, "select count(*) from challenges where id = $1 and status = 'expired'", late.ID)
		})
	}
}

// During a database outage an accepted request is reported as unavailable. It is completed once the database is back.
func TestDatabaseOutageDuringAMove(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.startWorker()
	c := b.Challenge(challengeTTL, "sandbox_confirm")
	p := b.confirm(t, c)
	b.Exec("alter table move_requests rename to move_requests_away")
	_, err := b.runs.CompleteChallenge(t.Context(), p.Workflow, p.Request)
	require.True(t, problem.Is(err, problem.Unavailable), "%v", err)
	require.ErrorIs(t, err, durable.ErrAccepted)
	b.Exec("alter table move_requests_away rename to move_requests")
	require.Eventually(t, func() bool {
		out, err := b.runs.CompleteChallenge(t.Context(), p.Workflow, p.Request)
		return err == nil && out.Status == "completed"
	}, 2*patience, 100*time.Millisecond)
	require.Equal(t, 1, b.Events("challenge.completed"))
}

// A run that is terminated while it works on an accepted request leaves the outcome to the record: the request is not refused, and its
// repeat makes the move.
func TestRunTerminatedDuringAMove(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.startWorker()
	c := b.Challenge(challengeTTL, "sandbox_confirm")
	p, id := b.confirm(t, c), workflows.ChallengeID(c.ID)
	b.Exec("alter table move_requests rename to move_requests_away")
	asked := make(chan error, 1)
	go func() {
		_, err := b.runs.CompleteChallenge(t.Context(), p.Workflow, p.Request)
		asked <- err
	}()
	require.Eventually(t, func() bool {
		for it := b.temporal.GetWorkflowHistory(t.Context(), id, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); it.HasNext(); {
			if e, err := it.Next(); err != nil || e.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED {
				return err == nil
			}
		}
		return false
	}, patience, 10*time.Millisecond)
	require.NoError(t, b.temporal.TerminateWorkflow(t.Context(), id, "", "stuck"))
	require.ErrorIs(t, <-asked, durable.ErrClosed)
	b.Exec("alter table move_requests_away rename to move_requests")
	require.Eventually(t, func() bool {
		out, err := b.runs.CompleteChallenge(t.Context(), p.Workflow, p.Request)
		return err == nil && out.Status == models.ChallengeCompleted
	}, patience, 100*time.Millisecond)
	require.Equal(t, 1, b.Events("challenge.completed"))
}
