package wiring

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net"
	"net/http"
	"net/http/pprof" // #nosec G108 -- it registers itself with http.DefaultServeMux, which is not served
	"slices"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/countersign-dev/countersign/internal/platform/durable"
	"github.com/countersign-dev/countersign/internal/transport/request"
)

// Check is one part that readiness depends on.
type Check struct {
	Name string
	// Loss says in a sentence what cannot be done while the check fails. The process stays ready for the rest. Empty: nothing can be
	// done, so that the process is not ready.
	Loss string
	Run  func(ctx context.Context) error
}

// partialError is the error of a check that a part of its subject fails. It replaces the check's Loss.
type partialError struct{ loss string }

func (e *partialError) Error() string { return "wiring: " + e.loss }

// The states of a check in /readyz.
const (
	stateOK          = "ok"
	stateStarting    = "starting" // degraded until this machine has started the part
	stateDegraded    = "degraded"
	stateUnavailable = "unavailable"
	stateStopping    = "stopping" // of the process itself
)

// checkTimeout bounds each check of readiness.
const checkTimeout = 2 * time.Second

// Ops is the operations port: metrics, liveness and readiness. It authenticates no one and must not be reachable from outside.
type Ops struct {
	Registry *prometheus.Registry
	Mux      *http.ServeMux // for further handlers

	checks   []Check
	draining atomic.Bool
	server   *http.Server
}

// NewOps creates the port's handlers.
func NewOps(checks ...Check) *Ops {
	o := &Ops{Registry: prometheus.NewRegistry(), checks: checks, Mux: http.NewServeMux()}
	o.Registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	o.Mux.Handle("GET /metrics", promhttp.HandlerFor(o.Registry, promhttp.HandlerOpts{}))
	o.Mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) })
	o.Mux.HandleFunc("GET /readyz", o.serveReady)
	o.server = &http.Server{Handler: o.Mux, ReadHeaderTimeout: 5 * time.Second}
	return o
}

// Profile adds the profiles of the Go runtime. They cost nothing until requested. They show how the process works, so they are
// off by default.
func (o *Ops) Profile() {
	o.Mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	o.Mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	o.Mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
}

// LocalOnly refuses requests whose Host names another machine.
func (o *Ops) LocalOnly(baseURL string) {
	o.server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !request.IsLocal(r.Host, baseURL) {
			http.Error(w, "This port is for this machine: use localhost or an address.", http.StatusForbidden)
			return
		}
		o.Mux.ServeHTTP(w, r)
	})
}

// Serve serves every listener until Stop. The error of a listener goes to failed.
func (o *Ops) Serve(failed chan<- error, listeners ...net.Listener) {
	for _, l := range listeners {
		go func() {
			if err := o.server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
				failed <- err
			}
		}()
	}
}

// Drain makes the process unready, so that load balancers send no further requests.
func (o *Ops) Drain() { o.draining.Store(true) }

// Stop shuts the port down.
func (o *Ops) Stop(ctx context.Context) { _ = o.server.Shutdown(ctx) }

// readiness is the state of each check by name, what cannot be done, what is being started by name, and the HTTP status of the whole.
type readiness struct {
	checks   map[string]string
	lost     map[string]string // by name: what cannot be done, in a sentence
	starting map[string]string
	status   int
}

// serveReady responds with status 200 while the process can do some of its work, otherwise 503, and with the state of each check. It
// does not include errors, whose texts may name hosts; "degraded" says in sentences what cannot be done, "starting" how far the start
// of a part is.
func (o *Ops) serveReady(w http.ResponseWriter, r *http.Request) {
	ready := o.readiness(r.Context())
	body := map[string]any{"ready": ready.status == http.StatusOK, "checks": ready.checks}
	if len(ready.lost) > 0 {
		body["degraded"] = slices.Sorted(maps.Values(ready.lost))
	}
	if len(ready.starting) > 0 {
		body["starting"] = ready.starting
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(ready.status)
	_ = json.NewEncoder(w).Encode(body)
}

// readiness runs every check.
func (o *Ops) readiness(ctx context.Context) readiness {
	out := readiness{checks: map[string]string{}, lost: map[string]string{}, starting: map[string]string{}, status: http.StatusOK}
	if o.draining.Load() {
		out.checks["process"], out.status = stateStopping, http.StatusServiceUnavailable
	}
	for _, c := range o.checks {
		ctx, cancel := context.WithTimeout(ctx, checkTimeout)
		err := c.Run(ctx)
		cancel()
		var starting *durable.StartingError
		var partial *partialError
		switch {
		case err == nil:
			out.checks[c.Name] = stateOK
		case errors.As(err, &starting):
			out.checks[c.Name], out.starting[c.Name] = stateStarting, starting.Error()
		case errors.As(err, &partial):
			out.checks[c.Name], out.lost[c.Name] = stateDegraded, partial.loss
		case c.Loss != "":
			out.checks[c.Name], out.lost[c.Name] = stateDegraded, c.Loss
		default:
			out.checks[c.Name], out.status = stateUnavailable, http.StatusServiceUnavailable
		}
	}
	return out
}
