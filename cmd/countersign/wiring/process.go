package wiring

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"
	"go.temporal.io/sdk/client"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/countersign-dev/countersign/internal/delivery/notify"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/durable"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/subject/upkeep"
	"github.com/countersign-dev/countersign/internal/transport/linger"
	"github.com/countersign-dev/countersign/web/console/shell"
	"github.com/countersign-dev/countersign/worker"
	"github.com/countersign-dev/countersign/workflows"
)

// drainWithin bounds how long requests in flight may take when the process stops.
const drainWithin = 15 * time.Second

// Options configure a process that serves or works, in addition to Settings.
type Options struct {
	Temporal workflows.DialOptions // Keyring and Log are filled in
	// Startup follows Temporal if this machine is starting it; nil: it runs elsewhere.
	Startup *durable.Startup
	// WebhookLoopback lets webhooks go to this machine; development only.
	WebhookLoopback bool
	// Mail sends notices to staff by e-mail; nil sends none.
	Mail *notify.Mailer
	// CodecOrigin is the Temporal UI that may have payloads decrypted for auditors at the operations port's /codec; empty for none.
	CodecOrigin string
	// LocalOnly refuses requests whose Host names another machine; development only.
	LocalOnly bool
	// TrustedProxies are the networks whose X-Forwarded-Host and X-Forwarded-For are believed; empty for none.
	TrustedProxies []netip.Prefix
	// TemporalUI is the address of the Temporal UI that the console links to; empty for no links.
	TemporalUI string
	// MaxFrameBytes caps an evidence body; 0 is the contract's default.
	MaxFrameBytes int
	Version       string // of the build
	Worker        WorkerOptions
	// Research lets feature vectors be stored for training if the environment enables it and the page and the subject consent.
	Research bool
	// Retention is how long data is kept; nil is the default.
	Retention *upkeep.Retention
	// StreamsEach is how many event streams one environment may have on this process; 0 is the default.
	StreamsEach int
	// OnViolation gets the browsers' reports of content that a page's policy stopped; nil asks for none. For tests.
	OnViolation func(report []byte)
	// OnlyWorks is for a worker, which serves no requests: it is ready while it takes tasks from Temporal. With a wrong
	// address, credential or namespace it never becomes ready, so that a rollout stops at it.
	OnlyWorks bool
	// ServeOn is how long a stopping API serves on: it accepts no connection, so that a proxy takes the next server, and each of its responses
	// closes its connection, so that few are idle when the rest is closed: a request may be on its way on one.
	ServeOn time.Duration
	// TryKey is a server key of a sandbox: the page under /try works with it. Empty for no such page.
	TryKey string
}

func (o Options) retention() upkeep.Retention {
	if o.Retention == nil {
		return upkeep.DefaultRetention()
	}
	return *o.Retention
}

// Process is the API, the worker, or both.
type Process struct {
	*Core
	Ops      *Ops
	Temporal client.Client
	Flows    *workflows.Client

	options  Options
	services services
	upkeep   *upkeep.Service
	keyState *keyState
	stopTime func()
	polls    atomic.Bool // the worker takes tasks
}

var errNotPolling = errors.New("wiring: the worker takes no tasks")

// New builds the services. It does not wait for Temporal.
func New(c *Core, o Options) (*Process, error) {
	o.Temporal.Keyring, o.Temporal.Log, o.Temporal.Tracing, o.Temporal.Polls = c.Keys, c.Log, c.Tracing, new(workflows.Polls)
	tc, err := workflows.Dial(o.Temporal)
	if err != nil {
		return nil, fmt.Errorf("the Temporal client: %w", err)
	}
	p := &Process{Core: c, Temporal: tc, Flows: workflows.NewStartingClient(tc, o.Temporal.Namespace, o.Startup), options: o}
	p.Flows.LinkTo(c.BaseURL + shell.Prefix)
	if o.Worker.Deployment != "" {
		p.Flows.StartLazily()
	}
	p.keyState = &keyState{core: c}
	p.Ops = NewOps(append(p.checks(), c.backendChecks()...)...)
	if o.CodecOrigin != "" {
		p.Ops.Mux.Handle("/codec/", http.StripPrefix("/codec", p.codec(o.CodecOrigin)))
	}
	if o.LocalOnly {
		p.Ops.LocalOnly(c.BaseURL)
	}
	poolFigures(p.Ops.Registry, c.Store)
	p.Ops.Registry.MustRegister(p.keyState)
	for _, s := range c.Signers {
		if figures, ok := s.(prometheus.Collector); ok {
			p.Ops.Registry.MustRegister(figures)
		}
	}
	p.services = newServices(p)
	if err := p.loadModel(); err != nil {
		p.Temporal.Close()
		return nil, err
	}
	if p.upkeep, err = p.newUpkeep(); err != nil {
		p.Temporal.Close()
		return nil, err
	}
	p.followTime()
	return p, nil
}

// checks are the parts that readiness depends on.
func (p *Process) checks() []Check {
	checks := []Check{
		{Name: "postgres", Run: p.Store.Ping},
		{Name: "schema", Run: p.Store.CheckSchema},
		{Name: "writes", Run: limited(probeEvery, p.Clock, p.Store.ProbeWrite), Loss: "Nothing is recorded: the database takes no writes. Reads are served."},
		{Name: "temporal", Run: p.Flows.Ping, Loss: "Challenges, holds, enrollments and webhooks wait: Temporal does not answer."},
		{Name: "search_attributes", Run: limited(attributesEvery, p.Clock, p.attributes), Loss: p.attributesLoss()},
		{Name: "workers", Run: limited(attributesEvery, p.Clock, p.served), Loss: "Challenges, holds, enrollments and webhooks wait: no worker receives tasks."},
		{Name: "master_key", Run: p.keyState.masters, Loss: "What another master key sealed cannot be read: this process lacks that key."},
		{Name: "signing", Run: p.keyState.sign, Loss: "Enforced allows are refused: no environment has a signing key that can be opened."},
	}
	if p.options.OnlyWorks {
		checks = append(checks, Check{Name: "worker", Run: p.takesTasks})
	}
	return checks
}

// attributesEvery is how long what Temporal says of the namespace and its workers is believed.
const attributesEvery = 5 * time.Second

// attributesLoss is empty for a worker, which is not ready without the search attributes.
func (p *Process) attributesLoss() string {
	if p.options.OnlyWorks {
		return ""
	}
	return "Completions and reviews are refused: the Temporal namespace lacks search attributes."
}

// attributes is the check of the namespace's search attributes. While Temporal is unavailable another check fails.
func (p *Process) attributes(ctx context.Context) error {
	missing, err := p.Flows.MissingAttributes(ctx)
	if err == nil && len(missing) > 0 {
		return fmt.Errorf("the Temporal namespace lacks the search attributes %s", strings.Join(missing, ", "))
	}
	return nil
}

// served is the check that some worker receives tasks. While Temporal is unavailable, or this process is the worker, other checks fail.
func (p *Process) served(ctx context.Context) error {
	reason, err := p.Flows.Unserved(ctx)
	if err == nil && reason != "" && !p.polls.Load() {
		return errors.New(reason)
	}
	return nil
}

// ensureAttributes adds the search attributes that the namespace lacks, again and again until it has them: a namespace may be made after
// the worker has started.
func (p *Process) ensureAttributes(ctx context.Context) {
	for said := false; ; {
		err := p.Flows.EnsureAttributes(ctx)
		if err == nil {
			return
		}
		if problem.As(err) == nil && !said { // Temporal is there and refuses
			said = true
			p.Log.ErrorContext(ctx, "the Temporal namespace lacks search attributes, and this worker may not add them: add "+
				strings.Join(workflows.SearchAttributes(), ", ")+" as Keyword", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(attributesEvery):
		}
	}
}

// takesTasks is the check of a worker, which does nothing without tasks: it fails before the worker asks Temporal for tasks, and
// while Temporal gives none because it is unavailable or refuses.
func (p *Process) takesTasks(ctx context.Context) error {
	if !p.polls.Load() {
		return errNotPolling
	}
	return p.options.Temporal.Polls.Err(ctx, p.Flows.Ping)
}

// probeEvery is how long the outcome of a probing write stands for the next ones, so that requests for readiness cannot load the database.
const probeEvery = 2 * time.Second

// limited returns a check that runs at most once in the interval and otherwise returns the result of before.
func limited(every time.Duration, c clock.Clock, run func(ctx context.Context) error) func(ctx context.Context) error {
	var mu sync.Mutex
	var at time.Time
	var last error
	return func(ctx context.Context) error {
		mu.Lock()
		defer mu.Unlock()
		if now := c.Now(); at.IsZero() || now.Sub(at) >= every || now.Before(at) {
			at, last = now, run(ctx)
		}
		return last
	}
}

// loadModel puts in force the backgrounds that the database says: nothing is judged by another model meanwhile.
func (p *Process) loadModel() error {
	ctx, cancel := context.WithTimeout(context.Background(), drainWithin)
	defer cancel()
	if err := p.services.activation.Load(ctx); err != nil {
		return err
	}
	return p.services.activation.Warn(ctx)
}

// Close lets Temporal go.
func (p *Process) Close() {
	if p.stopTime != nil {
		p.stopTime()
	}
	p.Temporal.Close()
}

// StartOps serves the operations port; the returned function stops it.
func (p *Process) StartOps(failed chan<- error, listeners ...net.Listener) (stop func()) {
	p.Ops.Serve(failed, listeners...)
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), drainWithin)
		defer cancel()
		p.Ops.Stop(ctx)
	}
}

// StartAPI serves the API; the returned function lets requests under way finish and stops it.
func (p *Process) StartAPI(ctx context.Context, failed chan<- error, listeners ...net.Listener) (stop func(), err error) {
	base, cut := context.WithCancel(context.WithoutCancel(ctx))
	app, err := p.newAPI(base)
	if err != nil {
		cut()
		return nil, err
	}
	p.leave(app)
	for i, l := range listeners {
		listeners[i] = linger.NewListener(l)
		go p.answer(app, listeners[i], failed)
	}
	loops := p.startLoops(base)
	return func() {
		p.Ops.Drain()
		for _, l := range listeners {
			_ = l.Close()
		}
		<-time.After(p.options.ServeOn)
		p.services.hub.Stop() // streams never end by themselves
		if err := app.ShutdownWithTimeout(drainWithin); err != nil {
			p.Log.Warn("requests under way were cut off", "error", err)
		}
		cut()
		loops()
	}, nil
}

// leave makes every response of a stopping process the last on its connection.
func (p *Process) leave(app *fiber.App) {
	server := app.Server()
	handle := server.Handler
	server.Handler = func(c *fasthttp.RequestCtx) {
		handle(c)
		if p.Ops.draining.Load() {
			c.SetConnectionClose()
		}
	}
}

func (p *Process) answer(app *fiber.App, l net.Listener, failed chan<- error) {
	if err := app.Listener(l); err != nil {
		failed <- fmt.Errorf("the API at %s ended: %w", l.Addr(), err)
	}
}

// StartWorker works on the task queue and relays the outbox; the returned function lets what is under way finish.
func (p *Process) StartWorker(ctx context.Context, failed chan<- error) (stop func()) {
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := worker.Run(work, p.workerDeps()); err != nil && work.Err() == nil {
			failed <- err
		}
	}()
	return func() {
		cancel()
		<-done
	}
}
