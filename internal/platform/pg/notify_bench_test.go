package pg_test

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// BenchmarkNotify measures a transaction of eight concurrent clients that notifies inside of it, and one that does so afterwards.
func BenchmarkNotify(b *testing.B) {
	_, pool := privateServer(b)
	_, err := pool.Exec(b.Context(), "create table written (at timestamptz)")
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
