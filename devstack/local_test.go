package main

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestDatabaseURL_ChangesOnlyTheName(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ base, want string }{
		{"postgres://u:p%40ss@h:5432/a?sslmode=disable", "postgres://u:p%40ss@h:5432/tem%20poral?sslmode=disable"},
		{"postgres://u@h", "postgres://u@h/tem%20poral"},
		{"postgres:///a?host=/run/pg&port=5433", "postgres:///tem%20poral?host=/run/pg&port=5433"},
	} {
		got, err := databaseURL(c.base, "tem poral")
		require.NoError(t, err)
		require.Equal(t, c.want, got)
	}
}

func TestConnectServer_NamesServerAndHidesPassword(t *testing.T) {
	t.Parallel()
	l, err := listen(loopback, 0)
	require.NoError(t, err)
	closed := l.Addr().String()
	require.NoError(t, l.Close())
	_, err = connectServer(t.Context(), "postgres://u:hunter2@"+closed+"/x", 0)
	require.ErrorContains(t, err, "Postgres at "+closed)
	require.NotContains(t, err.Error(), "hunter2")
	require.NotContains(t, err.Error(), "\n")
}

func TestReservations_NameFlagOfPortInUse(t *testing.T) {
	t.Parallel()
	l, err := listen(loopback, 0)
	require.NoError(t, err)
	defer func() { _ = l.Close() }()
	var r reservations
	_, err = r.reserve(l.Addr().(*net.TCPAddr).Port, "frontend-port")
	require.ErrorContains(t, err, "--frontend-port")
	require.ErrorContains(t, err, "address already in use")
}

func TestReservations_HoldPortUntilReleased(t *testing.T) {
	t.Parallel()
	var r reservations
	port, err := r.reserve(0, "frontend-port")
	require.NoError(t, err)
	_, err = listen(loopback, port)
	require.Error(t, err)
	r.release()
	l, err := listen(loopback, port)
	require.NoError(t, err)
	require.NoError(t, l.Close())
}

func TestListenUI_ListensOnBothFamiliesOrNone(t *testing.T) {
	t.Parallel()
	if !hasIPv6() {
		t.Skip("this machine has no IPv6 loopback address")
	}
	v6, err := listen("::1", 0)
	require.NoError(t, err)
	defer func() { _ = v6.Close() }()
	port := v6.Addr().(*net.TCPAddr).Port
	_, err = listenUI(loopback, port)
	require.ErrorContains(t, err, "--ui-port")
	v4, err := listen(loopback, port)
	require.NoError(t, err, "the IPv4 port must have been released")
	require.NoError(t, v4.Close())
}

func TestReadyFile_IsWrittenAtomicallyAndRemoved(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ready.json")
	require.NoError(t, removeReady(path), "a missing file is no error")
	require.NoError(t, os.WriteFile(path, []byte("left by an earlier run, and longer than what replaces it ............"), 0o600))
	require.NoError(t, writeReady(path, endpoints{Frontend: "127.0.0.1:1", UI: "http://localhost:2"}))
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.JSONEq(t, `{"frontend":"127.0.0.1:1","ui":"http://localhost:2"}`, string(text))
	left, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Len(t, left, 1, "no temporary file remains")
	require.NoError(t, removeReady(path))
	require.NoFileExists(t, path)
}

func TestWatchParent_ReportsEnd(t *testing.T) {
	t.Parallel()
	watched := exec.Command("sleep", "60")
	require.NoError(t, watched.Start())
	require.True(t, alive(watched.Process.Pid, false))
	ended := make(chan struct{})
	go watchParent(t.Context(), watched.Process.Pid, func() { close(ended) })
	select {
	case <-ended:
		require.Fail(t, "a running process was reported as ended")
	default:
	}
	require.NoError(t, watched.Process.Kill())
	require.Error(t, watched.Wait())
	select {
	case <-ended:
	case <-time.After(20 * parentCheckEvery):
		require.Fail(t, "the end of the process was not reported")
	}
}

func TestWatchParent_ReturnsWhenContextEnds(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	watchParent(ctx, os.Getpid(), func() { require.Fail(t, "this process has not ended") })
}
