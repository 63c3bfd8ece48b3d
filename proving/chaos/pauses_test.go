package chaos

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTimeWithoutADecisionSumsThePauses(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		decided []int // milliseconds since the beginning
		want    int   // milliseconds
	}{
		"no decision at all":      {nil, 3000},
		"decisions all the time":  {[]int{-100, 0, 400, 800, 1200, 1600, 2000, 2400, 2800}, 0},
		"two pauses":              {[]int{400, 1400, 1500, 2600, 2700}, 2100},
		"a pause until the end":   {[]int{400, 800}, 2200},
		"decisions after the end": {[]int{400, 800, 1200, 1600, 2000, 2400, 2800, 9000}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := &Journal{}
			for _, ms := range c.decided {
				j.decided = append(j.decided, begin.Add(time.Duration(ms)*time.Millisecond))
			}
			require.Equal(t, time.Duration(c.want)*time.Millisecond, j.without(begin, begin.Add(3*time.Second)))
		})
	}
}
