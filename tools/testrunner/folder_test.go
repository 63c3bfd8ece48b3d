package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAvailableMemory(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, meminfo string
		want          uint64
	}{
		{"Linux", "MemTotal:       24683656 kB\nMemFree:        18690792 kB\nMemAvailable:   22190792 kB\nBuffers:           63972 kB\n", 22190792 << 10},
		{"not named", "MemTotal:       24683656 kB\n", 0},
		{"not a number", "MemAvailable:   much kB\n", 0},
		{"empty", "", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, available([]byte(c.meminfo)))
		})
	}
}

// Files in memory need a shorter log, and files on a disk keep the settings of an ephemeral server.
func TestPlaceOfTheServers(t *testing.T) {
	t.Parallel()
	dir, settings := databaseFolder(1 << 30)
	require.DirExists(t, dir)
	if dir == memory {
		require.Equal(t, inMemory, settings)
		dir, settings = databaseFolder(1 << 60)
	}
	require.Equal(t, os.TempDir(), dir)
	require.Empty(t, settings)
}
