package dev_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/local/dev"
	"github.com/countersign-dev/countersign/internal/platform/durable"
	"github.com/countersign-dev/countersign/internal/platform/keyring"
)

// The second run of a folder is refused while the first has it, and names the process to stop.
func TestOneRunAFolder(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	first, err := dev.Acquire(dir)
	require.NoError(t, err)
	_, err = dev.Acquire(dir)
	require.ErrorContains(t, err, fmt.Sprintf("already runs on %s (process %d)", dir, os.Getpid()))
	inherited := duplicate(t, dir) // as by a process that is being started
	first.Release()
	again, err := dev.Acquire(dir)
	require.NoError(t, err)
	again.Release()
	require.NoError(t, syscall.Close(inherited))
}

// duplicate returns another descriptor of the open file in a folder. A lock of flock(2) belongs to the open file: it ends when all of the
// file's descriptors are closed, or when it is given up through any of them.
func duplicate(t *testing.T, dir string) int {
	t.Helper()
	open, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	for _, f := range open {
		if path, err := os.Readlink("/proc/self/fd/" + f.Name()); err == nil && filepath.Dir(path) == dir {
			fd, err := strconv.Atoi(f.Name())
			require.NoError(t, err)
			fd, err = syscall.Dup(fd)
			require.NoError(t, err)
			return fd
		}
	}
	require.Fail(t, "no file is open", dir)
	return 0
}

func TestFolderThatCannotBe(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err := dev.Acquire(filepath.Join(file, "data"))
	require.ErrorContains(t, err, "cannot be made")
}

func TestStateIsForTheOwnerOnly(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	none, err := dev.ReadState(dir)
	require.NoError(t, err)
	require.Zero(t, none)

	want := dev.State{BaseURL: "http://localhost:8080", Tenant: "tnt_x", Environments: dev.Environments{
		Live: dev.Keys{Environment: "env_x", ServerKey: "sk_live_x", AdminKey: "a", PublishableKey: "p"},
	}}
	require.NoError(t, dev.WriteState(dir, want))
	got, err := dev.ReadState(dir)
	require.NoError(t, err)
	require.Equal(t, want, got)
	info, err := os.Stat(dev.StatePath(dir))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())

	text, err := os.ReadFile(dev.StatePath(dir))
	require.NoError(t, err)
	for _, name := range []string{"base_url", "ops_url", "temporal_address", "temporal_ui", "database_url", "tenant", "environments",
		"sandbox", "live", "environment", "server_key", "admin_key", "publishable_key"} {
		require.Contains(t, string(text), `"`+name+`":`)
	}
	require.NoError(t, os.WriteFile(dev.StatePath(dir), text[:len(text)/2], 0o600))
	_, err = dev.ReadState(dir)
	require.ErrorContains(t, err, "is damaged")
}

func TestMasterKeyIsMadeOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first, err := dev.MasterKey(dir)
	require.NoError(t, err)
	_, err = keyring.Parse(first)
	require.NoError(t, err)
	again, err := dev.MasterKey(dir)
	require.NoError(t, err)
	require.Equal(t, strings.TrimSpace(first), strings.TrimSpace(again))
	info, err := os.Stat(filepath.Join(dir, "master.key"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())

	require.NoError(t, os.WriteFile(filepath.Join(dir, "master.key"), []byte("short"), 0o600))
	_, err = dev.MasterKey(dir)
	require.ErrorContains(t, err, "is damaged")
}

func TestListenTakesBothFamiliesOrAnotherPort(t *testing.T) {
	t.Parallel()
	first, port, err := dev.Listen(0)
	require.NoError(t, err)
	second, other, err := dev.Listen(port)
	require.NoError(t, err)
	require.NotEqual(t, port, other, "a taken port is replaced")
	for _, l := range append(first, second...) {
		host, _, err := net.SplitHostPort(l.Addr().String())
		require.NoError(t, err)
		require.Contains(t, []string{"127.0.0.1", "::1"}, host)
		require.NoError(t, l.Close())
	}
	free, err := dev.PickPort(port)
	require.NoError(t, err)
	require.NotZero(t, free)
}

// open is a temporary folder that every user may enter.
func open(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "countersign-dev-")
	require.NoError(t, err)
	require.NoError(t, os.Chmod(dir, 0o755))
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func TestStackKeepsItsData(t *testing.T) {
	t.Parallel()
	binary, err := filepath.Abs("../../../bin/devstack")
	require.NoError(t, err)
	if _, err := os.Stat(binary); err != nil {
		t.Skip("bin/devstack is not built: run make devstack")
	}
	var mu sync.Mutex
	var said []string
	o := dev.Options{Dir: open(t), Devstack: binary, SearchAttributes: []string{"CountersignKind"},
		Say: func(format string, args ...any) {
			mu.Lock()
			defer mu.Unlock()
			said = append(said, fmt.Sprintf(format, args...))
		}}
	for round := range 2 {
		o.Startup = durable.NewStartup()
		s, err := dev.Up(t.Context(), o)
		require.NoError(t, err, "%v", said)
		require.NotEmpty(t, s.TemporalAddress)
		require.Contains(t, s.TemporalUI, "http://localhost:")
		select {
		case <-o.Startup.Started():
		case err := <-s.Ended():
			require.NoError(t, err, "%v", said)
		}
		temporal, err := net.Dial("tcp", s.TemporalAddress)
		require.NoError(t, err)
		require.NoError(t, temporal.Close())
		conn, err := pgx.Connect(t.Context(), s.DatabaseURL)
		require.NoError(t, err)
		_, err = conn.Exec(t.Context(), "create table if not exists kept (n int)")
		require.NoError(t, err)
		var n int
		require.NoError(t, conn.QueryRow(t.Context(), "insert into kept values (1) returning (select count(*) from kept)").Scan(&n))
		require.Equal(t, round, n)
		require.NoError(t, conn.Close(t.Context()))
		require.NoError(t, s.Down())
	}
}

func TestMissingDevstackIsSaid(t *testing.T) {
	t.Parallel()
	_, err := dev.Up(t.Context(), dev.Options{
		Dir: t.TempDir(), Devstack: "/no/such/devstack", DatabaseURL: "postgres://given", Say: func(string, ...any) {},
	})
	require.ErrorContains(t, err, "run make devstack")
}

func TestGivenServersAreLeftAlone(t *testing.T) {
	t.Parallel()
	s, err := dev.Up(t.Context(), dev.Options{DatabaseURL: "postgres://given", TemporalAddress: "given:7233"})
	require.NoError(t, err)
	require.Equal(t, "postgres://given", s.DatabaseURL)
	require.Equal(t, "given:7233", s.TemporalAddress)
	require.NoError(t, s.Down())
}
