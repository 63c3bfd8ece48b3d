package recovery_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/subject/recovery"
	"github.com/countersign-dev/countersign/models"
)

// openAnchor returns the anchor that an enrollment requested now records.
func (b *bundle) openAnchor(t *testing.T) string {
	t.Helper()
	var anchor string
	require.NoError(t, b.store.Write(context.Background(), func(q *pg.Q) (err error) {
		anchor, err = recovery.EnsureEnrollable(context.Background(), q, b.row(t), b.clock.Now())
		return err
	}))
	return anchor
}

// beginAdvanced begins a recovery and advances its row as far as the status, as a workflow does that is lost then.
func (b *bundle) beginAdvanced(t *testing.T, anchor string, stored models.RecoveryStatus) recovery.View {
	t.Helper()
	v, err := b.begin(anchor)
	require.NoError(t, err)
	if stored != models.RecoveryPending {
		b.advance(t, v.ID)
	}
	b.clock.Set(v.ReadyAt)
	if stored == models.RecoveryReady {
		b.advance(t, v.ID)
	}
	r, err := recovery.GetRecovery(context.Background(), b.store.Q, b.scope.Environment, v.ID)
	require.NoError(t, err)
	require.Equal(t, stored, r.Status)
	return v
}

// A recovery past its end is over for every operation, however late its timer is.
func TestRecoveryPastItsEndIsOverAtOnce(t *testing.T) {
	t.Parallel()
	expired := []string{"recovery.started", "recovery.ready", "recovery.expired"}
	for _, stored := range []models.RecoveryStatus{models.RecoveryPending, models.RecoveryCoolingDown, models.RecoveryReady} {
		t.Run(string(stored), func(t *testing.T) {
			t.Parallel()
			operations := map[string]func(t *testing.T, b *bundle) []string{
				"the next recovery": func(t *testing.T, b *bundle) []string {
					_, err := b.begin(recovery.AnchorIDP)
					require.NoError(t, err)
					return []string{"recovery.started"}
				},
				"a requested enrollment": func(t *testing.T, b *bundle) []string {
					require.Equal(t, "none", b.openAnchor(t))
					return nil
				},
				"a completed enrollment": func(t *testing.T, b *bundle) []string {
					require.NoError(t, b.complete())
					return nil
				},
			}
			for name, operate := range operations {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					b := setup(t, models.Live)
					v := b.beginAdvanced(t, recovery.AnchorIDP, stored)
					b.clock.Set(v.ExpiresAt.Add(-time.Microsecond))
					_, err := b.begin(recovery.AnchorIDP)
					requireCode(t, problem.RecoveryInProgress, err)
					require.Equal(t, recovery.AnchorIDP, b.openAnchor(t))

					b.clock.Set(v.ExpiresAt)
					later := operate(t, b)
					r, err := recovery.GetRecovery(context.Background(), b.store.Q, b.scope.Environment, v.ID)
					require.NoError(t, err)
					require.Equal(t, models.RecoveryExpired, r.Status)
					require.Nil(t, r.CompletedAt)
					require.Equal(t, recovery.Progress{Status: models.RecoveryExpired}, b.advance(t, v.ID), "the late timer")
					require.Equal(t, append(expired, later...), b.events(t))
				})
			}
		})
	}
}

// A request that fails leaves the recovery as it was, and repeating it records the expiry once.
func TestExpiryIsRolledBackWithTheRequest(t *testing.T) {
	t.Parallel()
	b := setup(t, models.Live)
	v := b.beginAdvanced(t, recovery.AnchorIDP, models.RecoveryReady)
	b.clock.Set(v.ExpiresAt)
	failed := errors.New("the session is unknown")
	require.ErrorIs(t, b.store.Write(context.Background(), func(q *pg.Q) error {
		_, err := recovery.EnsureEnrollable(context.Background(), q, b.row(t), b.clock.Now())
		require.NoError(t, err)
		return failed
	}), failed)
	require.Equal(t, []string{"recovery.started", "recovery.ready"}, b.events(t))
	for range 2 {
		require.Equal(t, "none", b.openAnchor(t))
	}
	require.Equal(t, []string{"recovery.started", "recovery.ready", "recovery.expired"}, b.events(t))
}

// Of concurrent requests and the timer, one records the expiry, and one request begins the next recovery.
func TestConcurrentBeginsAfterTheEndStartOneRecovery(t *testing.T) {
	t.Parallel()
	b := setup(t, models.Sandbox)
	for range 5 {
		v, err := b.begin(recovery.AnchorIDP)
		require.NoError(t, err)
		b.clock.Set(v.ExpiresAt)
		var timer error
		b.beginAtOnce(t, 6, recovery.AnchorIDP, func() {
			_, timer = b.service.Advance(context.Background(), recovery.Step{Environment: b.principal.EnvironmentID, ID: v.ID, At: v.ExpiresAt, WorkflowID: "recovery/" + v.ID})
		})
		require.NoError(t, timer)
		require.Equal(t, []string{"recovery.expired"},
			b.texts(t, "select type from events where data->>'recovery' = '"+v.ID+"' and type = 'recovery.expired'"))
		next, err := b.service.Get(context.Background(), b.scope, b.subject.ExternalID)
		require.NoError(t, err)
		b.clock.Set(next.ExpiresAt)
		b.advance(t, next.ID)
	}
}

// Waiting until an unanchored recovery has expired must not be a way around its cap: nothing vouches for the person who enrolls.
func TestEnrollmentAfterAnUnanchoredRecoveryExpiredIsCapped(t *testing.T) {
	t.Parallel()
	terms := recovery.TermsOf(models.Live, recovery.AnchorNone)
	for name, marked := range map[string]bool{"before its timer": false, "after its timer": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, models.Live)
			v, err := b.begin(recovery.AnchorNone)
			require.NoError(t, err)
			b.clock.Set(v.ExpiresAt)
			require.False(t, b.row(t).Capped(b.clock.Now()), "the cap of the beginning ends first")
			if marked {
				b.advance(t, v.ID)
				b.clock.Set(v.ExpiresAt.Add(90 * 24 * time.Hour))
			}
			require.NoError(t, b.complete())
			require.Equal(t, models.RecoveryExpired, b.status(t), "it is not completed")
			until := b.clock.Now().Add(terms.Cap)
			require.Equal(t, until, b.row(t).ClaimCapUntil.UTC(), "the cap runs from the enrollment")

			b.clock.Set(until.Add(time.Hour))
			require.NoError(t, b.complete())
			require.Equal(t, until, b.row(t).ClaimCapUntil.UTC(), "an enrollment on a further device is not capped again")
		})
	}
}

// What a later recovery vouches for counts only if an enrollment completed it.
func TestCapAfterExpiryAndALaterRecovery(t *testing.T) {
	t.Parallel()
	expire := func(t *testing.T, b *bundle, anchor string) {
		v, err := b.begin(anchor)
		require.NoError(t, err)
		b.clock.Set(v.ExpiresAt)
	}
	completed := func(t *testing.T, b *bundle, anchor string) *time.Time {
		v, err := b.begin(anchor)
		require.NoError(t, err)
		b.clock.Set(v.ReadyAt)
		require.NoError(t, b.complete())
		return b.row(t).ClaimCapUntil
	}
	days := recovery.TermsOf(models.Live, recovery.AnchorNone).Cap
	t.Run("an anchored one expired", func(t *testing.T) {
		t.Parallel()
		b := setup(t, models.Live)
		expire(t, b, recovery.AnchorIDP)
		require.NoError(t, b.complete())
		require.Nil(t, b.row(t).ClaimCapUntil, "an anchored recovery has no cap")
		expire(t, b, recovery.AnchorNone)
		expire(t, b, recovery.AnchorIDP)
		require.NoError(t, b.complete())
		require.Equal(t, b.clock.Now().Add(days), b.row(t).ClaimCapUntil.UTC())
	})
	t.Run("an anchored one was completed", func(t *testing.T) {
		t.Parallel()
		b := setup(t, models.Live)
		expire(t, b, recovery.AnchorNone)
		before := b.row(t).ClaimCapUntil
		require.Equal(t, before, completed(t, b, recovery.AnchorIDP))
		require.NoError(t, b.complete())
		require.Equal(t, before, b.row(t).ClaimCapUntil)
	})
	t.Run("an unanchored one was completed", func(t *testing.T) {
		t.Parallel()
		b := setup(t, models.Live)
		expire(t, b, recovery.AnchorNone)
		until := completed(t, b, recovery.AnchorNone)
		require.Equal(t, b.clock.Now().Add(days), until.UTC())
		b.clock.Set(until.Add(time.Hour))
		require.NoError(t, b.complete())
		require.Equal(t, until, b.row(t).ClaimCapUntil)
	})
	t.Run("an unanchored one expired too", func(t *testing.T) {
		t.Parallel()
		b := setup(t, models.Live)
		expire(t, b, recovery.AnchorNone)
		require.NoError(t, b.complete())
		expire(t, b, recovery.AnchorNone)
		require.NoError(t, b.complete())
		require.Equal(t, b.clock.Now().Add(days), b.row(t).ClaimCapUntil.UTC())
	})
}
