package audit_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/platform/audit"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/testing/testenv"
	"github.com/countersign-dev/countersign/models"
)

// BenchmarkSealAndVerify measures what the chain costs: one iteration is one entry sealed, and walked by Verify.
func BenchmarkSealAndVerify(b *testing.B) {
	st := testenv.Store(b)
	scope := pg.Scope{Tenant: "tnt_1", Environment: "env_1"}
	_, err := st.Pool().Exec(b.Context(), "insert into tenants values ('tnt_1', 'Test', $1)", noon)
	require.NoError(b, err)
	require.NoError(b, tenancy.CreateEnvironment(b.Context(), st.Q, models.Environment{ID: "env_1", TenantID: "tnt_1", Kind: models.Sandbox, RPID: "localhost",
		Settings: models.Settings{RPName: "Test", ChallengeTTLSeconds: 300, HoldTTLSeconds: 259200}, CreatedAt: noon}))
	require.NoError(b, st.Write(b.Context(), func(q *pg.Q) error {
		for range b.N {
			if err := events.Append(b.Context(), q, events.Entry{Scope: scope, At: noon, Subject: "user-1",
				SubjectUID: "sub_1", Actor: "credential:crd_1", Data: events.SubjectConsentChangedData{Consented: true}}); err != nil {
				return err
			}
		}
		return nil
	}))
	sealer := &audit.Sealer{Store: st, Clock: clock.System()}
	b.ResetTimer()
	start := time.Now()
	for n := 0; n < b.N; {
		sealed, err := sealer.SealAll(b.Context())
		require.NoError(b, err)
		n += sealed
	}
	sealing := time.Since(start)
	start = time.Now()
	r, err := audit.Verify(b.Context(), st, scope, nil)
	require.NoError(b, err)
	require.True(b, r.Intact())
	require.EqualValues(b, b.N, r.Entries)
	b.ReportMetric(float64(b.N)/sealing.Seconds(), "sealed/s")
	b.ReportMetric(float64(b.N)/time.Since(start).Seconds(), "verified/s")
}
