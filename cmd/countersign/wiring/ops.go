package wiring

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/pprof" // #nosec G108 -- it registers itself with a mux that nothing serves
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Check is one thing that readiness depends on. A check that is only degrading is told of and does not make the process
// unready: authorize answers while Temporal is away.
type Check struct {
	Name      string
	Degrading bool
	Run       func(ctx context.Context) error
}

// errDegraded marks what a check found as no reason to be unready.
var errDegraded = errors.New("degraded")

// checkWithin bounds each check of readiness.
const checkWithin = 2 * time.Second

// Ops is the operations port: metrics, liveness, readiness. It takes no credential and is not for the world.
type Ops struct {
	Registry *prometheus.Registry
	Mux      *http.ServeMux // further handlers

	checks   []Check
	draining atomic.Bool
	server   *http.Server
}

// NewOps makes the port's handlers.
func NewOps(checks ...Check) *Ops {
	o := &Ops{Registry: prometheus.NewRegistry(), checks: checks, Mux: http.NewServeMux()}
	o.Registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	o.Mux.Handle("GET /metrics", promhttp.HandlerFor(o.Registry, promhttp.HandlerOpts{}))
	o.Mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) })
	o.Mux.HandleFunc("GET /readyz", o.ready)
	o.server = &http.Server{Handler: o.Mux, ReadHeaderTimeout: 5 * time.Second}
	return o
}

// Profile adds the profiles of the Go runtime, for who looks for what takes time or memory. They cost nothing until asked
// for, and tell how the process works: they are off unless the operator wants them.
func (o *Ops) Profile() {
	o.Mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	o.Mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	o.Mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
}

// Serve answers on every listener until Stop. A listener that fails is told to failed.
func (o *Ops) Serve(failed chan<- error, listeners ...net.Listener) {
	for _, l := range listeners {
		go func() {
			if err := o.server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
				failed <- err
			}
		}()
	}
}

// Drain makes the process unready, so that a load balancer sends nothing more.
func (o *Ops) Drain() { o.draining.Store(true) }

// Stop ends the port.
func (o *Ops) Stop(ctx context.Context) { _ = o.server.Shutdown(ctx) }

// ready answers 200 or 503 with what each check said: ok, degraded or away. Why is for the log: an error's text may name
// hosts.
func (o *Ops) ready(w http.ResponseWriter, r *http.Request) {
	said, status := o.said(r.Context())
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"ready": status == http.StatusOK, "checks": said})
}

func (o *Ops) said(ctx context.Context) (said map[string]string, status int) {
	said, status = map[string]string{}, http.StatusOK
	if o.draining.Load() {
		said["process"], status = "stopping", http.StatusServiceUnavailable
	}
	for _, c := range o.checks {
		ctx, cancel := context.WithTimeout(ctx, checkWithin)
		err := c.Run(ctx)
		cancel()
		switch {
		case err == nil:
			said[c.Name] = "ok"
		case c.Degrading, errors.Is(err, errDegraded):
			said[c.Name] = "degraded"
		default:
			said[c.Name], status = "away", http.StatusServiceUnavailable
		}
	}
	return said, status
}
