package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/store"
	"github.com/countersign-dev/countersign/internal/testing/fixture"
	"github.com/countersign-dev/countersign/internal/testing/storetest"
	"github.com/countersign-dev/countersign/models"
)

// before69 gives a database the indexes of earlier versions.
const before69 = `drop index authorizations_counts, authorizations_seldom, webhook_deliveries_turn;
	create index webhook_deliveries_due on webhook_deliveries (endpoint_id, next_attempt_at) where status = 'pending';
	create index proofs_subject on proofs (subject_uid);
	create index authorizations_tally on authorizations (tenant_id, environment_id, subject_uid, action_key, decision, decided_at);`

// The indexes of earlier versions are replaced on tables that are divided too, also by a call that continues an interrupted one.
func TestContractReplacesIndexesOfPartitions(t *testing.T) {
	t.Parallel()
	st := divided(t)
	ctx := t.Context()
	for month := range 3 {
		_, err := st.ExtendPartitions(ctx, partNow.AddDate(0, month, 0))
		require.NoError(t, err)
		require.NoError(t, writeAt(ctx, st, partNow.AddDate(0, month, 0), month))
	}
	want := keyDefinitions(t, st)
	_, err := st.Pool().Exec(ctx, before69)
	require.NoError(t, err)
	_, err = st.Partition(ctx, partNow, shown)
	require.ErrorIs(t, err, store.ErrOldKeys)

	interrupted, cancel := context.WithCancel(ctx)
	_, err = st.Contract(interrupted, func(done, _ int) {
		if done == 2 { // in the middle of the partitions
			cancel()
		}
	})
	require.ErrorIs(t, err, context.Canceled)
	_, _, err = st.Migrate(ctx)
	require.NoError(t, err)
	parts := func(index string) int {
		return len(pairs(t, st, "select indexname, '' from pg_indexes where starts_with(indexname, $1)", index))
	}
	for _, index := range []string{"authorizations_counts", "authorizations_seldom"} {
		require.Equal(t, parts("authorizations_pkey"), parts(index), "the migration builds the indexes that this version reads")
	}
	require.Equal(t, 1, parts("authorizations_tally"), "an earlier version runs until the contraction")
	_, err = st.Contract(ctx, shown)
	require.NoError(t, err)
	require.Equal(t, want, keyDefinitions(t, st))

	// A later partition has the index.
	_, err = st.ExtendPartitions(ctx, partNow.AddDate(0, 4, 0))
	require.NoError(t, err)
	require.Equal(t, parts("authorizations_pkey"), parts("authorizations_seldom"))
	require.Equal(t, parts("authorizations_pkey"), parts("authorizations_counts"))
	require.Greater(t, parts("authorizations_counts"), 5)
}

// Open proofs are found by the decisions of the last minutes, however many there are.
func TestRevocationReadsTheDecisionsOfMinutes(t *testing.T) {
	t.Parallel()
	whole := storetest.New(t)
	w := fixture.New(t, whole, storetest.Epoch)
	w.Decisions(w.Action, 20_000)
	w.Exec(`insert into proofs (jti, tenant_id, environment_id, authorization_id, subject_uid, kid, audience, status, issued_at, expires_at)
		select 'prf_' || substr(id, 5), tenant_id, environment_id, id, subject_uid, 'k', audience, 'active', decided_at, decided_at + interval '300 s' from authorizations`)
	w.Exec("vacuum analyze")

	// One connection counts what it reads.
	st := overOneConnection(t, whole.Pool().Config().ConnString())
	reads := func() int {
		return counted(t, st, "select sum(seq_tup_read + idx_tup_fetch)::int from pg_stat_user_tables where relname ~ '^(authorizations|proofs)'")
	}
	// Each decision of 16 minutes with its proof, the proofs that are revoked, and the rest of two ranges of 128 pages, with some 15
	// rows each: the planner may take the index of decided_at, which finds ranges (BRIN).
	const most = 2*16*60 + 4*299 + 2*128*15
	r := store.Revocation{Reason: "subject_revoked", At: w.Now, Longest: 16 * time.Minute}
	before := reads()
	voided, err := st.Proofs().RevokeOfSubject(t.Context(), w.Scope, w.Subject.UID, r)
	require.NoError(t, err)
	require.Len(t, voided, 299)
	require.Equal(t, w.Action.Key, voided[0].ActionKey)
	require.Less(t, reads()-before, most)

	w.Exec("update proofs set status = 'active'")
	w.Exec("vacuum analyze")
	key := models.SigningKey{KID: "k", TenantID: w.Scope.Tenant, EnvironmentID: w.Scope.Environment}
	before = reads()
	signed, err := st.Proofs().RevokeOfKey(t.Context(), key, r)
	require.NoError(t, err)
	require.Len(t, signed, 299)
	require.Equal(t, w.Subject.ExternalID, signed[0].Subject)
	require.Less(t, reads()-before, most)
}
