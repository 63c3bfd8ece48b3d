package localtime

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A zone means the same on every server, whatever its files and its TZ.
func FuzzZones(f *testing.F) {
	for _, name := range []string{"Local", "", "UTC", "Europe/Berlin", "../etc/passwd", "/etc/localtime", "posixrules", "right/UTC", "Etc/GMT+5", "Factory"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		zone, err := (&zoneCache{known: zones.known}).load(name)
		if err == nil {
			require.NotEqual(t, "Local", zone.String())
			require.Regexp(t, zoneName, name)
		}
	})
}
