package cluster

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWholeSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	complete := func() []state {
		return []state{{"pg1", leader, "running", 3, nil}, {"pg2", synchronous, "running", 3, 0.0}, {"pg3", synchronous, "streaming", 3, 0.0}}
	}
	require.NoError(t, whole(complete()))
	for name, c := range map[string]struct {
		harm func(m []state) []state
		want string
	}{
		"two members":            {func(m []state) []state { return m[:2] }, "the members are"},
		"one is not synchronous": {func(m []state) []state { m[1].Role = "replica"; return m }, "the members are"},
		"no primary":             {func(m []state) []state { m[0].Role, m[0].Lag = "replica", 0.0; return m }, "the members are"},
		"one starts":             {func(m []state) []state { m[2].State = "starting"; return m }, "pg3 is starting"},
		"one is in the past":     {func(m []state) []state { m[2].Timeline = 2; return m }, "timeline"},
		"one lags":               {func(m []state) []state { m[2].Lag = 2e6; return m }, "lags"},
		"the lag is not known":   {func(m []state) []state { m[1].Lag = "unknown"; return m }, "lags"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.ErrorContains(t, whole(c.harm(complete())), c.want)
		})
	}
}
