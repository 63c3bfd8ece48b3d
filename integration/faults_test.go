package integration_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/local/localpg"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/testing/faultproxy"
	"github.com/countersign-dev/countersign/internal/testing/testenv"
	"github.com/countersign-dev/countersign/internal/testing/testenv/temporaltest"
)

// traffic requests decisions from several callers until it is stopped. Like a relying party, a caller repeats a request until
// the response is 200.
type traffic struct {
	w       world
	subject string
	actions map[string]string // action key by decision
	mu      sync.Mutex
	decided map[string]response // by idempotency key
	bodies  map[string]object
	refused atomic.Int64 // responses other than 200 and failed connections
	reasons []string     // of what was refused
	stop    atomic.Bool
	running sync.WaitGroup
}

func newTraffic(t *testing.T, w world) *traffic {
	t.Helper()
	tr := &traffic{w: w, subject: w.subject(t), actions: map[string]string{}, decided: map[string]response{}, bodies: map[string]object{}}
	for decision, policy := range map[string]object{"allow": allowing, "challenge": challenging, "hold": holding} {
		_, tr.actions[decision] = w.action(t, "enforce", policy)
	}
	return tr
}

// pace is the interval between the requests of one caller.
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

// ask repeats one request until the response is 200.
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
		if err == nil {
			err = fmt.Errorf("%d %s", a.status, a.body)
		}
		tr.mu.Lock()
		tr.reasons = append(tr.reasons, err.Error())
		tr.mu.Unlock()
	}
}

// end stops the callers and returns what was decided, by decision.
func (tr *traffic) end(t *testing.T) map[string][]response {
	t.Helper()
	tr.stop.Store(true)
	tr.running.Wait()
	out := map[string][]response{}
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

// requireRecorded compares the responses with the database: each request is decided once, with the decision that its caller
// received.
func (tr *traffic) requireRecorded(t *testing.T, st *pg.Store) {
	t.Helper()
	for key, a := range tr.decided {
		var id string
		require.NoError(t, st.Pool().QueryRow(t.Context(), "select id from authorizations where environment_id = $1 and idempotency_key = $2",
			tr.w.ID, key).Scan(&id), "a returned decision is not in the database")
		a.t = t
		require.Equal(t, a.string("id"), id)
		again, err := tr.w.Server.send("POST", "/api/v1/authorize", tr.bodies[key])
		require.NoError(t, err)
		require.Equal(t, string(a.body), string(again.body))
	}
}

// resolve completes every challenge and approves every hold, each twice at once, and checks that each has one outcome.
func (tr *traffic) resolve(t *testing.T, st *pg.Store, decided map[string][]response) {
	t.Helper()
	var all sync.WaitGroup
	var wrong atomic.Pointer[string]
	turns := make(chan struct{}, 8) // limits concurrency, so that retries do not overload the server
	ask := func(path string, body object) {
		all.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			concurrently(2, func(int) {
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
	require.Equal(t, parents, children, "each has one follow-up decision")
}

// During an outage of Temporal, authorize works, and completions and reviews are refused with 503 and change nothing. After the
// outage, the challenges and holds opened in the meantime have their workflows, and each is resolved once.
func TestTemporalOutageDuringTraffic(t *testing.T) {
	t.Parallel()
	database := testenv.Database(t)
	address, namespace := temporaltest.Namespace(t)
	temporal, err := faultproxy.New(address)
	require.NoError(t, err)
	t.Cleanup(temporal.Close)
	p, w := separateService(t, database, temporal.Address(), namespace)
	tr := newTraffic(t, w)
	tr.start(2)
	eventually(t, func() bool { return tr.count() >= 12 }, "decisions before the outage")

	temporal.Set(faultproxy.Cut)
	before := tr.count()
	c := w.authorize(t, tr.subject, tr.actions["challenge"], "challenge").string("challenge.id")
	refused := w.Server.post(t, "/api/v1/challenges/"+c+"/complete", object{"method": "sandbox_confirm"}).problem(503, "unavailable")
	require.NotEmpty(t, refused.header.Get("Retry-After"))
	require.Equal(t, "open", w.Server.get(t, "/api/v1/challenges/"+c).is(200).string("status"))
	h := w.authorize(t, tr.subject, tr.actions["hold"], "hold").string("id")
	w.Server.post(t, "/api/v1/authorizations/"+h+"/review", object{"resolution": "reject"}).problem(503, "unavailable")
	require.Equal(t, "pending", w.Server.get(t, "/api/v1/authorizations/"+h).is(200).string("review_status"))
	eventually(t, func() bool { return tr.count() >= before+60 }, "decisions during the outage")
	require.Zero(t, tr.refused.Load(), "no request was delayed by the outage")

	temporal.Set(faultproxy.Passing)
	decided := tr.end(t)
	var last response
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the last response to the cancellation: %d %s", last.status, last.body)
		}
	})
	eventually(t, func() bool {
		last = w.Server.post(t, "/api/v1/challenges/"+c+"/cancel", nil)
		// An attempt that got a 503 may have cancelled it.
		return last.status == 200 || last.status == 409 && w.Server.get(t, "/api/v1/challenges/"+c).is(200).string("status") == "cancelled"
	}, "the challenge is cancelled")
	eventually(t, func() bool {
		a := w.Server.post(t, "/api/v1/authorizations/"+h+"/review", object{"resolution": "reject"})
		return a.status == 200
	}, "the review is retried successfully")
	tr.requireRecorded(t, p.Store)
	eventually(t, func() bool {
		var waiting int
		require.NoError(t, p.Store.Pool().QueryRow(t.Context(), "select count(*) from outbox where topic like '%.start'").Scan(&waiting))
		return waiting == 0
	}, "every workflow is started")
	tr.resolve(t, p.Store, decided)
}

// The Postgres server is killed and restarted during traffic. Callers without a response retry. Every returned decision is in the
// database, each request is decided once, and every challenge and hold is resolved once.
func TestPostgresKilledUnderLoad(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "countersign-faults-")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	require.NoError(t, os.Chmod(dir, 0o755)) // Postgres runs as another user if this one is root
	begin := func(port int) *localpg.Server {
		s, err := localpg.Start(context.WithoutCancel(t.Context()), localpg.Options{Dir: filepath.Join(dir, "pg"), Port: port})
		require.NoError(t, err)
		return s
	}
	postgres := begin(0)
	t.Cleanup(func() { _ = postgres.Stop() })
	require.NoError(t, postgres.Create(t.Context(), "countersign"))
	address, namespace := temporaltest.Namespace(t)
	p, w := separateService(t, postgres.URL("countersign"), address, namespace)
	tr := newTraffic(t, w)
	tr.start(4)
	eventually(t, func() bool { return tr.count() >= 24 }, "decisions before the crash")

	port := postgres.Port()
	require.NoError(t, syscall.Kill(postgres.PID(), syscall.SIGKILL))
	<-postgres.Done()
	eventually(t, func() bool { return tr.refused.Load() > 0 }, "callers see failures")
	postgres = begin(port)
	require.Equal(t, port, postgres.Port())
	before := tr.count()
	eventually(t, func() bool { return tr.count() >= before+24 }, "decisions after the crash")

	decided := tr.end(t)
	tr.requireRecorded(t, p.Store)
	tr.resolve(t, p.Store, decided)
	var twice int
	require.NoError(t, p.Store.Pool().QueryRow(t.Context(), `select count(*) from (select 1 from authorizations where idempotency_key is not null
		group by environment_id, idempotency_key having count(*) > 1) x`).Scan(&twice))
	require.Zero(t, twice)
	raw, err := json.Marshal(w.Server.get(t, "/api/v1/reviews/counts").is(200).value("pending"))
	require.NoError(t, err)
	require.Equal(t, "0", string(raw))
}
