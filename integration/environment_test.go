package integration_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestUpdateEnvironment(t *testing.T) {
	t.Parallel()
	made := newTenant(t)
	w := made.Sandbox
	const path = "/api/v1/environment"
	before := w.Admin.get(t, path).is(200)
	require.Equal(t, w.ID, before.string("id"))
	require.Equal(t, "localhost", before.string("rp_id"))
	require.InDelta(t, 300, before.value("challenge_ttl_seconds"), 0)
	require.InDelta(t, 259200, before.value("hold_ttl_seconds"), 0)

	changed := w.Admin.patch(t, path, object{"rp_name": "Alder Bank", "origins": []string{"http://localhost:9999"}, "hold_ttl_seconds": 3600}).is(200)
	require.Equal(t, "Alder Bank", changed.string("rp_name"))
	require.Equal(t, []string{"http://localhost:9999"}, changed.strings("origins"))
	require.InDelta(t, 3600, changed.value("hold_ttl_seconds"), 0)
	require.InDelta(t, 300, changed.value("challenge_ttl_seconds"), 0, "what is left out stays")
	require.Equal(t, 1, count(t, "select count(*) from events where environment_id = $1 and type = 'environment.updated'", w.ID))

	for name, origins := range map[string][]string{
		"of another host": {"https://evil.example.com"}, "no origin": {"localhost"}, "with a path": {"http://localhost/x"},
	} {
		require.Equal(t, []string{`["body","origins",0] value_error`}, w.Admin.patch(t, path, object{"origins": origins}).faults(), name)
	}
	live := made.Live.Admin.patch(t, path, object{"origins": []string{"http://localhost:8080"}})
	require.Equal(t, []string{`["body","origins",0] value_error`}, live.faults(), "live has no origin of this machine")
	require.Equal(t, changed.strings("origins"), w.Admin.get(t, path).is(200).strings("origins"), "what is refused changes nothing")
}
