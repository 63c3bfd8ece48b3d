package template_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/behavior/synthetic"
	"github.com/countersign-dev/countersign/internal/subject/template"
)

// Somebody who holds the owner's session drifts from the owner's typing to his own by one per cent a day, and keeps on as
// himself: 200 sessions. Through the whole service: what is taken in stays near the enrolment, the other is not confirmed at the
// end, and the owner still is.
func TestSlowPoisoningThroughTheServiceIsBounded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	owner, other := synthetic.NewTypist(7), synthetic.NewTypist(907)
	b.enroll(t, owner)
	require.NotContains(t, trustedStatuses, b.continuity(t, typed(other, 5)), "the two must differ to begin with")

	const sessions = 200
	adapted, lastAdapted := 0, 0
	for step := range sessions {
		walker := owner.Towards(other, min(1, float64(step+1)/100))
		if _, out := b.day(t, typed(walker, 4)); out.Status == template.Adapted {
			adapted++
			lastAdapted = step
		}
	}
	require.Greater(t, adapted, 5, "the drift must have been taken in for a while")
	require.Less(t, lastAdapted, 90, "and no more before he is himself")
	require.NotEqual(t, "confirmed", b.continuity(t, typed(other, 5)))
	rows := b.versions(t)
	require.LessOrEqual(t, len(rows), 1+8+1, "old versions are forgotten, the enrolment's is not")
	require.Equal(t, 1, rows[len(rows)-1].Version)

	trusted := 0
	for range 5 {
		if s := b.continuity(t, typed(owner, 5)); s == "confirmed" || s == "likely" {
			trusted++
		}
	}
	require.GreaterOrEqual(t, trusted, 4, "the owner must still be taken for the owner")
}

var trustedStatuses = []string{"confirmed", "likely"}
