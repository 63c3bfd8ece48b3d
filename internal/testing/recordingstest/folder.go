// Package recordingstest finds the recordings of people that tests measure on. Only tests may import it.
package recordingstest

import (
	"os"
	"testing"
)

const folderEnv = "COUNTERSIGN_TEST_DATA"

// Folder returns the folder of recordings that the environment names, or skips the test. make test DATA=folder sets it.
func Folder(t *testing.T) string {
	t.Helper()
	dir := os.Getenv(folderEnv)
	if dir == "" {
		t.Skip("there are no recordings: make test DATA=folder, or set " + folderEnv)
	}
	return dir
}
