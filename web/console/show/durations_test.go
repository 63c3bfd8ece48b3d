package show

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDurationsAreReadAsTheyAreWritten(t *testing.T) {
	t.Parallel()
	for n, text := range map[int]string{30: "30 s", 90: "90 s", 300: "5 min", 5400: "90 min", 86400: "1 day", 259200: "3 days", 28800: "8 h"} {
		require.Equal(t, text, Duration(n))
		got, err := ParseDuration(text)
		require.NoError(t, err)
		require.Equal(t, n, got)
	}
	for text, n := range map[string]int{"300": 300, "15min": 900, "15 minutes": 900, "3 Days": 259200, "1 day": 86400, "2 hours": 7200, "10 seconds": 10, "2d": 172800} {
		got, err := ParseDuration(text)
		require.NoError(t, err)
		require.Equal(t, n, got, text)
	}
	for _, text := range []string{"", "soon", "-5 min", "1.5 h", "5 weeks", "min", "9999999999"} {
		_, err := ParseDuration(text)
		require.Error(t, err, text)
	}
}
