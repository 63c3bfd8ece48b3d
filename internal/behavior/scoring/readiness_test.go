package scoring

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReadiness(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		keys               []int
		ready, provisional bool
		limitation         string
	}{
		"nothing":                 {nil, false, false, ReasonTooLittle},
		"one short session":       {[]int{249}, false, false, ReasonTooLittle},
		"one long session":        {[]int{250}, false, true, ReasonProvisional},
		"two sessions":            {[]int{100, 100}, false, true, ReasonProvisional},
		"one enough, one not":     {[]int{150, 99}, false, false, ReasonTooLittle},
		"three sessions":          {[]int{100, 100, 100}, true, false, ""},
		"three, one of them thin": {[]int{100, 300, 20}, false, true, ReasonProvisional},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var amounts []SessionAmount
			for _, k := range c.keys {
				amounts = append(amounts, SessionAmount{Keys: k})
			}
			r := Ready(amounts)
			require.Equal(t, c.ready, r.Ready)
			require.Equal(t, c.provisional, r.Provisional)
			if c.limitation == "" {
				require.Empty(t, r.Limitations)
			} else {
				require.Equal(t, []string{c.limitation}, r.Limitations)
			}
		})
	}
}
