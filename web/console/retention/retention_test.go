package retention

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestDaysAreWords(t *testing.T) {
	t.Parallel()
	for n, says := range map[int]string{0: "without limit, until the subject is erased", 1: "1 day", 90: "90 days", 400: "400 days", 2555: "2555 days, some 7 years"} {
		require.Equal(t, says, days(time.Duration(n)*24*time.Hour))
	}
}
