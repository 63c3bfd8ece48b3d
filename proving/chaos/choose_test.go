package chaos

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFaultsAreChosenByName(t *testing.T) {
	t.Parallel()
	all := []machineFault{{name: "kill -9 the primary's machine"}, {name: "kill -9 the primary's Postgres"}, {name: "switch over"}}
	for name, c := range map[string]struct {
		only string
		want int
	}{
		"all":          {"", 3},
		"several":      {"kill -9", 2},
		"a whole name": {"switch over", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			chosen, err := choose(all, c.only)
			require.NoError(t, err)
			require.Len(t, chosen, c.want)
		})
	}
	_, err := choose(all, "flood")
	require.EqualError(t, err, `no fault is named "flood": use a part of one of these: kill -9 the primary's machine; kill -9 the primary's Postgres; switch over`)
}
