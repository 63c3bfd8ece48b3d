package chaos_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/proving/chaos"
)

func TestRepetitionsHaveAMedian(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lasted []time.Duration
		want   []chaos.Repeated
	}{
		"nothing": {nil, nil},
		"once":    {[]time.Duration{3}, nil},
		"an even number": {[]time.Duration{4, 1, 2, 9},
			[]chaos.Repeated{{Fault: "switch over", Times: 4, Shortest: 1, Median: 3, Longest: 9}}},
		"an odd number": {[]time.Duration{4, 1, 2},
			[]chaos.Repeated{{Fault: "switch over", Times: 3, Shortest: 1, Median: 2, Longest: 4}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			outages := []chaos.Outage{{Fault: "fill the primary's disk", Lasted: 7}}
			for _, d := range c.lasted {
				outages = append(outages, chaos.Outage{Fault: "switch over", Lasted: d})
			}
			require.Equal(t, c.want, chaos.Repetitions(outages))
		})
	}
}
