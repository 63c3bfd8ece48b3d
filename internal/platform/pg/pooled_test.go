package pg_test

import (
	"context"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/platform/outbox"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/testing/storetest"
	"github.com/countersign-dev/countersign/internal/testing/testenv"
	"github.com/countersign-dev/countersign/internal/testing/testenv/pooler"
	"github.com/countersign-dev/countersign/models"
)

// startPooler starts a PgBouncer in transaction mode, which follows the given number of prepared statements.
func startPooler(t *testing.T, prepared int) *pooler.Pooler {
	t.Helper()
	return startPoolerWith(t, pooler.Options{Prepared: prepared})
}

func startPoolerWith(t *testing.T, o pooler.Options) *pooler.Pooler {
	t.Helper()
	prepared := o.Prepared
	follows, err := pooler.FollowsPrepared(t.Context())
	if errors.Is(err, pooler.ErrMissing) {
		t.Skip(err)
	}
	require.NoError(t, err)
	if prepared > 0 && !follows {
		t.Skip("this PgBouncer is older than 1.21 and follows no prepared statements")
	}
	server, err := testenv.Server()
	require.NoError(t, err)
	// Not t.TempDir: PgBouncer's user cannot enter it.
	dir, err := os.MkdirTemp("", "countersign-pooler-")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	require.NoError(t, os.Chmod(dir, 0o755)) // #nosec G302 -- another user enters it
	p, err := pooler.Start(t.Context(), pooler.Options{Server: server, Dir: dir, Prepared: prepared, Ignore: o.Ignore})
	require.NoError(t, err)
	t.Cleanup(p.Stop)
	return p
}

// nameOf is the name of the database of a URL.
func nameOf(t *testing.T, address string) string {
	t.Helper()
	u, err := url.Parse(address)
	require.NoError(t, err)
	return filepath.Base(u.Path)
}

func openPooled(t *testing.T, p *pooler.Pooler, direct string) *pg.Store {
	t.Helper()
	st, err := pg.Open(t.Context(), p.URL(nameOf(t, direct)), pg.Options{Keys: testenv.Keys(), DirectURL: direct})
	require.NoError(t, err)
	t.Cleanup(st.Close)
	return st
}

// The ways in which a pooler of transactions can be run.
var poolers = map[string]int{"without prepared statements": 0, "with prepared statements": 200}

func TestStoreRunsBehindAPoolerOfTransactions(t *testing.T) {
	t.Parallel()
	for name, prepared := range poolers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := startPooler(t, prepared)
			st := openPooled(t, p, testenv.EmptyDatabase(t))
			before, after, err := st.Migrate(t.Context())
			require.NoError(t, err)
			require.Less(t, before, after)
			require.NoError(t, st.CheckSchema(t.Context()))

			t.Run("many transactions at once", func(t *testing.T) {
				var all sync.WaitGroup
				failed := make(chan error, 200)
				for range 16 {
					all.Go(func() {
						for range 10 {
							tenant := models.Tenant{ID: ids.New(ids.Tenant), Name: "Bank", CreatedAt: storetest.Epoch}
							failed <- st.Write(t.Context(), func(q *pg.Q) error {
								if err := tenancy.CreateTenant(t.Context(), q, tenant); err != nil { // GORM
									return err
								}
								return outbox.DeleteEntries(t.Context(), q, []int64{1}) // SQL
							})
						}
					})
				}
				all.Wait()
				close(failed)
				for err := range failed {
					require.NoError(t, err)
				}
			})
			t.Run("notifications", func(t *testing.T) { requireNotified(t, st) })
			t.Run("a statement that never ends", func(t *testing.T) {
				var limit string
				require.NoError(t, st.Pool().QueryRow(t.Context(), "show statement_timeout").Scan(&limit))
				require.Equal(t, "10s", limit, "of the role")
			})
		})
	}
}

// requireNotified fails unless the store hears its own notifications.
func requireNotified(t *testing.T, st *pg.Store) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	heard := make(chan string, 16)
	go st.Listen(ctx, []string{pg.ChannelPolicy}, func(channel, payload string) { heard <- channel + payload })
	require.Empty(t, <-heard, "the connection is made")
	require.NoError(t, st.Notify(t.Context(), pg.ChannelPolicy, " payment"))
	require.Equal(t, pg.ChannelPolicy+" payment", <-heard)
	st.Wake(pg.ChannelPolicy, "")
	require.Equal(t, pg.ChannelPolicy, <-heard)
}

// A migration under a running process changes the columns of a statement that the process has described or prepared before.
func TestPooledStatementsSurviveAMigration(t *testing.T) {
	t.Parallel()
	for name, prepared := range poolers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			direct := testenv.Database(t)
			p := startPooler(t, prepared)
			st := openPooled(t, p, direct)
			tenant := models.Tenant{ID: ids.New(ids.Tenant), Name: "Bank", CreatedAt: storetest.Epoch}
			require.NoError(t, tenancy.CreateTenant(t.Context(), st.Q, tenant))
			requireRead(t, st)
			_, err := connect(t, direct).Exec(t.Context(), "alter table tenants add column later text")
			require.NoError(t, err)
			requireRead(t, st)
			// The pooler has the statements of the former schema.
			requireRead(t, openPooled(t, p, direct))
		})
	}
}

// requireRead reads with and without a transaction, often enough to use every connection of the pooler.
func requireRead(t *testing.T, st *pg.Store) {
	t.Helper()
	for range 20 {
		_, err := tenancy.ListTenants(t.Context(), st.Q)
		require.NoError(t, err)
		require.NoError(t, st.Read(t.Context(), func(q *pg.Q) error {
			_, err := tenancy.ListTenants(t.Context(), q)
			return err
		}))
	}
}

// A pooler that accepts the limits of a session and ignores them is found by what the session has, and which backend it has.
func TestOpenRefusesAPoolerThatIgnoresLimits(t *testing.T) {
	t.Parallel()
	p := startPoolerWith(t, pooler.Options{Ignore: "statement_timeout, idle_in_transaction_session_timeout"})
	direct := testenv.EmptyDatabase(t)
	pooled := p.URL(nameOf(t, direct))
	for want, other := range map[string]string{"is a connection pooler: give the address": "", "the direct connection: the database at 127.0.0.1": pooled} {
		_, err := pg.Open(t.Context(), pooled, pg.Options{Keys: testenv.Keys(), DirectURL: other})
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, "is a connection pooler")
	}
	st, err := pg.Open(t.Context(), pooled, pg.Options{Keys: testenv.Keys(), DirectURL: direct})
	require.NoError(t, err)
	st.Close()
}

func TestOpenRefusesAPoolerThatIsSetUpWrong(t *testing.T) {
	t.Parallel()
	p := startPooler(t, 0)
	direct := testenv.EmptyDatabase(t)
	pooled := p.URL(nameOf(t, direct))
	admin := connect(t, direct)
	inDatabase := "alter role " + p.Role() + " in database " + pgx.Identifier{nameOf(t, direct)}.Sanitize() + " "
	for name, c := range map[string]struct {
		setting, url, direct string
		want                 []string
	}{
		"no direct connection":            {"", pooled, "", []string{"is a connection pooler", "COUNTERSIGN_DATABASE_DIRECT_URL"}},
		"the direct one is a pooler":      {"", pooled, pooled, []string{"the direct connection", "is a connection pooler"}},
		"a different database":            {"", pooled, testenv.EmptyDatabase(t), []string{"leads to a different database"}},
		"an invalid direct URL":           {"", pooled, "postgres://secret:x y@", []string{"the direct connection: the database URL is not valid"}},
		"no limit of a statement":         {"statement_timeout = 0", pooled, direct, []string{"alter role " + `"` + p.Role() + `" set statement_timeout = '10s'`}},
		"no limit of an idle transaction": {"idle_in_transaction_session_timeout = 0", pooled, direct, []string{"idle_in_transaction_session_timeout = '10s'"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := admin.Exec(t.Context(), inDatabase+"reset all")
			require.NoError(t, err)
			if c.setting != "" {
				_, err = admin.Exec(t.Context(), inDatabase+"set "+c.setting)
				require.NoError(t, err)
			}
			// The pooler's connections were made with the former settings.
			_, err = admin.Exec(t.Context(), "select pg_terminate_backend(pid, 5000) from pg_stat_activity where usename = $1", p.Role())
			require.NoError(t, err)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			_, err = pg.Open(ctx, c.url, pg.Options{Keys: testenv.Keys(), DirectURL: c.direct})
			for _, want := range c.want {
				require.ErrorContains(t, err, want)
			}
			require.NotContains(t, err.Error(), "secret")
		})
	}
}
