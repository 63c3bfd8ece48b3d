//go:build !linux

package progress_test

import (
	"os"
	"testing"
)

func terminal(t *testing.T) (screen *os.File, read func() string) {
	t.Helper()
	t.Skip("pseudo terminals are opened on Linux only")
	return nil, nil
}
