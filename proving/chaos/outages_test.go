package chaos_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/proving/chaos"
)

func TestAnOutageIsAViolationIfItLastsTooLong(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lasted, returning time.Duration
		want              int
	}{
		"as long as allowed":      {3 * time.Second, 15 * time.Second, 0},
		"longer":                  {3*time.Second + time.Millisecond, 0, 1},
		"longer after the return": {0, 15*time.Second + time.Millisecond, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j, f := kept()
			j.Outages = []chaos.Outage{{Fault: "switch over", Lasted: c.lasted, Returning: c.returning, Limit: 3 * time.Second}}
			require.Len(t, chaos.Check(j, f), c.want)
		})
	}
}
