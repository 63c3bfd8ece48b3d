package evaluations

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNewChart(t *testing.T) {
	t.Parallel()
	c := newChart("Decisions", "None.", map[string]int64{"deny": 1, "allow": 3, "hold": 0}, "allow", "hold", "deny")
	require.Equal(t, int64(4), c.Total)
	require.Equal(t, []string{"allow", "hold", "deny"}, []string{c.Bars[0].Label, c.Bars[1].Label, c.Bars[2].Label})
	require.Equal(t, "75.0 %", c.Bars[0].Share)
	require.Equal(t, barSpace, c.Bars[0].Width)
	require.Equal(t, "allow 3, hold 0, deny 1", c.Summary)
	require.Zero(t, newChart("Outcomes", "None.", nil).Total)
	ms := int64(7)
	require.Equal(t, int64(7), latency(map[string]*int64{"p50": &ms, "p95": nil}).Total)
}
