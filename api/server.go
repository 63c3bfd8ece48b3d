package api

import (
	"context"
	"log/slog"
	"net/netip"
	"time"

	"github.com/gofiber/fiber/v2"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/countersign-dev/countersign/api/openapi"
	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/account/ratelimit"
	"github.com/countersign-dev/countersign/internal/account/tally"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/transport/request"
)

// Config configures the HTTP server.
type Config struct {
	BaseURL        string         // public URL of the service, without a trailing slash
	MaxFrameBytes  int            // limit of a body of evidence frames; default 256 KiB
	RequestTimeout time.Duration  // deadline of a request; default 10 s
	Version        string         // version of the build, for /meta
	TrustedProxies []netip.Prefix // whose X-Forwarded-Host and X-Forwarded-For are believed; empty for none
	LocalOnly      bool           // serve only requests whose Host names this machine; for development
}

// Pages registers the web pages (package web). It is called once, after the middleware and before the API's routes; what it
// registers is not part of the contract.
type Pages func(app *fiber.App)

// Deps are the dependencies of the server. All but Pages and Tracing are required.
type Deps struct {
	Log      *slog.Logger
	Clock    clock.Clock
	Store    *pg.Store
	Keys     *keyring.Keyring
	Identity *identity.Service
	Limiter  *ratelimit.Limiter
	Tally    *tally.Recorder
	Metrics  *Metrics
	Services Services
	Pages    Pages                // nil for none
	Tracing  trace.TracerProvider // nil disables tracing
}

// server is the state that the chain and the handlers share.
type server struct {
	config     Config
	base       context.Context
	log        *slog.Logger
	clock      clock.Clock
	store      *pg.Store
	keys       *keyring.Keyring
	identity   *identity.Service
	limiter    *ratelimit.Limiter
	tally      *tally.Recorder
	metrics    *Metrics
	tracing    trace.TracerProvider
	tracer     trace.Tracer
	contract   *openapi.Contract
	operations map[string]openapi.Operation
	methods    map[string][]string
	gates      gates

	handlers
}

// writeTimeout limits how long a client may take to read a response. Streams and exports extend it while they make progress.
const writeTimeout = 60 * time.Second

// writeBuffer holds the whole response of a decision with its headers, so that it is sent by one system call.
const writeBuffer = 8 << 10

// New builds the application. Requests end when base does. It fails only if the embedded contract does not compile.
func New(base context.Context, config Config, d Deps) (*fiber.App, error) {
	s, err := newServer(base, config, d)
	if err != nil {
		return nil, err
	}
	app := fiber.New(fiber.Config{
		AppName:               "countersign",
		DisableStartupMessage: true,
		Immutable:             true, // strings of a request outlive its handler in workflows and logs
		StrictRouting:         true,
		CaseSensitive:         true,
		UnescapePath:          true,                             // after request.CheckTarget, so that a segment stays one
		BodyLimit:             s.config.MaxFrameBytes + maxBody, // above the chain's own limits, whose problems say more
		ReadTimeout:           30 * time.Second,
		WriteTimeout:          writeTimeout,
		IdleTimeout:           2 * time.Minute,
		ReadBufferSize:        request.MaxHeaderBytes,
		WriteBufferSize:       writeBuffer,
		ErrorHandler:          s.writeProblem,

		EnableTrustedProxyCheck: true,
		TrustedProxies:          texts(s.config.TrustedProxies),

		DisablePreParseMultipartForm: true, // package request reads forms
	})
	app.Server().KeepHijackedConns = true // package sse takes over the connections of streams
	app.Use(s.observe)
	app.Use(s.unambiguous)
	app.Use(s.crossOrigin)
	if d.Pages != nil {
		d.Pages(app)
	}
	s.mount(app)
	s.handleUnknownMethods(app)
	s.explainFraming(app)
	return app, nil
}

func texts(networks []netip.Prefix) []string {
	out := make([]string, len(networks))
	for i, n := range networks {
		out[i] = n.String()
	}
	return out
}

func newServer(base context.Context, config Config, d Deps) (*server, error) {
	if config.MaxFrameBytes == 0 {
		config.MaxFrameBytes = 256 << 10
	}
	if config.RequestTimeout == 0 {
		config.RequestTimeout = 10 * time.Second
	}
	contract, err := openapi.Compile()
	if err != nil {
		return nil, err
	}
	s := &server{
		config: config, base: base, log: d.Log, clock: d.Clock, store: d.Store, keys: d.Keys, identity: d.Identity,
		limiter: d.Limiter, tally: d.Tally, metrics: d.Metrics, tracing: d.Tracing, contract: contract, operations: map[string]openapi.Operation{},
	}
	if s.tracing == nil {
		s.tracing = noop.NewTracerProvider()
	}
	s.tracer = s.tracing.Tracer("github.com/countersign-dev/countersign/api")
	s.gates = newGates()
	for _, op := range contract.Operations() {
		s.operations[op.ID] = op
	}
	s.handlers = newHandlers(s, d)
	return s, nil
}
