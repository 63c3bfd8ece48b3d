package worker_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	sdkworker "go.temporal.io/sdk/worker"
	"google.golang.org/protobuf/proto"

	"github.com/countersign-dev/countersign/internal/authz/challenge"
	"github.com/countersign-dev/countersign/internal/authz/hold"
	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/authz/settle"
	"github.com/countersign-dev/countersign/internal/platform/durable"
	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/platform/outbox"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
	"github.com/countersign-dev/countersign/workflows"
)

const challengeTTL = 5 * time.Minute

// The relay starts the workflow and the challenge is completed. The record, the workflow and its search attributes agree.
func TestRelayStartsAChallengeWorkflow(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c := b.Challenge(challengeTTL, "sandbox_confirm")
	require.NoError(t, b.Store.Write(t.Context(), func(q *pg.Q) error {
		return outbox.Add(t.Context(), q, outbox.Item{Topic: outbox.TopicChallengeStart, Environment: c.EnvironmentID, Ref: c.ID, At: b.Now})
	}))
	b.runProcess(nil)
	b.eventually(t, 0, "select count(*) from outbox")

	p := b.confirm(t, c)
	out, err := b.runs.CompleteChallenge(t.Context(), p.Workflow, p.Request)
	require.NoError(t, err)
	require.Equal(t, models.ChallengeCompleted, out.Status)
	require.Equal(t, policy.Allow, out.Decision)
	receipt, err := b.challenges.Receipt(t.Context(), b.Scope, c.ID, p.Request)
	require.NoError(t, err)
	require.Equal(t, out.Authorization, receipt.Authorization)

	again, err := b.runs.CompleteChallenge(t.Context(), p.Workflow, p.Request)
	require.NoError(t, err, "the same request after the workflow has closed")
	require.Equal(t, out, again)
	other := models.MoveRequest{Target: c.ID, Digest: []byte("another request"), EnvironmentID: c.EnvironmentID, AuthorizationID: c.AuthorizationID, Move: "cancel", Actor: "x", RequestID: "x", RequestedAt: b.Now}
	require.NoError(t, settle.InsertMove(t.Context(), b.Store.Q, other))
	_, err = b.runs.CancelChallenge(t.Context(), p.Workflow, "616e6f74686572")
	require.ErrorIs(t, err, durable.ErrClosed)

	require.Eventually(t, func() bool {
		found, err := b.temporal.CountWorkflow(t.Context(), &workflowservice.CountWorkflowExecutionsRequest{
			Query: "CountersignKind = 'challenge' and CountersignState = 'completed' and CountersignDecision = 'allow' and " +
				"CountersignAction = 'payments.transfer' and CountersignEnvironment = '" + b.Scope.Environment + "'",
		})
		return err == nil && found.GetCount() == 1
	}, patience, 50*time.Millisecond, "the workflow is found by its search attributes")
}

// Workflow histories are encrypted: no id of a subject, decision or credential is readable.
func TestWorkflowHistoryIsSealed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.startWorker()
	c := b.Challenge(challengeTTL, "sandbox_confirm")
	p := b.confirm(t, c)
	out, err := b.runs.CompleteChallenge(t.Context(), p.Workflow, p.Request)
	require.NoError(t, err)

	var raw strings.Builder
	for it := b.temporal.GetWorkflowHistory(t.Context(), workflows.ChallengeID(c.ID), "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); it.HasNext(); {
		e, err := it.Next()
		require.NoError(t, err)
		body, err := proto.Marshal(e)
		require.NoError(t, err)
		raw.Write(body)
	}
	for _, secret := range []string{out.Authorization, c.AuthorizationID, b.Subject.ExternalID, "Step-up", "crd_1"} {
		require.NotContains(t, raw.String(), secret)
	}
	require.Contains(t, raw.String(), c.ID, "the workflow id is not encrypted")
}

// A completion may arrive before the relay has started the workflow.
func TestCompletionStartsTheWorkflow(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.startWorker()
	c := b.Challenge(challengeTTL, "sandbox_confirm")
	p := b.confirm(t, c)
	_, err := b.runs.CompleteChallenge(t.Context(), p.Workflow, p.Request)
	require.NoError(t, err)
	require.NoError(t, b.runs.StartChallenge(t.Context(), p.Workflow), "the relay finds the workflow closed")
	require.Equal(t, 1, b.Events("challenge.completed"))
}

// Concurrent completions and cancellations have one outcome, and every caller receives it or a refusal.
func TestChallengeConcurrentMovesHaveOneOutcome(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.startWorker()
	for range 5 {
		c := b.Challenge(challengeTTL, "sandbox_confirm")
		completion := b.confirm(t, c)
		cancellation, err := b.challenges.PrepareCancel(t.Context(), b.Principal("crd_2"), c.ID)
		require.NoError(t, err)
		var all sync.WaitGroup
		results := make([]error, 8)
		for i := range results {
			all.Go(func() {
				if i%2 == 0 {
					_, results[i] = b.runs.CompleteChallenge(t.Context(), completion.Workflow, completion.Request)
				} else {
					_, results[i] = b.runs.CancelChallenge(t.Context(), cancellation.Workflow, cancellation.Request)
				}
			})
		}
		all.Wait()
		row, err := challenge.GetChallenge(t.Context(), b.Store.Q, b.Scope, c.ID)
		require.NoError(t, err)
		for i, err := range results {
			won := (row.Status == models.ChallengeCompleted) == (i%2 == 0)
			if won && err == nil {
				continue
			}
			// A workflow that has just closed may have forgotten a repeated request: the record has its outcome.
			require.True(t, errors.Is(err, durable.ErrClosed) || (!won && problem.Is(err, problem.ChallengeClosed)), "%v", err)
		}
	}
	require.Equal(t, 5, b.Events("challenge.completed")+b.Events("challenge.cancelled"))
}

func TestChallengeExpiresByItsTimer(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.startWorker()
	c := b.Challenge(time.Second, "sandbox_confirm")
	run, _, err := b.challenges.WorkflowInput(t.Context(), c.EnvironmentID, c.ID)
	require.NoError(t, err)
	require.NoError(t, b.runs.StartChallenge(t.Context(), run))
	b.eventually(t, 1, "select count(*) from challenges where status = 'expired'")
	require.Equal(t, 1, b.Events("challenge.expired"))
}

// Without a worker a review is refused with Retry-After. The same request succeeds once a worker runs.
func TestReviewIsUnavailableWithoutAWorker(t *testing.T) {
	t.Parallel()
	b := setup(t)
	h := b.Hold(time.Hour, 1)
	p := b.review(t, h, "crd_ann", hold.Approve)
	_, err := b.runs.ReviewHold(t.Context(), p.Workflow, p.Resolution, p.Request)
	refused := problem.As(err)
	require.NotNil(t, refused, "%v", err)
	require.Equal(t, problem.Unavailable, refused.Code)
	require.Positive(t, refused.RetryAfter)
	require.NotErrorIs(t, err, durable.ErrAccepted, "no worker has accepted it")
	require.Equal(t, 1, b.Count("select count(*) from holds where status = 'pending'"))

	b.startWorker()
	out, err := b.runs.ReviewHold(t.Context(), p.Workflow, p.Resolution, p.Request)
	require.NoError(t, err)
	require.Equal(t, models.HoldApproved, out.Status)
	require.Equal(t, 1, b.Events("hold.approved"))
}

// After a worker restart, the next worker rebuilds the workflow from its history.
func TestHoldSurvivesAWorkerRestart(t *testing.T) {
	t.Parallel()
	b := setup(t)
	h := b.Hold(time.Hour, 2)
	stop := b.startWorker()
	first := b.review(t, h, "crd_ann", hold.Approve)
	out, err := b.runs.ReviewHold(t.Context(), first.Workflow, first.Resolution, first.Request)
	require.NoError(t, err)
	require.Equal(t, models.HoldPending, out.Status)
	stop()

	sdkworker.PurgeStickyWorkflowCache()
	b.startWorker()
	second := b.review(t, h, "crd_bob", hold.Approve)
	out, err = b.runs.ReviewHold(t.Context(), second.Workflow, second.Resolution, second.Request)
	require.NoError(t, err)
	require.Equal(t, models.HoldApproved, out.Status)
	require.Equal(t, 2, out.Approvals)
}

func TestReviewConcurrentRequestsHaveOneOutcome(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.startWorker()
	h := b.Hold(time.Hour, 1)
	approve, reject := b.review(t, h, "crd_ann", hold.Approve), b.review(t, h, "crd_bob", hold.Reject)
	var all sync.WaitGroup
	for range 3 {
		for _, p := range []hold.Prepared{approve, reject} {
			all.Go(func() { _, _ = b.runs.ReviewHold(t.Context(), p.Workflow, p.Resolution, p.Request) })
		}
	}
	all.Wait()
	require.Equal(t, 1, b.Events("hold.approved")+b.Events("hold.rejected"))
	require.Equal(t, b.Events("hold.approved"), b.Count("select count(*) from authorizations where parent_id is not null"))
}

// Another part of the service voids the challenge. The workflow is notified through the outbox and closes.
func TestWorkflowClosesWhenItsChallengeIsVoided(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c := b.Challenge(challengeTTL, "sandbox_confirm")
	run, _, err := b.challenges.WorkflowInput(t.Context(), c.EnvironmentID, c.ID)
	require.NoError(t, err)
	require.NoError(t, b.runs.StartChallenge(t.Context(), run))
	b.runProcess(nil)
	require.NoError(t, b.Store.Write(t.Context(), func(q *pg.Q) error {
		if _, err := challenge.CancelChallengesOfSubject(t.Context(), q, b.Scope, c.SubjectUID, b.Now, b.Now); err != nil {
			return err
		}
		return outbox.Add(t.Context(), q, outbox.Item{Topic: outbox.TopicChallengeSettled, Environment: c.EnvironmentID, Ref: c.ID, At: b.Now})
	}))
	var out challenge.Outcome
	require.NoError(t, b.temporal.GetWorkflow(t.Context(), workflows.ChallengeID(c.ID), "").Get(t.Context(), &out))
	require.Equal(t, models.ChallengeCancelled, out.Status)
}

// While Temporal is unavailable, requests are refused soon and change nothing.
func TestClientIsUnavailableWithoutTemporal(t *testing.T) {
	t.Parallel()
	b := setup(t)
	keys, err := keyring.Parse(keyring.Generate())
	require.NoError(t, err)
	nowhere, err := workflows.Dial(workflows.DialOptions{Address: "127.0.0.1:1", Keyring: keys, Log: b.services().Log})
	require.NoError(t, err, "the service starts without Temporal")
	t.Cleanup(nowhere.Close)
	unavailable := workflows.NewClient(nowhere, "")
	c := b.Challenge(challengeTTL, "sandbox_confirm")
	p := b.confirm(t, c)
	_, err = unavailable.CompleteChallenge(t.Context(), p.Workflow, p.Request)
	require.True(t, problem.Is(err, problem.Unavailable), "%v", err)
	require.Positive(t, problem.As(err).RetryAfter)
	require.True(t, problem.Is(unavailable.Ping(t.Context()), problem.Unavailable))
	require.Equal(t, 1, b.Count("select count(*) from challenges where status = 'open'"))
}

// Where Temporal is there and no worker runs, the refusal says so.
func TestClientIsUnavailableWithoutAWorker(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c := b.Challenge(challengeTTL, "sandbox_confirm")
	p := b.confirm(t, c)
	_, err := b.runs.CompleteChallenge(t.Context(), p.Workflow, p.Request)
	require.True(t, problem.Is(err, problem.Unavailable), "%v", err)
	require.ErrorContains(t, err, "No worker took the request in time")
	require.NoError(t, b.runs.Ping(t.Context()))
	require.Equal(t, 1, b.Count("select count(*) from challenges where status = 'open'"))
}

// An operator has terminated a run twice, and others were started: the histories of all three are deleted.
func TestForgetDeletesEveryRun(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c := b.Challenge(challengeTTL, "sandbox_confirm")
	run, _, err := b.challenges.WorkflowInput(t.Context(), c.EnvironmentID, c.ID)
	require.NoError(t, err)
	id := workflows.ChallengeID(c.ID)
	runs := func() int64 {
		n, err := b.temporal.CountWorkflow(t.Context(), &workflowservice.CountWorkflowExecutionsRequest{
			Namespace: b.namespace, Query: "WorkflowId = '" + id + "'",
		})
		require.NoError(t, err)
		return n.GetCount()
	}
	for range 2 {
		require.NoError(t, b.runs.RestartChallenge(t.Context(), run))
		require.NoError(t, b.temporal.TerminateWorkflow(t.Context(), id, "", "by accident"))
	}
	require.NoError(t, b.runs.RestartChallenge(t.Context(), run))
	require.Eventually(t, func() bool { return runs() == 3 }, patience, 50*time.Millisecond)
	require.NoError(t, b.runs.Forget(t.Context(), []string{id, workflows.ChallengeID(ids.New(ids.Challenge))}), "an unknown workflow counts as forgotten")
	// The server removes them asynchronously.
	require.Eventually(t, func() bool { return runs() == 0 }, 2*erasureTimeout, 100*time.Millisecond)
	require.NoError(t, b.runs.Forget(t.Context(), []string{id}), "forgetting is idempotent")
}

// If a workflow was terminated by accident, the next request starts it again, since the record is still open.
func TestTerminatedWorkflowIsRestarted(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.startWorker()
	c := b.Challenge(challengeTTL, "sandbox_confirm")
	p := b.confirm(t, c)
	require.NoError(t, b.runs.StartChallenge(t.Context(), p.Workflow))
	require.NoError(t, b.temporal.TerminateWorkflow(t.Context(), workflows.ChallengeID(c.ID), "", "by accident"))
	out, err := b.runs.CompleteChallenge(t.Context(), p.Workflow, p.Request)
	require.NoError(t, err)
	require.Equal(t, models.ChallengeCompleted, out.Status)
}
