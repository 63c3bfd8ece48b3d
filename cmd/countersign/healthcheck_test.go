package main

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/testing/testenv"
	"github.com/countersign-dev/countersign/internal/testing/testenv/temporaltest"
)

// freeAddress returns an address that no server listens at.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close()) }()
	return l.Addr().String()
}

// A rollout with a wrong namespace must stop at the first worker: one that takes no tasks is never ready.
func TestAWorkerIsReadyWhileItTakesTasks(t *testing.T) {
	c := newCLI(t, testenv.Database(t))
	address, namespace := temporaltest.Namespace(t)
	t.Setenv("COUNTERSIGN_TEMPORAL_ADDRESS", address)
	for _, want := range []struct{ namespace, says string }{
		{namespace, `"worker":"ok"`},
		{namespace + "-typo", `"temporal":"ok","worker":"unavailable"`},
	} {
		listen := freeAddress(t)
		t.Setenv("COUNTERSIGN_OPS_LISTEN", listen)
		t.Setenv("COUNTERSIGN_TEMPORAL_NAMESPACE", want.namespace)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			cmd := root()
			cmd.SetArgs([]string{"worker"})
			ended <- cmd.ExecuteContext(ctx)
		}()
		require.Eventually(t, func() bool {
			out, err := c.run("healthcheck")
			if err != nil {
				out = err.Error()
			}
			return strings.Contains(out, want.says)
		}, time.Minute, 50*time.Millisecond, want.says)
		stop()
		require.NoError(t, <-ended)
		c.fails("no process responds", "healthcheck")
	}
	c.fails("want host:port", "healthcheck", "--ops-listen", "9090")
}
