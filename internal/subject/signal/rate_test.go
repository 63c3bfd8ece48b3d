package signal

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// An issuer has room for 100 tokens, which refills within a second; others have their own.
func TestRateOfAnIssuer(t *testing.T) {
	t.Parallel()
	r := rate{of: map[string]*bucket{}}
	now := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	for range perSecond {
		require.Zero(t, r.take("a", now))
	}
	require.Equal(t, time.Second, r.take("a", now))
	require.Zero(t, r.take("b", now))
	require.Zero(t, r.take("a", now.Add(20*time.Millisecond)))
	require.Zero(t, r.take("a", now.Add(20*time.Millisecond)))
	require.Equal(t, time.Second, r.take("a", now.Add(20*time.Millisecond)))
	require.Equal(t, time.Second, r.take("a", now), "a clock that goes back fills nothing")
}
