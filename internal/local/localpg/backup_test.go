package localpg

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// run runs statements, each in a transaction of its own.
func run(t *testing.T, s *Server, statements ...string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), s.URL("postgres"))
	require.NoError(t, err)
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	for _, text := range statements {
		_, err := conn.Exec(t.Context(), text)
		require.NoError(t, err)
	}
}

// copied runs a test with each way to copy a running cluster.
func copied(t *testing.T, test func(t *testing.T, prepare func(s *Server))) {
	t.Helper()
	for name, prepare := range map[string]func(t *testing.T, s *Server){
		"by pg_basebackup": func(*testing.T, *Server) {},
		"without it":       func(t *testing.T, s *Server) { t.Helper(); s.programs = t.TempDir() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, func(s *Server) { prepare(t, s) })
		})
	}
}

func TestRestoreEndsAtThePoint(t *testing.T) {
	t.Parallel()
	copied(t, restoreEndsAtThePoint)
}

func restoreEndsAtThePoint(t *testing.T, prepare func(s *Server)) {
	t.Helper()
	dir := folder(t)
	archive := filepath.Join(filepath.Dir(dir), "archive")
	s, err := Start(t.Context(), Options{Dir: dir, Archive: archive, Settings: []string{"fsync=off"}})
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Stop() })
	prepare(s)
	run(t, s, "create table n (n int)", "insert into n values (1)")
	base, err := s.BaseBackup(t.Context(), filepath.Join(filepath.Dir(dir), "backups"), "first")
	require.NoError(t, err)
	run(t, s, "insert into n values (2)", "select pg_create_restore_point('noon')", "insert into n values (3)", "select pg_switch_wal()")
	require.Eventually(t, func() bool {
		return query[bool](t, s, "postgres", "select count(*) > 0 and bool_or(last_archived_wal >= pg_walfile_name(pg_current_wal_lsn() - 1)) from pg_stat_archiver")
	}, 30*time.Second, 50*time.Millisecond)
	require.NoError(t, s.Stop())

	restored, err := s.Restore(t.Context(), Options{Dir: dir + "-2", Archive: archive, Port: s.Port()}, Recovery{Base: base, Point: "noon"})
	require.NoError(t, err)
	t.Cleanup(func() { _ = restored.Stop() })
	require.Equal(t, s.URL("x"), restored.URL("x"))
	require.Equal(t, int64(3), query[int64](t, restored, "postgres", "select sum(n) from n"), "what was written before the point, and nothing after it")
	run(t, restored, "insert into n values (4)")

	_, err = s.Restore(t.Context(), Options{Dir: dir + "-3"}, Recovery{Base: base, Point: "never"})
	require.ErrorContains(t, err, "recovery ended before configured recovery target was reached")
	_, err = s.Restore(t.Context(), Options{Dir: dir}, Recovery{Base: base, Point: "noon"})
	require.ErrorContains(t, err, "contains a database already")
}

func TestStandbyFollowsUntilItIsPromoted(t *testing.T) {
	t.Parallel()
	copied(t, standbyFollowsUntilItIsPromoted)
}

func standbyFollowsUntilItIsPromoted(t *testing.T, prepare func(s *Server)) {
	t.Helper()
	dir := folder(t)
	s, _ := begin(t, dir, 0)
	prepare(s)
	run(t, s, "create table n (n int)")
	standby, err := s.Standby(t.Context(), Options{Dir: dir + "-2", Ephemeral: true})
	require.NoError(t, err)
	t.Cleanup(func() { _ = standby.Stop() })
	require.True(t, query[bool](t, standby, "postgres", "select pg_is_in_recovery()"))
	run(t, s, "insert into n values (1)")
	require.Eventually(t, func() bool { return query[int64](t, standby, "postgres", "select count(*) from n") == 1 }, 10*time.Second, 20*time.Millisecond)
	require.NoError(t, standby.Promote(t.Context()))
	run(t, standby, "insert into n values (2)")
}
