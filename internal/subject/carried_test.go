package subject_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/subject"
	"github.com/countersign-dev/countersign/internal/subject/recovery"
)

// Erasing a subject and creating it anew ends neither the cool-down of its recovery nor the cap on its claims.
func TestTermsOfARecoverySurviveAnErasure(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	v := b.create(t, canary)
	ready, ends, cap := b.clock.Now().Add(time.Hour).UTC(), b.clock.Now().Add(2*time.Hour).UTC(), b.clock.Now().Add(3*time.Hour).UTC()
	b.exec(t, `insert into recoveries (id, tenant_id, environment_id, subject_uid, status, anchor, limitations, created_at, ready_at, expires_at)
		values ('rec_1', $1, $2, $3, 'cooling_down', 'none', '{recovery_cap}', $4, $5, $6)`, v.TenantID, v.EnvironmentID, v.UID, b.clock.Now(), ready, ends)
	b.exec(t, "update subjects set claim_cap_until = $2 where uid = $1", v.UID, cap)

	for range 2 { // also of a subject that has taken them over
		r, err := b.service.Erase(ctx, b.principal, canary)
		require.NoError(t, err)
		b.erase(t, r.Erasure)
		require.Empty(t, b.traces(t, canary), "the id is stored as a keyed hash only")
		require.Equal(t, []string{"1"}, b.texts(t, "select count(*)::text from erased_terms"))

		again := b.create(t, canary)
		require.Equal(t, cap, again.ClaimCapUntil.UTC())
		carried, err := subject.HasUnfinishedRecovery(ctx, b.store.Q, b.scope, again.UID)
		require.NoError(t, err)
		require.Equal(t, recovery.AnchorNone, carried.Anchor)
		require.Equal(t, []time.Time{ready, ends}, []time.Time{carried.ReadyAt.UTC(), carried.ExpiresAt.UTC()})
		_, err = recovery.EnsureEnrollable(ctx, b.store.Q, b.scope, again.UID, b.clock.Now())
		require.Error(t, err, "the cool-down goes on")
		require.Equal(t, []string{"0"}, b.texts(t, "select count(*)::text from erased_terms"))
	}

	require.Nil(t, b.create(t, "neighbour").ClaimCapUntil)
	r, err := b.service.Erase(ctx, b.principal, canary)
	require.NoError(t, err)
	b.erase(t, r.Erasure)
	b.clock.Set(cap)
	require.Nil(t, b.create(t, canary).ClaimCapUntil, "they have ended")
}
