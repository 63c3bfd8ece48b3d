package workflows_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/authz/backgrounds"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/subject"
	"github.com/countersign-dev/countersign/internal/subject/recovery"
	"github.com/countersign-dev/countersign/internal/testing/storetest"
	"github.com/countersign-dev/countersign/models"
	"github.com/countersign-dev/countersign/worker"
	"github.com/countersign-dev/countersign/workflows"
)

// recovering is a run of a recovery over its real record, in skipped time.
type recovering struct {
	env     *testsuite.TestWorkflowEnvironment
	store   *pg.Store
	scope   pg.Scope
	subject models.Subject
	begun   recovery.View
}

func recover14Days(t *testing.T, anchor string) *recovering {
	t.Helper()
	st := storetest.New(t)
	world := storetest.Environment(t, st, models.Live)
	sub := storetest.Subject(t, st, world, "user-1")
	service := recovery.New(st, clock.NewFake(start), backgrounds.Counter{})
	ref := "kyc-case-1"
	begun, err := service.Begin(t.Context(), identity.Principal{
		CredentialID: "crd_1", TenantID: world.TenantID, EnvironmentID: world.ID, Kind: models.Live,
	}, "user-1", recovery.Begin{Anchor: anchor, EvidenceRef: &ref})
	require.NoError(t, err)
	return &recovering{
		env:   environment(t, worker.Services{Subjects: worker.Subjects{Recoveries: service}}),
		store: st, scope: storetest.Scope(world), subject: sub, begun: begun,
	}
}

func (r *recovering) run(t *testing.T) workflows.RecoveryResult {
	t.Helper()
	r.env.ExecuteWorkflow(workflows.NameRecovery, workflows.RecoveryInput{Recovery: r.begun.ID, Environment: r.scope.Environment})
	require.True(t, r.env.IsWorkflowCompleted())
	require.NoError(t, r.env.GetWorkflowError())
	var out workflows.RecoveryResult
	require.NoError(t, r.env.GetWorkflowResult(&out))
	return out
}

// at calls f when that much of workflow time has passed.
func (r *recovering) at(after time.Duration, f func()) { r.env.RegisterDelayedCallback(f, after) }

func (r *recovering) status(t *testing.T) models.RecoveryStatus {
	t.Helper()
	row, err := recovery.GetRecovery(context.Background(), r.store.Q, r.scope.Environment, r.begun.ID)
	require.NoError(t, err)
	return row.Status
}

func (r *recovering) events(t *testing.T) []string {
	t.Helper()
	rows, err := r.store.Pool().Query(context.Background(), "select type from events order by seq")
	require.NoError(t, err)
	out, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return out
}

func (r *recovering) enroll(t *testing.T) {
	t.Helper()
	require.NoError(t, r.store.Write(context.Background(), func(q *pg.Q) error {
		return recovery.CompleteByEnrollment(context.Background(), q, r.subject, r.env.Now())
	}))
	r.env.SignalWorkflow(workflows.SignalSettled, nil)
}

func TestRecoveryCoolsDownAndExpires(t *testing.T) {
	t.Parallel()
	r := recover14Days(t, recovery.AnchorNone)
	r.at(24*time.Hour-time.Second, func() { require.Equal(t, models.RecoveryCoolingDown, r.status(t)) })
	r.at(24*time.Hour+time.Second, func() { require.Equal(t, models.RecoveryReady, r.status(t)) })
	r.at(recovery.Life-time.Second, func() { require.Equal(t, models.RecoveryReady, r.status(t)) })
	require.Equal(t, workflows.RecoveryResult{Status: "expired"}, r.run(t))
	require.Equal(t, start.Add(recovery.Life), r.env.Now().UTC())
	require.Equal(t, models.RecoveryExpired, r.status(t))
	require.Equal(t, []string{"recovery.started", "subject.claims_capped", "recovery.ready", "recovery.expired"}, r.events(t))
}

func TestRecoveryEndsWithTheEnrollmentThatCompletesIt(t *testing.T) {
	t.Parallel()
	r := recover14Days(t, recovery.AnchorVerifiedIdentity)
	r.at(2*time.Hour, func() { r.enroll(t) })
	require.Equal(t, workflows.RecoveryResult{Status: "completed"}, r.run(t))
	require.Equal(t, start.Add(2*time.Hour), r.env.Now().UTC(), "the run does not wait on")
	require.Equal(t, []string{"recovery.started", "recovery.ready", "recovery.completed"}, r.events(t))
}

// A signal that comes before its time, or for nothing, changes nothing.
func TestRecoveryAdvancesWhenSignaled(t *testing.T) {
	t.Parallel()
	r := recover14Days(t, recovery.AnchorIDP)
	for _, after := range []time.Duration{0, time.Hour, 5 * time.Hour} {
		r.at(after, func() { r.env.SignalWorkflow(workflows.SignalSettled, nil) })
	}
	require.Equal(t, workflows.RecoveryResult{Status: "expired"}, r.run(t))
	require.Equal(t, []string{"recovery.started", "recovery.ready", "recovery.expired"}, r.events(t))
}

func TestRecoveryEndsWhenItsSubjectIsErased(t *testing.T) {
	t.Parallel()
	r := recover14Days(t, recovery.AnchorIDP)
	r.at(time.Hour, func() {
		require.NoError(t, r.store.Write(context.Background(), func(q *pg.Q) error {
			_, err := subject.HideSubject(context.Background(), q, pg.Scope{Tenant: r.subject.TenantID, Environment: r.subject.EnvironmentID}, r.subject.UID, r.env.Now())
			return err
		}))
		r.env.SignalWorkflow(workflows.SignalSettled, nil)
	})
	require.Equal(t, workflows.RecoveryResult{Status: "gone"}, r.run(t))
}
