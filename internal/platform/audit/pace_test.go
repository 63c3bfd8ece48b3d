package audit

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A quiet log is read once in the pause that was asked for; in a busy one the rounds come to seal paceAt events each.
func TestRoundsArePaced(t *testing.T) {
	t.Parallel()
	for _, rate := range []int{0, 1, 50, 99, 150, 700, 1000} {
		pause := time.Second
		sealed := 0
		for range 20 {
			sealed = int(float64(rate) * pause.Seconds())
			pause = paced(pause, time.Second, sealed)
			require.GreaterOrEqual(t, pause, time.Second/10)
			require.LessOrEqual(t, pause, time.Second)
		}
		require.LessOrEqual(t, sealed, paceAt+1, "%d events a second", rate)
		if rate < paceAt {
			require.Equal(t, time.Second, pause)
		}
	}
	require.Equal(t, time.Second, paced(time.Second/10, time.Second, 0), "the log is quiet again")
}
