package integration_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/cmd/countersign/wiring"
	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/platform/keys"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
	"github.com/countersign-dev/countersign/workflows"
)

// start starts the process's API on l, and its worker if worker is set. Both end with the test, before the core's own cleanup.
func start(t *testing.T, p *wiring.Process, l net.Listener, worker bool) string {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	failed := make(chan error, 4)
	stopAPI, err := p.StartAPI(ctx, failed, l)
	require.NoError(t, err)
	stopWorker := func() {}
	if worker {
		stopWorker = p.StartWorker(ctx, failed)
	}
	t.Cleanup(func() {
		stopAPI()
		stopWorker()
		p.Close()
	})
	return "http://" + l.Addr().String()
}

// listen listens on a free local port.
func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	return l
}

// open opens a core that is closed when the test ends.
func open(t *testing.T, s wiring.Settings) *wiring.Core {
	t.Helper()
	if s.Signers == nil {
		s.Signers = testSigners()
	}
	core, err := wiring.Open(context.WithoutCancel(t.Context()), s)
	require.NoError(t, err)
	t.Cleanup(core.Close)
	return core
}

// replicaAhead starts an API on the shared data whose clock is ahead by d.
func replicaAhead(t *testing.T, d time.Duration) string {
	t.Helper()
	return replicaWithClock(t, clock.Offset(clock.System(), d))
}

// replicaWithClock starts an API on the shared data with the given clock.
func replicaWithClock(t *testing.T, c clock.Clock) string {
	t.Helper()
	p, l, err := shared.process(t.Context(), c)
	require.NoError(t, err)
	require.NoError(t, l.ops.Close())
	t.Cleanup(p.Core.Close)
	return start(t, p, l.api, false)
}

// replicaWithKeys starts an API with its own master keys. Like serve, it compares them with the database first.
func replicaWithKeys(t *testing.T, database string, keys ...string) (*wiring.Process, string, error) {
	t.Helper()
	ring, err := keyring.Parse(strings.Join(keys, ","))
	require.NoError(t, err)
	core := open(t, wiring.Settings{Log: shared.log, Clock: clock.System(), DatabaseURL: database, BaseURL: shared.baseURL, Keys: ring, MaxConns: 4})
	if err := core.Check(t.Context()); err != nil {
		return nil, "", err
	}
	p, base := serveAPI(t, core)
	return p, base, nil
}

// movableClock is the machine's clock plus an offset that a test advances.
type movableClock struct{ ahead atomic.Int64 }

func (m *movableClock) Now() time.Time {
	return clock.System().Now().Add(time.Duration(m.ahead.Load()))
}

func (m *movableClock) advance(d time.Duration) { m.ahead.Add(int64(d)) }

// replicaWithMovableClock starts an API on the shared data and returns its clock and its address.
func replicaWithMovableClock(t *testing.T) (*movableClock, string) {
	t.Helper()
	c := &movableClock{}
	return c, replicaWithClock(t, c)
}

// serveAPI starts an API on a core and the shared Temporal.
func serveAPI(t *testing.T, core *wiring.Core) (*wiring.Process, string) {
	t.Helper()
	p, err := wiring.New(core, shared.options())
	require.NoError(t, err)
	return p, start(t, p, listen(t), false)
}

// replica starts another API on the shared data and the shared Temporal, with the given settings.
func replica(t *testing.T, s wiring.Settings) (base string) {
	t.Helper()
	s.DatabaseURL, s.Keys, s.BaseURL = shared.database, shared.keys, shared.baseURL
	_, base = serveAPI(t, open(t, s))
	return base
}

// skewedReplica starts another API and worker on the shared data, on a machine whose clock is off.
func skewedReplica(t *testing.T, off time.Duration) string {
	t.Helper()
	core := open(t, wiring.Settings{
		Log: shared.log, Machine: clock.Offset(clock.System(), off), DatabaseURL: shared.database, Keys: shared.keys,
		BaseURL: shared.baseURL, MaxConns: 6, // its worker also signs proofs for the other tests
	})
	p, err := wiring.New(core, shared.options())
	require.NoError(t, err)
	return start(t, p, listen(t), true)
}

// separateService runs the whole service in this process on a given database and Temporal, and with the backends of signing keys.
func separateService(t *testing.T, database, temporal, namespace string, signers ...keys.Signer) (*wiring.Process, world) {
	t.Helper()
	p := separateProcess(t, wiring.Settings{DatabaseURL: database, Keys: shared.keys, Signers: signers}, workflows.DialOptions{Address: temporal, Namespace: namespace})
	core, base, ctx := p.Core, p.BaseURL, context.WithoutCancel(t.Context())
	made, err := core.Tenancy.Create(ctx, tenancy.Spec{Name: t.Name(), RPID: "localhost", Origins: []string{"http://localhost:8080"}, AllowLocal: true}, "cli:test")
	require.NoError(t, err)
	limit := plenty
	key, err := core.Identity.Issue(ctx, pg.Scope{Tenant: made.Sandbox.TenantID, Environment: made.Sandbox.ID},
		identity.Issue{Scope: models.ScopeServer, Name: "test", RateLimit: &limit}, "cli:test", "")
	require.NoError(t, err)
	return p, world{Environment: made.Sandbox, Server: caller{base: base, key: key.Key}, process: p}
}

// separateProcess runs the whole service in this process, with its own settings.
func separateProcess(t *testing.T, s wiring.Settings, temporal workflows.DialOptions) *wiring.Process {
	t.Helper()
	l := listen(t)
	s.Log, s.BaseURL, s.MaxConns = shared.log, fmt.Sprintf("http://localhost:%d", l.Addr().(*net.TCPAddr).Port), 8
	core := open(t, s)
	_, _, err := core.Store.Migrate(context.WithoutCancel(t.Context()))
	require.NoError(t, err)
	p, err := wiring.New(core, wiring.Options{Temporal: temporal})
	require.NoError(t, err)
	start(t, p, l, true)
	return p
}
