package progress_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// terminal opens a pseudo terminal: what is written to screen is returned by read, which ends it.
func terminal(t *testing.T) (screen *os.File, read func() string) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("the machine has no pseudo terminals: " + err.Error())
	}
	require.NoError(t, unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	require.NoError(t, err)
	screen, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, master.Close()) })
	return screen, func() string {
		require.NoError(t, screen.Close())
		text := make([]byte, 1<<16)
		all := ""
		for {
			n, err := master.Read(text)
			all += string(text[:n])
			if err != nil { // EIO: the other side is closed and everything is read
				return all
			}
		}
	}
}
