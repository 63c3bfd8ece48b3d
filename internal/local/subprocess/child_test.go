package subprocess

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// asParent makes this test binary the parent in TestOrphansEnd: it starts a child, prints its pid and waits to be killed.
const asParent = "CHILD_TEST_PARENT"

func TestMain(m *testing.M) {
	if os.Getenv(asParent) == "" {
		os.Exit(m.Run())
	}
	p, err := Start(Spec{Path: "/bin/sleep", Args: []string{"600"}, Orphaned: syscall.SIGTERM})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(p.PID())
	<-p.Done()
}

func TestStopAsksFirst(t *testing.T) {
	t.Parallel()
	p, err := Start(Spec{Path: "/bin/sleep", Args: []string{"600"}})
	require.NoError(t, err)
	require.NoError(t, p.Err(), "it runs")
	require.NoError(t, p.Stop(syscall.SIGTERM, time.Minute))
	require.ErrorContains(t, p.Err(), "terminated")
	require.NoError(t, p.Stop(syscall.SIGTERM, time.Minute), "stopping twice is once")
}

func TestStopKillsTheDeaf(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	p, err := Start(Spec{Path: "/bin/sh", Args: []string{"-c", "trap '' TERM; echo deaf; while :; do sleep 1; done"}, Output: w})
	require.NoError(t, err)
	_, err = bufio.NewReader(r).ReadString('\n')
	require.NoError(t, err)
	require.ErrorContains(t, p.Stop(syscall.SIGTERM, time.Millisecond), "killed")
}

func TestMissingProgram(t *testing.T) {
	t.Parallel()
	_, err := Start(Spec{Path: "/no/such/program"})
	require.ErrorContains(t, err, "/no/such/program cannot be started")
	require.Error(t, Run(t.Context(), Spec{Path: "/no/such/program"}))
}

func TestRunTellsTheLastLine(t *testing.T) {
	t.Parallel()
	err := Run(t.Context(), Spec{Path: "/bin/sh", Args: []string{"-c", "echo first; echo the reason >&2; exit 3"}})
	require.ErrorContains(t, err, "the reason")
	require.NotContains(t, err.Error(), "first")
}

func TestRunEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, Run(ctx, Spec{Path: "/bin/sleep", Args: []string{"600"}}), context.DeadlineExceeded)
}

func TestOrphansEnd(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux signals a child whose parent has died")
	}
	parent := exec.Command(os.Args[0]) // #nosec G204 -- this very binary
	parent.Env = append(os.Environ(), asParent+"=1")
	out, err := parent.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, parent.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	require.NoError(t, err)
	require.NoError(t, parent.Process.Kill())
	_ = parent.Wait()
	ended := func() bool {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		return err != nil || strings.Contains(string(stat), ") Z ")
	}
	require.Eventually(t, ended, time.Minute, 10*time.Millisecond)
}
