package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func slackOfThread(t *testing.T) time.Duration {
	t.Helper()
	ns, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
	require.NoError(t, err)
	return time.Duration(ns)
}

// relaxedEnv makes this test's process the one whose timers are relaxed.
const relaxedEnv = "COUNTERSIGN_TEST_RELAX_TIMERS"

func TestTimersOfAllThreadsAreRelaxed(t *testing.T) {
	if os.Getenv(relaxedEnv) != "" {
		require.NoError(t, relaxTimers())
		// A thread that is made by others than the one that executed the binary.
		found := make(chan time.Duration)
		go func() {
			runtime.LockOSThread() // it ends with its thread, so that a new one is made
			found <- slackOfThread(t)
		}()
		fmt.Printf("process %d, slack %v and %v\n", os.Getpid(), slackOfThread(t), <-found)
		return
	}
	runtime.LockOSThread() // a process inherits the slack of the thread that makes it
	defer runtime.UnlockOSThread()
	given := slackOfThread(t)
	for _, tt := range []struct {
		name   string
		is     time.Duration
		result time.Duration
	}{
		{"the usual slack", usualSlack, slack},
		{"a slack that the operator set", 70 * time.Microsecond, 70 * time.Microsecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			require.NoError(t, unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(tt.is), 0, 0, 0))
			defer func() { require.NoError(t, unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(given), 0, 0, 0)) }()
			cmd := exec.Command(os.Args[0], "-test.run=^TestTimersOfAllThreadsAreRelaxed$")
			cmd.Env = append(os.Environ(), relaxedEnv+"=1")
			var out strings.Builder
			cmd.Stdout, cmd.Stderr = &out, &out
			require.NoError(t, cmd.Start())
			require.NoError(t, cmd.Wait(), out.String())
			require.Contains(t, out.String(), fmt.Sprintf("process %d, slack %v and %v\n", cmd.Process.Pid, tt.result, tt.result))
		})
	}
}

// Commands that end soon are not executed twice.
func TestTimersOfServersAreRelaxed(t *testing.T) {
	for line, want := range map[string]bool{
		"serve": true, "worker": true, "serve --listen :8080": true, "--quiet worker": true, "migrate": false, "": false, "dev": false, "unknown": false,
		"tenant list": false,
	} {
		t.Run(line, func(t *testing.T) { require.Equal(t, want, serves(root(), strings.Fields(line))) })
	}
}
