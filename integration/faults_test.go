package integration_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/cmd/countersign/wiring"
	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/bench/harness"
	"github.com/countersign-dev/countersign/internal/local/localpg"
	"github.com/countersign-dev/countersign/internal/platform/store"
	"github.com/countersign-dev/countersign/internal/testing/testenv"
	"github.com/countersign-dev/countersign/internal/testing/testenv/temporaltest"
	"github.com/countersign-dev/countersign/models"
	"github.com/countersign-dev/countersign/workflows"
)

// apart runs the whole service in this process with a database and a Temporal of the test's choice.
func apart(t *testing.T, database, temporal, namespace string) (*wiring.Process, world) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	base := fmt.Sprintf("http://localhost:%d", l.Addr().(*net.TCPAddr).Port)
	ctx := context.WithoutCancel(t.Context())
	core, err := wiring.Open(ctx, wiring.Settings{Log: shared.log, DatabaseURL: database, BaseURL: base, Keys: shared.keys, MaxConns: 8})
	require.NoError(t, err)
	_, _, err = core.Store.Migrate(ctx)
	require.NoError(t, err)
	p, err := wiring.New(core, wiring.Options{Temporal: workflows.DialOptions{Address: temporal, Namespace: namespace}})
	require.NoError(t, err)
	failed := make(chan error, 4)
	stopAPI, err := p.StartAPI(ctx, failed, l)
	require.NoError(t, err)
	stopWorker := p.StartWorker(ctx, failed)
	t.Cleanup(func() {
		stopAPI()
		stopWorker()
		p.Close()
		core.Close()
	})
	made, err := core.Tenancy.Create(ctx, tenancy.Spec{Name: t.Name(), RPID: "localhost", Origins: []string{"http://localhost:8080"}, AllowLocal: true}, "cli:test")
	require.NoError(t, err)
	limit := plenty
	key, err := core.Identity.Issue(ctx, store.Scope{Tenant: made.Sandbox.TenantID, Environment: made.Sandbox.ID},
		identity.Issue{Scope: models.ScopeServer, Name: "test", RateLimit: &limit}, "cli:test", "")
	require.NoError(t, err)
	return p, world{Environment: made.Sandbox, Server: caller{base: base, key: key.Key}}
}

// traffic asks for decisions, one caller after the other, until it is stopped. Callers repeat a request that was not
// answered with 200, as a relying party does.
type traffic struct {
	w       world
	subject string
	actions map[string]string // key by the decision it leads to
	mu      sync.Mutex
	decided map[string]answer // by idempotency key
	bodies  map[string]object
	refused atomic.Int64 // answers other than 200, and connections without an answer
	stop    atomic.Bool
	running sync.WaitGroup
}

func newTraffic(t *testing.T, w world) *traffic {
	t.Helper()
	tr := &traffic{w: w, subject: w.subject(t), actions: map[string]string{}, decided: map[string]answer{}, bodies: map[string]object{}}
	for decision, policy := range map[string]object{"allow": allowing, "challenge": challenging, "hold": holding} {
		_, tr.actions[decision] = w.action(t, "enforce", policy)
	}
	return tr
}

// pace is how often each caller asks.
const pace = 50 * time.Millisecond

func (tr *traffic) start(callers int) {
	for range callers {
		tr.running.Go(func() {
			tick := time.NewTicker(pace)
			defer tick.Stop()
			for !tr.stop.Load() {
				for _, action := range tr.actions {
					<-tick.C
					tr.ask(request(tr.subject, action))
				}
			}
		})
	}
}

// ask repeats one request until it is answered.
func (tr *traffic) ask(body object) {
	for !tr.stop.Load() {
		a, err := tr.w.Server.send("POST", "/api/v1/authorize", body)
		if err == nil && a.status == 200 {
			tr.mu.Lock()
			tr.decided[body["idempotency_key"].(string)], tr.bodies[body["idempotency_key"].(string)] = a, body
			tr.mu.Unlock()
			return
		}
		tr.refused.Add(1)
	}
}

// end stops the callers and returns what was decided, by decision.
func (tr *traffic) end(t *testing.T) map[string][]answer {
	t.Helper()
	tr.stop.Store(true)
	tr.running.Wait()
	out := map[string][]answer{}
	for _, a := range tr.decided {
		a.t = t
		out[a.string("decision")] = append(out[a.string("decision")], a)
	}
	return out
}

func (tr *traffic) count() int {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return len(tr.decided)
}

// onRecord holds what was answered against what is in the database: each request is decided once, as its caller was told.
func (tr *traffic) onRecord(t *testing.T, st *store.Store) {
	t.Helper()
	for key, a := range tr.decided {
		var id string
		require.NoError(t, st.Pool().QueryRow(t.Context(), "select id from authorizations where environment_id = $1 and idempotency_key = $2",
			tr.w.ID, key).Scan(&id), "an answered decision is not on record")
		a.t = t
		require.Equal(t, a.string("id"), id)
		again, err := tr.w.Server.send("POST", "/api/v1/authorize", tr.bodies[key])
		require.NoError(t, err)
		require.Equal(t, string(a.body), string(again.body))
	}
}

// resolve completes every challenge and approves every hold, each twice at once, and checks that each has one outcome.
func (tr *traffic) resolve(t *testing.T, st *store.Store, decided map[string][]answer) {
	t.Helper()
	var all sync.WaitGroup
	var wrong atomic.Pointer[string]
	turns := make(chan struct{}, 8) // however many there are to resolve: callers who ask again at once would outnumber the server
	ask := func(path string, body object) {
		all.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			together(2, func(int) {
				deadline := time.Now().Add(patience)
				for {
					a, err := tr.w.Server.send("POST", path, body)
					if err == nil && a.status == 200 {
						return
					}
					if said := fmt.Sprintf("%s: %v %d %s", path, err, a.status, a.body); time.Now().After(deadline) {
						wrong.Store(&said)
						return
					}
				}
			})
		})
	}
	for _, a := range decided["challenge"] {
		ask("/api/v1/challenges/"+a.string("challenge.id")+"/complete", object{"method": "sandbox_confirm"})
	}
	for _, a := range decided["hold"] {
		ask("/api/v1/authorizations/"+a.string("id")+"/review", object{"resolution": "approve"})
	}
	all.Wait()
	if said := wrong.Load(); said != nil {
		t.Fatal(*said)
	}
	var children, parents int
	require.NoError(t, st.Pool().QueryRow(t.Context(), "select count(*), count(distinct parent_id) from authorizations where parent_id is not null").
		Scan(&children, &parents))
	require.Equal(t, len(decided["challenge"])+len(decided["hold"]), parents)
	require.Equal(t, parents, children, "each is decided again once")
}

// While Temporal is away authorize answers as ever; what a person wants to resolve is told to come back, and is as it was.
// Once Temporal is back, what was opened meanwhile has its run, and everything resolves once.
func TestTemporalOutageDuringTraffic(t *testing.T) {
	t.Parallel()
	database := testenv.Database(t)
	address, namespace := temporaltest.Namespace(t)
	temporal, err := harness.NewProxy(address)
	require.NoError(t, err)
	t.Cleanup(temporal.Close)
	p, w := apart(t, database, temporal.Address(), namespace)
	tr := newTraffic(t, w)
	tr.start(2)
	eventually(t, func() bool { return tr.count() >= 12 }, "decisions before the outage")

	temporal.Set(harness.Cut)
	before := tr.count()
	c := w.authorize(t, tr.subject, tr.actions["challenge"], "challenge").string("challenge.id")
	refused := w.Server.post(t, "/api/v1/challenges/"+c+"/complete", object{"method": "sandbox_confirm"}).problem(503, "unavailable")
	require.NotEmpty(t, refused.header.Get("Retry-After"))
	require.Equal(t, "open", w.Server.get(t, "/api/v1/challenges/"+c).is(200).string("status"))
	h := w.authorize(t, tr.subject, tr.actions["hold"], "hold").string("id")
	w.Server.post(t, "/api/v1/authorizations/"+h+"/review", object{"resolution": "reject"}).problem(503, "unavailable")
	require.Equal(t, "pending", w.Server.get(t, "/api/v1/authorizations/"+h).is(200).string("review_status"))
	eventually(t, func() bool { return tr.count() >= before+60 }, "decisions during the outage")
	require.Zero(t, tr.refused.Load(), "no request was held up by it")

	temporal.Set(harness.Passing)
	decided := tr.end(t)
	var last answer
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the last answer to the cancellation: %d %s", last.status, last.body)
		}
	})
	eventually(t, func() bool {
		last = w.Server.post(t, "/api/v1/challenges/"+c+"/cancel", nil)
		// A try that was answered 503 may have been the one that cancelled it.
		return last.status == 200 || last.status == 409 && w.Server.get(t, "/api/v1/challenges/"+c).is(200).string("status") == "cancelled"
	}, "resolving goes on")
	eventually(t, func() bool {
		a := w.Server.post(t, "/api/v1/authorizations/"+h+"/review", object{"resolution": "reject"})
		return a.status == 200
	}, "a review that was told to come back has come back")
	tr.onRecord(t, p.Store)
	eventually(t, func() bool {
		var waiting int
		require.NoError(t, p.Store.Pool().QueryRow(t.Context(), "select count(*) from outbox where topic like '%.start'").Scan(&waiting))
		return waiting == 0
	}, "every run is started")
	tr.resolve(t, p.Store, decided)
}

// The Postgres server is killed and started again in the middle of traffic. Whoever gets no answer asks again; every
// decision that was answered is on record, each request is decided once, and what was opened resolves once.
func TestPostgresKilledUnderLoad(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "countersign-faults-")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	require.NoError(t, os.Chmod(dir, 0o755)) // Postgres runs as another user where this one is root
	begin := func(port int) *localpg.Server {
		s, err := localpg.Start(context.WithoutCancel(t.Context()), localpg.Options{Dir: filepath.Join(dir, "pg"), Port: port})
		require.NoError(t, err)
		return s
	}
	pg := begin(0)
	t.Cleanup(func() { _ = pg.Stop() })
	require.NoError(t, pg.Create(t.Context(), "countersign"))
	address, namespace := temporaltest.Namespace(t)
	p, w := apart(t, pg.URL("countersign"), address, namespace)
	tr := newTraffic(t, w)
	tr.start(4)
	eventually(t, func() bool { return tr.count() >= 24 }, "decisions before the fall")

	port := pg.Port()
	require.NoError(t, syscall.Kill(pg.PID(), syscall.SIGKILL))
	<-pg.Done()
	eventually(t, func() bool { return tr.refused.Load() > 0 }, "callers notice")
	pg = begin(port)
	require.Equal(t, port, pg.Port())
	before := tr.count()
	eventually(t, func() bool { return tr.count() >= before+24 }, "decisions after the fall")

	decided := tr.end(t)
	tr.onRecord(t, p.Store)
	tr.resolve(t, p.Store, decided)
	var twice int
	require.NoError(t, p.Store.Pool().QueryRow(t.Context(), `select count(*) from (select 1 from authorizations where idempotency_key is not null
		group by environment_id, idempotency_key having count(*) > 1) x`).Scan(&twice))
	require.Zero(t, twice)
	raw, err := json.Marshal(w.Server.get(t, "/api/v1/reviews/counts").is(200).value("pending"))
	require.NoError(t, err)
	require.Equal(t, "0", string(raw))
}
