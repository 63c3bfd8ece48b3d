package worker_test

import (
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/testing/fixture"
	"github.com/countersign-dev/countersign/internal/testing/testenv"
	"github.com/countersign-dev/countersign/models"
	"github.com/countersign-dev/countersign/workflows"
)

// processEnv holds the configuration of a worker process that a test starts in order to kill it, as JSON.
const processEnv = "COUNTERSIGN_TEST_WORKER"

// processConfig configures a worker process: its connections and the records it works on.
type processConfig struct {
	Database, Address, Namespace, Master string
	Scope                                pg.Scope
	Subject                              models.Subject
	Action                               models.Action
	AfterCommit                          bool // block after the commit of a move, and not before it
}

// process runs a test of this binary as a process of its own. The process is killed when the test ends.
func (b *bundle) process(t *testing.T, test string, afterCommit bool) (*exec.Cmd, io.Reader) {
	t.Helper()
	config, err := json.Marshal(processConfig{
		b.Store.Pool().Config().ConnString(), b.address, b.namespace, b.master, b.Scope, b.Subject, b.Action, afterCommit,
	})
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+test+"$", "-test.timeout=5m")
	cmd.Env = append(os.Environ(), processEnv+"="+string(config))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd, out
}

// connection holds the open connections of a worker process.
type connection struct {
	processConfig
	keys     *keyring.Keyring
	temporal client.Client
	world    *fixture.World
}

// connected opens what the process was configured with. It skips the test if no other test has started it.
func connected(t *testing.T) connection {
	t.Helper()
	text := os.Getenv(processEnv)
	if text == "" {
		t.Skip("started by another test as a process of its own")
	}
	var c connection
	require.NoError(t, json.Unmarshal([]byte(text), &c.processConfig))
	st, err := pg.Open(t.Context(), c.Database, pg.Options{Keys: testenv.Keys()})
	require.NoError(t, err)
	c.keys, err = keyring.Parse(c.Master)
	require.NoError(t, err)
	c.temporal, err = workflows.Dial(workflows.DialOptions{
		Address: c.Address, Namespace: c.Namespace, Keyring: c.keys, Log: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	c.world = &fixture.World{Store: st, Scope: c.Scope, Subject: c.Subject, Action: c.Action}
	return c
}
