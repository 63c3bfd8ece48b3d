//go:build !race

package authorization_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// decisionAllocations is the number of objects of an allowed decision with its proof, from the request to the response, with those
// of the driver and without those of HTTP.
const decisionAllocations = 1043

// Not in parallel: the allocations of the whole process are counted. Not with the race detector, which empties pools at random.
// Fewer allocations fail as well, so that the number is lowered with them.
func TestDecisionsAllocateTheSame(t *testing.T) {
	b := setup(t, allowing)
	found := testing.AllocsPerRun(50, func() {
		_, err := b.Authorize(t.Context(), b.principal, b.request(), b.clock.Now())
		require.NoError(t, err)
	})
	require.InEpsilon(t, decisionAllocations, found, 0.05)
}
