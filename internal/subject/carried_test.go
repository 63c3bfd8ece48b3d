package subject_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/subjectrow"
	"github.com/countersign-dev/countersign/internal/subject"
	"github.com/countersign-dev/countersign/internal/subject/recovery"
	"github.com/countersign-dev/countersign/models"
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
		row, err := subjectrow.Get(ctx, b.store.Q, b.scope, canary)
		require.NoError(t, err)
		carried, err := subject.UnfinishedRecoveryOf(ctx, b.store.Q, row)
		require.NoError(t, err)
		require.Equal(t, recovery.AnchorNone, carried.Anchor)
		require.Equal(t, []time.Time{ready, ends}, []time.Time{carried.ReadyAt.UTC(), carried.ExpiresAt.UTC()})
		_, err = recovery.EnsureEnrollable(ctx, b.store.Q, row, b.clock.Now())
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

// A revocation and a stop of adaptation last until they are ended, however often the subject is erased.
func TestRestrictionsSurviveErasures(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		restrict func(b *bundle) error
		has      func(v subject.View) bool
	}{
		"revoked": {func(b *bundle) error {
			_, err := b.service.Revoke(t.Context(), b.principal, canary, "stolen")
			return err
		}, func(v subject.View) bool { return v.Status == models.SubjectRevoked && v.RevokedAt != nil }},
		"frozen": {func(b *bundle) error {
			_, err := b.service.Freeze(t.Context(), b.principal, canary, true, "")
			return err
		}, func(v subject.View) bool { return v.AdaptationFrozen && v.Status == models.SubjectActive }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.create(t, canary)
			require.NoError(t, c.restrict(b))
			for range 3 {
				r, err := b.service.Erase(t.Context(), b.principal, canary)
				require.NoError(t, err)
				b.erase(t, r.Erasure)
				require.Empty(t, b.traces(t, canary), "the id is stored as a keyed hash only")
				b.clock.Advance(400 * 24 * time.Hour)
				_, err = subject.DropErasedTerms(t.Context(), b.store.Q, b.clock.Now(), 10)
				require.NoError(t, err)
				require.True(t, c.has(b.create(t, canary)))
			}
			require.False(t, c.has(b.create(t, "neighbour")))
		})
	}
}

// Every column of a subject is carried over an erasure, or starts empty for a reason.
func TestEveryColumnOfASubjectIsCarriedOrStartsEmpty(t *testing.T) {
	t.Parallel()
	b := setup(t)
	known := map[string]string{
		"status": "carried: a revocation", "revoked_at": "carried", "adaptation_frozen": "carried", "claim_cap_until": "carried", "challenge_until": "carried",
		"uid": "new", "tenant_id": "the same", "environment_id": "the same", "external_id": "the same", "created_at": "new", "updated_at": "new",
		"enrollment": "what was learned is erased", "timing_template": "what was learned is erased", "enrollment_asked_at": "asks for what is erased",
		"research_consent": "consent is given anew", "reinstated_at": "says that what is not carried ended", "row_mac": "new", "recovery_id": "carried: an open recovery",
	}
	for _, column := range b.texts(t, "select column_name::text from information_schema.columns where table_schema = current_schema() and table_name = 'subjects'") {
		require.Contains(t, known, column, "say here whether it restricts the subject; if it does, carried.go must keep it")
	}
}
