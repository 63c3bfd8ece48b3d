package worker_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/challenge"
	"github.com/countersign-dev/countersign/internal/authz/evaluation"
	"github.com/countersign-dev/countersign/internal/authz/hold"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/subject/enrollment"
	"github.com/countersign-dev/countersign/internal/testing/fixture"
	"github.com/countersign-dev/countersign/models"
	"github.com/countersign-dev/countersign/worker"
	"github.com/countersign-dev/countersign/workflows"
)

// The service's database is restored to a point before a challenge and a hold were settled, and Temporal's is not: they are open again,
// and their workflow runs have closed. The same request and a new one both settle them.
func TestARestoredRecordIsSettledAlthoughItsRunHasClosed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.startWorker()
	resolver, reviewer := challenge.NewResolver(b.challenges, b.runs), hold.NewReviewer(b.holds, b.runs)
	// again repeats a request while it is unavailable, as a client does.
	again := func(request func() error) {
		t.Helper()
		require.Eventually(t, func() bool {
			err := request()
			if !problem.Is(err, problem.Unavailable) {
				require.NoError(t, err)
			}
			return err == nil
		}, patience, 50*time.Millisecond)
	}

	c := b.Challenge(challengeTTL, "sandbox_confirm")
	complete := func() error {
		_, err := resolver.Complete(t.Context(), b.Principal("crd_user"), c.ID, "sandbox_confirm", nil)
		return err
	}
	cancel := func() error {
		_, err := resolver.Cancel(t.Context(), b.Principal("crd_user"), c.ID)
		return err
	}
	for _, request := range []func() error{complete, complete, cancel, cancel} {
		again(request)
		b.eventually(t, 1, "select count(*) from challenges where id = $1 and status <> 'open'", c.ID)
		b.Exec(`update challenges set status = 'open', settled_at = null, method_used = null, strength = null, completion_hash = null,
			child_authorization_id = null where id = $1`, c.ID)
		b.Exec("delete from authorizations where parent_id = $1", c.AuthorizationID)
		b.Exec("delete from endings where state = $1", c.ID)
	}

	h := b.Hold(time.Hour, 1)
	for range 2 {
		again(func() error {
			_, err := reviewer.Review(t.Context(), b.Principal("crd_ann"), h.AuthorizationID, hold.Vote{Resolution: hold.Approve})
			return err
		})
		b.eventually(t, 1, "select count(*) from holds where authorization_id = $1 and status = $2", h.AuthorizationID, string(models.HoldApproved))
		b.Exec("update holds set status = 'pending', resolved_at = null, resolved_by = null, child_authorization_id = null where authorization_id = $1", h.AuthorizationID)
		b.Exec("delete from reviews where authorization_id = $1", h.AuthorizationID)
		b.Exec("delete from authorizations where parent_id = $1", h.AuthorizationID)
		b.Exec("delete from endings where state = $1", h.AuthorizationID)
	}
}

// The same for an evaluation, whose close is one update however often it is asked for.
func TestARestoredEvaluationIsClosedAlthoughItsRunHasClosed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.startWorker()
	v, err := b.evaluations.Create(t.Context(), b.Principal("crd_1"), evaluation.Create{ActionKeys: []string{b.Action.Key}})
	require.NoError(t, err)
	closer := evaluation.NewCloser(b.evaluations, b.runs)
	for range 2 {
		require.Eventually(t, func() bool {
			closed, finished, err := closer.Close(t.Context(), b.Principal("crd_1"), v.ID)
			require.NoError(t, err)
			require.True(t, !finished || closed.Status == string(models.EvaluationClosed), "a finished close has closed")
			return finished
		}, patience, 50*time.Millisecond)
		b.eventually(t, 1, "select count(*) from evaluations where id = $1 and status = 'closed'", v.ID)
		require.NoError(t, b.temporal.GetWorkflow(t.Context(), workflows.EvaluationID(v.ID), "").Get(t.Context(), nil))
		b.Exec("update evaluations set status = 'open', closed_at = null, report = null where id = $1", v.ID)
	}
}

// The same for an enrollment, whose workflow upkeep asks for.
func TestARestoredEnrollmentIsTrainedAlthoughItsRunHasClosed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.runProcess(func(d *worker.Deps) { d.Services.Enrollments = enrollment.New(b.Store, clock.System(), nil) })
	in := enrollment.WorkflowInput{Enrollment: "enr_1", Environment: b.Scope.Environment}
	runs := map[string]bool{}
	for range 2 {
		require.NoError(t, b.runs.StartEnrollment(t.Context(), in))
		run := b.temporal.GetWorkflow(t.Context(), workflows.EnrollmentID(in.Enrollment), "")
		require.NoError(t, run.Get(t.Context(), nil))
		runs[run.GetRunID()] = true
	}
	require.Len(t, runs, 2)
}

// The service's database is restored to a point at which a subject was being erased, and Temporal's is not: what was restored is erased
// by another run of the workflow, because the first has closed.
func TestARestoredErasureEndsAlthoughItsRunHasClosed(t *testing.T) {
	if testing.Short() {
		t.Skip("takes the erasure's grace period of 30 s, twice")
	}
	t.Parallel()
	b := setup(t)
	erasures, _ := b.subjects(t)
	b.Exec("create table kept as select * from subjects where uid = $1", b.Subject.UID)
	r, err := erasures.Erase(t.Context(), b.Principal(fixture.Asker), b.Subject.ExternalID)
	require.NoError(t, err)
	b.requireErased(t, r.Erasure)
	require.NoError(t, b.temporal.GetWorkflow(t.Context(), workflows.ErasureID(r.Erasure), "").Get(t.Context(), nil)) // the record ends before the run

	b.Exec("insert into subjects select * from kept")
	b.Exec("update subjects set status = 'erasing', external_id = uid where uid = $1", b.Subject.UID)
	b.Exec("update erasures set status = 'erasing', subject_uid = $2, subject = 'ada', completed_at = null where id = $1", r.Erasure, b.Subject.UID)
	run, wanted, err := erasures.WorkflowInput(t.Context(), b.Scope.Environment, r.Erasure)
	require.NoError(t, err)
	require.True(t, wanted)
	require.NoError(t, b.runs.StartErasure(t.Context(), run))
	b.requireErased(t, r.Erasure)
	require.Zero(t, b.Count("select count(*) from subjects where uid = $1", b.Subject.UID))
}
