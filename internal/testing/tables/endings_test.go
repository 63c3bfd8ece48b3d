package tables_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/audit"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/testing/fixture"
	"github.com/countersign-dev/countersign/internal/testing/storetest"
	"github.com/countersign-dev/countersign/internal/testing/testenv"
	"github.com/countersign-dev/countersign/models"
)

// An ending is stored for as long as the row that ended could be used without it. Its deletion is in the log, if the ending is.
func TestEndingsAreStoredForAsLongAsTheyAreNeeded(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	st, err := pg.Open(ctx, testenv.Database(t), pg.Options{Keys: testenv.Keys(), Record: events.RecordChanged})
	require.NoError(t, err)
	t.Cleanup(st.Close)
	w := fixture.New(t, st, storetest.Epoch)
	w.AddCredential("crd_1", "cli:test")
	h := w.Hold(time.Hour, 1)
	grant := models.RegistrationGrant{
		MAC: []byte{1}, ID: "rgr_1", TenantID: w.Scope.Tenant, EnvironmentID: w.Scope.Environment, CredentialID: "crd_1", SubjectUID: w.Subject.UID,
		CreatedAt: time.Now(), ExpiresAt: time.Now().Add(time.Hour),
	}
	require.NoError(t, st.Gorm(ctx).Create(&grant).Error)
	require.NoError(t, st.Write(ctx, func(q *pg.Q) error {
		if _, err := pg.Change[models.RegistrationGrant](ctx, q, "environment_id = ? and id = 'rgr_1'", "used_at = now()", w.Scope.Environment); err != nil {
			return err
		}
		soon := time.Now().Add(time.Hour)
		return pg.End(ctx, q, w.Scope, models.Left{Record: "holds", State: h.AuthorizationID, EndedAt: time.Now(), UselessAt: &soon})
	}))
	drop := func(at time.Time) (n int64) {
		require.NoError(t, st.Write(ctx, func(q *pg.Q) (err error) {
			n, err = pg.DropEndings(ctx, q, at, 10)
			return err
		}))
		return n
	}
	endings := func() (out []audit.Finding) {
		found, err := audit.Verify(ctx, st, w.Scope, nil)
		require.NoError(t, err)
		for _, f := range found.Findings {
			if f.Field == "endings" {
				out = append(out, f)
			}
		}
		return out
	}
	require.Zero(t, drop(time.Now()))
	require.Empty(t, endings())
	require.EqualValues(t, 2, drop(time.Now().Add(2*time.Hour)))
	require.Empty(t, endings())
}
