package template_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/backgrounds"
	"github.com/countersign-dev/countersign/internal/behavior/synthetic"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/subject"
	"github.com/countersign-dev/countersign/internal/subject/recovery"
	"github.com/countersign-dev/countersign/internal/testing/testenv"
	"github.com/countersign-dev/countersign/models"
)

// counted returns the number of people in the sums of the environment, and how often they changed.
func (b *bundle) counted(t *testing.T) (people, changes int) {
	t.Helper()
	rows, err := backgrounds.Sums(t.Context(), b.store.Q, b.principal.Store(), "keystroke", models.BackgroundOwn)
	require.NoError(t, err)
	require.Len(t, rows, 1)
	return rows[0].People, int(rows[0].Changes)
}

func (b *bundle) requireCounted(t *testing.T, people, changes int) {
	t.Helper()
	gotPeople, gotChanges := b.counted(t)
	require.Equal(t, []int{people, changes}, []int{gotPeople, gotChanges})
}

// learns makes the environment learn from the people who enroll.
func learns(t *testing.T) *bundle {
	t.Helper()
	b := setup(t)
	testenv.Exec(t, b.store, "update environments set background = 'own'")
	return b
}

// What a person adds to the sums follows the templates, in the transactions that change these.
func TestThePersonIsCountedAsLongAsTheTemplateIsTrusted(t *testing.T) {
	t.Parallel()
	b := learns(t)
	who := synthetic.NewTypist(7)
	b.enroll(t, who)
	b.requireCounted(t, 1, 1)

	b.confirmed(t, who)
	b.requireCounted(t, 1, 1)
	b.confirmed(t, who)
	require.NoError(t, b.store.Write(t.Context(), func(q *pg.Q) error {
		return backgrounds.NewCounter(b.assessor).Recount(context.Background(), q, b.principal.Store(), b.subject.UID, b.clock.Now())
	}))
	b.requireCounted(t, 1, 1) // adapted twice, and the sessions of the enrollment are still the same

	b.enroll(t, who)
	b.requireCounted(t, 1, 3) // the earlier share was subtracted and the new one added

	service := recovery.New(b.store, b.clock, backgrounds.NewCounter(b.assessor))
	_, err := service.Begin(t.Context(), b.principal, "ada", recovery.Begin{Anchor: recovery.AnchorNone})
	require.NoError(t, err)
	b.requireCounted(t, 0, 4)
	require.Zero(t, b.count(t, "select count(*) from background_shares"))
}

func TestRevocationAndErasureSubtractThePerson(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(b *bundle, s *subject.Service) error{
		"revocation": func(b *bundle, s *subject.Service) error {
			_, err := s.Revoke(context.Background(), b.principal, "ada", "")
			return err
		},
		"erasure": func(b *bundle, s *subject.Service) error {
			_, err := s.Erase(context.Background(), b.principal, "ada")
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := learns(t)
			b.enroll(t, synthetic.NewTypist(7))
			b.requireCounted(t, 1, 1)
			b.clock.Advance(time.Hour)
			require.NoError(t, end(b, subject.New(b.store, b.keys, b.assessor, b.clock)))
			b.requireCounted(t, 0, 2)
			require.Zero(t, b.count(t, "select count(*) from background_shares"))
		})
	}
}
