package template_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/behavior/synthetic"
	"github.com/countersign-dev/countersign/internal/subject/template"
)

// An attacker with the owner's session drifts from the owner's typing to their own by one per cent a day, and then types as
// themselves, for 200 sessions. Through the whole service, the adapted template stays near the enrollment, the attacker is
// not confirmed at the end, and the owner still is.
func TestAdaptBoundsSlowPoisoning(t *testing.T) {
	t.Parallel()
	b := setup(t)
	owner, other := synthetic.NewTypist(7), synthetic.NewTypist(907)
	b.enroll(t, owner)
	require.NotContains(t, trustedStatuses, b.continuity(t, typed(other, 5)), "the two must differ at the start")

	const sessions = 200
	adapted, lastAdapted := 0, 0
	for step := range sessions {
		walker := owner.Towards(other, min(1, float64(step+1)/100))
		if _, out := b.day(t, typed(walker, 4)); out.Status == template.Adapted {
			adapted++
			lastAdapted = step
		}
	}
	require.Greater(t, adapted, 5, "the template must have adapted to the drift for some time")
	require.Less(t, lastAdapted, 90, "and must stop before the attacker types as themselves")
	require.NotEqual(t, "confirmed", b.continuity(t, typed(other, 5)))
	rows := b.versions(t)
	require.LessOrEqual(t, len(rows), 1+8+1, "old versions are deleted, but not the enrollment's")
	require.Equal(t, 1, rows[len(rows)-1].Version)

	trusted := 0
	for range 5 {
		if s := b.continuity(t, typed(owner, 5)); s == "confirmed" || s == "likely" {
			trusted++
		}
	}
	require.GreaterOrEqual(t, trusted, 4, "the owner must still be trusted")
}

var trustedStatuses = []string{"confirmed", "likely"}
