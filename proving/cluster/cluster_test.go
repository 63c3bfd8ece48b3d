package cluster_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/proving/cluster"
)

const (
	patience = time.Minute
	tick     = 50 * time.Millisecond
)

// up starts a cluster with a database. It needs packages that make test does not install.
func up(t *testing.T) *cluster.Cluster {
	t.Helper()
	if os.Getenv("COUNTERSIGN_TEST_HA") == "" {
		t.Skip("needs Patroni, etcd and HAProxy: make test-ha")
	}
	dir, err := os.MkdirTemp("", "countersign-cluster-")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	require.NoError(t, os.Chmod(dir, 0o755)) // #nosec G302 -- the user that Postgres runs as passes through
	c, err := cluster.Up(t.Context(), cluster.Options{Dir: filepath.Join(dir, "cluster"), Disk: 1024, Say: t.Logf})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Down()) })
	require.NoError(t, c.Create(t.Context(), "countersign"))
	return c
}

// The service finds the primary through HAProxy before and after the primary's machine is lost, with what was committed, and a
// standby is refused.
func TestClusterSurvivesTheLossOfItsPrimary(t *testing.T) {
	c := up(t)
	require.Eventually(t, func() bool { // a standby has flushed the new database when it is made, and applies it later
		_, err := pg.Open(t.Context(), c.StandbyURL("countersign"), pg.Options{})
		return err != nil && strings.Contains(err.Error(), "only reads")
	}, patience, tick)

	st, err := pg.Open(t.Context(), c.URL("countersign"), pg.Options{})
	require.NoError(t, err)
	t.Cleanup(st.Close)
	_, err = st.Pool().Exec(t.Context(), "create table kept as select 1 as n")
	require.NoError(t, err)
	standby, err := pgx.Connect(t.Context(), c.StandbyURL("countersign"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = standby.Close(context.WithoutCancel(t.Context())) })
	var standing bool
	require.NoError(t, standby.QueryRow(t.Context(), "select pg_is_in_recovery()").Scan(&standing))
	require.True(t, standing)

	lost, err := c.Primary(t.Context())
	require.NoError(t, err)
	lost.Kill()
	require.Eventually(t, func() bool {
		_, err := st.Pool().Exec(t.Context(), "insert into kept values (2)")
		return err == nil
	}, patience, tick)
	require.NoError(t, lost.Start())
	require.NoError(t, c.AwaitWhole(t.Context()))
	now, err := c.Primary(t.Context())
	require.NoError(t, err)
	require.NotEqual(t, lost.Name, now.Name)
	var rows int
	require.NoError(t, st.Pool().QueryRow(t.Context(), "select count(*) from kept where n = 1").Scan(&rows))
	require.Equal(t, 1, rows)
}

// A service that names every member needs no HAProxy, and a listener connects again by itself.
func TestSwitchoverMakesASynchronousStandbyThePrimary(t *testing.T) {
	c := up(t)
	st, err := pg.Open(t.Context(), c.DirectURL("countersign"), pg.Options{})
	require.NoError(t, err)
	t.Cleanup(st.Close)
	heard, connected := make(chan string, 100), make(chan bool, 100)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go st.Listen(ctx, []string{pg.ChannelPolicy}, func(_, payload string) {
		if payload == "" {
			connected <- true
		} else {
			heard <- payload
		}
	})
	<-connected
	former, err := c.Primary(t.Context())
	require.NoError(t, err)
	require.NoError(t, c.Switchover(t.Context()))
	require.NoError(t, c.AwaitWhole(t.Context()))
	now, err := c.Primary(t.Context())
	require.NoError(t, err)
	require.NotEqual(t, former.Name, now.Name)
	<-connected
	require.Eventually(t, func() bool { return st.Notify(t.Context(), pg.ChannelPolicy, "changed") == nil }, patience, tick)
	require.Equal(t, "changed", <-heard)
}
