package pg_test

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/local/localpg"
)

// BenchmarkNotify measures a transaction of eight concurrent clients that notifies inside of it, and one that does so afterwards.
func BenchmarkNotify(b *testing.B) {
	dir, err := os.MkdirTemp("", "countersign-notify-")
	require.NoError(b, err)
	b.Cleanup(func() { _ = os.RemoveAll(dir) })
	require.NoError(b, os.Chmod(dir, 0o755)) // #nosec G302 -- the user that Postgres runs as passes through
	server, err := localpg.Start(b.Context(), localpg.Options{Dir: filepath.Join(dir, "data")})
	require.NoError(b, err)
	b.Cleanup(func() { _ = server.Stop() })
	pool, err := pgxpool.New(b.Context(), server.URL("postgres"))
	require.NoError(b, err)
	b.Cleanup(pool.Close)
	_, err = pool.Exec(b.Context(), "create table written (at timestamptz)")
	require.NoError(b, err)
	const write, notify = "insert into written values (now())", "select pg_notify('written', '')"
	for name, statements := range map[string][]string{"inside": {"begin; " + write + "; " + notify + "; commit"}, "afterwards": {write, notify}} {
		b.Run(name, func(b *testing.B) {
			var clients sync.WaitGroup
			for range 8 {
				clients.Go(func() {
					for range b.N {
						for _, statement := range statements {
							_, err := pool.Exec(context.WithoutCancel(b.Context()), statement)
							require.NoError(b, err)
						}
					}
				})
			}
			clients.Wait()
		})
	}
}
