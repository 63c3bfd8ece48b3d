package upkeep_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/authz/backgrounds"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/subject"
	"github.com/countersign-dev/countersign/internal/subject/enrollment"
	"github.com/countersign-dev/countersign/internal/subject/recovery"
	"github.com/countersign-dev/countersign/internal/subject/upkeep"
	"github.com/countersign-dev/countersign/internal/testing/storetest"
	"github.com/countersign-dev/countersign/models"
)

func TestSubjectTasksRepairLostWorkflows(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	st, c := storetest.New(t), clock.NewFake(storetest.Epoch)
	keys, err := keyring.Parse(keyring.Generate())
	require.NoError(t, err)
	env := storetest.Environment(t, st, models.Live)
	p := identity.Principal{CredentialID: "crd_1", TenantID: env.TenantID, EnvironmentID: env.ID, Kind: models.Live}
	recoveries := recovery.New(st, c, backgrounds.Counter{})
	storetest.Subject(t, st, env, "recovers")
	storetest.Subject(t, st, env, "goes")
	begun, err := recoveries.Begin(ctx, p, "recovers", recovery.Begin{Anchor: recovery.AnchorNone})
	require.NoError(t, err)
	_, err = subject.New(st, keys, nil, c).Erase(ctx, p, "goes")
	require.NoError(t, err)
	_, err = st.Pool().Exec(ctx, "delete from outbox")
	require.NoError(t, err)

	run := func(name string, at time.Time) int {
		for _, task := range upkeep.SubjectTasks(upkeep.SubjectDeps{Store: st, Recoveries: recoveries}) {
			if task.Name == name {
				n, more, err := task.Do(ctx, at, "upkeep/"+name)
				require.NoError(t, err)
				require.False(t, more)
				return n
			}
		}
		t.Fatalf("no task %s", name)
		return 0
	}
	status := func() models.RecoveryStatus {
		r, err := recovery.GetRecovery(ctx, st.Q, begun.EnvironmentID, begun.ID)
		require.NoError(t, err)
		return r.Status
	}
	require.Zero(t, run("overdue-recoveries", begun.ReadyAt), "its own timer may be about to fire")
	require.Equal(t, 1, run("overdue-recoveries", begun.ReadyAt.Add(2*time.Minute)))
	require.Equal(t, models.RecoveryReady, status())
	require.Zero(t, run("overdue-recoveries", begun.ReadyAt.Add(time.Hour)))
	require.Equal(t, 1, run("overdue-recoveries", begun.ExpiresAt.Add(2*time.Minute)))
	require.Equal(t, models.RecoveryExpired, status())
	require.Zero(t, run("overdue-recoveries", begun.ExpiresAt.Add(time.Hour)))

	require.Zero(t, run("unfinished-erasures", storetest.Epoch.Add(time.Minute)))
	require.Equal(t, 1, run("unfinished-erasures", storetest.Epoch.Add(time.Hour)))
	var topic string
	require.NoError(t, st.Pool().QueryRow(ctx, "delete from outbox where topic <> 'event' returning topic").Scan(&topic))
	require.Equal(t, "erasure.start", topic)

	require.NoError(t, enrollment.CreateEnrollment(ctx, st.Q, models.Enrollment{
		ID: "enr_1", TenantID: env.TenantID, EnvironmentID: env.ID, SubjectUID: begun.SubjectUID, SessionID: "ses_1", Anchor: "none",
		Status: models.EnrollmentPending, Limitations: models.Strings{}, CreatedAt: storetest.Epoch,
	}))
	require.Zero(t, run("unfinished-enrollments", storetest.Epoch.Add(time.Minute)))
	require.Equal(t, 1, run("unfinished-enrollments", storetest.Epoch.Add(time.Hour)))
	require.NoError(t, st.Pool().QueryRow(ctx, "select topic from outbox where ref = 'enr_1'").Scan(&topic))
	require.Equal(t, "enrollment.start", topic)
}
