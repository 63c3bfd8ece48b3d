package worker_test

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/delivery/webhook"
	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/platform/store"
	"github.com/countersign-dev/countersign/internal/testing/fixture"
	"github.com/countersign-dev/countersign/worker"
	"github.com/countersign-dev/countersign/workflows"
)

// childEnv, when set, makes TestWebhookWorkerProcess a worker process: its value says where everything is.
const childEnv = "COUNTERSIGN_TEST_WORKER"

// whereabouts are what a worker process has to be told.
type whereabouts struct{ Database, Address, Namespace, Master string }

// TestWebhookWorkerProcess is no test of its own: it is the process that a test starts in order to kill it.
func TestWebhookWorkerProcess(t *testing.T) {
	told := os.Getenv(childEnv)
	if told == "" {
		t.Skip("started by another test as a process of its own")
	}
	var at whereabouts
	require.NoError(t, json.Unmarshal([]byte(told), &at))
	st, err := store.Open(t.Context(), at.Database, store.Options{})
	require.NoError(t, err)
	keys, err := keyring.Parse(at.Master)
	require.NoError(t, err)
	b := &bundle{t: t, World: &fixture.World{Store: st}}
	b.temporal, err = workflows.Dial(workflows.DialOptions{
		Address: at.Address, Namespace: at.Namespace, Keyring: keys, Log: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	b.runs = workflows.NewClient(b.temporal, at.Namespace)
	h := hooksOf(b, keys, webhook.NewSender(webhook.Policy{AllowLoopback: true}))
	require.NoError(t, worker.Run(t.Context(), h.deps())) // until it is killed
}

// separate starts a worker as a process of its own.
func (h *hooks) separate(t *testing.T) *exec.Cmd {
	t.Helper()
	told, err := json.Marshal(whereabouts{h.Store.Pool().Config().ConnString(), h.address, h.namespace, h.master})
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestWebhookWorkerProcess$", "-test.timeout=5m")
	cmd.Env = append(os.Environ(), childEnv+"="+string(told))
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd
}

// A worker that is killed in the middle of a batch leaves its requests unrecorded: the next one sends them again, each under
// the same id and with the same body.
func TestKilledWorkerLosesNoDelivery(t *testing.T) {
	t.Parallel()
	h := setupHooks(t)
	cut := make(chan struct{})
	r := trouble(t, func(_ http.ResponseWriter, n int) bool {
		if n == 0 {
			<-cut // an answer that comes too late for whoever asked
		}
		return n > 0
	})
	release := sync.OnceFunc(func() { close(cut) })
	t.Cleanup(release)
	h.endpoint(t, r.url)
	first := h.separate(t)
	var ids []string
	for i := range 6 {
		ids = append(ids, h.happen(t, i))
	}
	require.Eventually(t, func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return len(r.tries) == len(ids)
	}, 2*patience, patience/1000, "the batch is under way")
	require.NoError(t, first.Process.Kill())
	_ = first.Wait()
	release()

	h.process()
	require.Eventually(t, func() bool { return r.got(ids) }, 3*patience, patience/1000)
	h.eventually(t, len(ids), "select count(*) from webhook_deliveries where status = 'succeeded'")
	require.False(t, r.changed)
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, id := range ids {
		require.GreaterOrEqual(t, r.tries[id], 2)
	}
}
