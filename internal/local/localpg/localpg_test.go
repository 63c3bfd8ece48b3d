package localpg

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// sayings collects what the person at the keyboard would have read.
type sayings struct {
	mu    sync.Mutex
	lines []string
}

func (s *sayings) say(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = append(s.lines, fmt.Sprintf(format, args...))
}

func (s *sayings) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.lines, "\n")
}

func begin(t *testing.T, dir string, port int) (*Server, *sayings) {
	t.Helper()
	var said sayings
	s, err := Start(t.Context(), Options{Dir: dir, Port: port, Ephemeral: true, Say: said.say})
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Stop() })
	return s, &said
}

// folder is a temporary folder that every user may enter, as .data in a checkout is.
func folder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "localpg")
	require.NoError(t, err)
	require.NoError(t, os.Chmod(dir, 0o755)) // #nosec G302 -- the server's user passes through
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return filepath.Join(dir, "postgres")
}

func query[T any](t *testing.T, s *Server, database, text string) T {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), s.URL(database))
	require.NoError(t, err)
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	var v T
	require.NoError(t, conn.QueryRow(t.Context(), text).Scan(&v))
	return v
}

func TestDataOutlivesStopAndKill(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	s, said := begin(t, dir, 0)
	require.Contains(t, said.String(), "making a Postgres")
	require.NoError(t, s.Create(t.Context(), "kept"))
	require.NoError(t, s.Create(t.Context(), "kept"), "a database that is there is left alone")
	require.Equal(t, int64(1), query[int64](t, s, "kept", "with x as (select 1) select count(*) from x"))
	require.NoError(t, s.Stop())

	s, said = begin(t, dir, 0)
	require.Empty(t, said.String(), "nothing to say about an ordinary start")
	require.True(t, query[bool](t, s, "postgres", "select exists (select from pg_database where datname = 'kept')"))
	require.NoError(t, syscall.Kill(s.PID(), syscall.SIGKILL))
	<-s.Done()

	s, _ = begin(t, dir, 0)
	require.True(t, query[bool](t, s, "postgres", "select exists (select from pg_database where datname = 'kept')"))
}

func TestDurabilityIsOnlyGivenUpByEphemeralClusters(t *testing.T) {
	t.Parallel()
	c := &cluster{}
	lasting := strings.Join(c.settings(5432), " ")
	require.NotContains(t, lasting, "fsync")
	require.NotContains(t, lasting, "synchronous_commit")
	c.Ephemeral = true
	require.Contains(t, strings.Join(c.settings(5432), " "), "fsync=off")
}

func TestTakenPortIsReplaced(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = l.Close() }()
	taken := l.Addr().(*net.TCPAddr).Port
	s, _ := begin(t, folder(t), taken)
	require.NotEqual(t, taken, s.Port())
}

func TestHalfMadeFolderIsMovedAside(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	data := filepath.Join(dir, "data")
	require.NoError(t, os.MkdirAll(filepath.Join(data, "base"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(data, "PG_VERSION"), []byte("15\n"), 0o600))
	require.NoError(t, os.MkdirAll(data+".new", 0o755)) // what a killed initdb leaves
	_, said := begin(t, dir, 0)
	require.Contains(t, said.String(), "moved to "+data+".damaged-1")
	require.FileExists(t, filepath.Join(data+".damaged-1", "PG_VERSION"))
	require.NoDirExists(t, data+".new")
}

func TestLeftoverPidFiles(t *testing.T) {
	t.Parallel()
	for name, pid := range map[string]string{
		"dead process":  "4194300",
		"other program": strconv.Itoa(os.Getpid()),
		"no number":     "what",
		"empty":         "",
		"negative":      "-1",
		"init":          "1",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := t.TempDir()
			path := filepath.Join(data, "postmaster.pid")
			require.NoError(t, os.WriteFile(path, []byte(pid+"\n"+data+"\n"), 0o600))
			var said sayings
			require.NoError(t, clearPidFile(t.Context(), data, said.say))
			require.NoFileExists(t, path)
			require.Contains(t, said.String(), "left over")
		})
	}
}

func TestOrphanedServerIsStopped(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	first, _ := begin(t, dir, 0)
	second, said := begin(t, dir, 0)
	require.Contains(t, said.String(), "earlier run")
	<-first.Done()
	require.Equal(t, "on", query[string](t, second, "postgres", "select 'on'"))
}

func TestMissingPasswordIsSaid(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	s, _ := begin(t, dir, 0)
	require.NoError(t, s.Stop())
	require.NoError(t, os.Remove(filepath.Join(s.Dir(), "password")))
	_, err := Start(t.Context(), Options{Dir: dir, Ephemeral: true})
	require.ErrorContains(t, err, "password of the database")
}

func TestUnreachableFolderHasAStandIn(t *testing.T) {
	t.Parallel()
	as, err := runAs()
	require.NoError(t, err)
	if as == nil {
		t.Skip("only root has Postgres run by another user")
	}
	closed := t.TempDir()
	require.NoError(t, os.Chmod(closed, 0o700)) // #nosec G302 -- closed to other users
	var said sayings
	dir, err := settle(t.Context(), filepath.Join(closed, "pg"), as, said.say)
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	require.False(t, strings.HasPrefix(dir, closed))
	require.Contains(t, said.String(), as.Name)
	again, err := settle(t.Context(), filepath.Join(closed, "pg"), as, said.say)
	require.NoError(t, err)
	require.Equal(t, dir, again, "the same folder has the same stand-in")
}

func TestVersionOfTheClusterDecidesTheBinaries(t *testing.T) {
	t.Parallel()
	_, err := find(t.Context(), 9)
	require.ErrorContains(t, err, "made by PostgreSQL 9")
}

func TestNamedFolderIsTheOnlyInstallation(t *testing.T) {
	t.Setenv(BinariesEnv, "")
	all := installed(t.Context())
	require.NotEmpty(t, all)
	t.Setenv(BinariesEnv, all[0].dir)
	require.Equal(t, all[:1], installed(t.Context()))
	t.Setenv(BinariesEnv, t.TempDir())
	_, err := Start(t.Context(), Options{Dir: folder(t), Ephemeral: true})
	require.ErrorContains(t, err, BinariesEnv+" is")
	require.ErrorContains(t, err, "initdb and postgres")
}

func TestStartEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Nanosecond)
	defer cancel()
	_, err := Start(ctx, Options{Dir: folder(t), Ephemeral: true})
	require.Error(t, err)
}
