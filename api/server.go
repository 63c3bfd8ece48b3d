package api

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"log/slog"
	"time"

	"github.com/gofiber/fiber/v2"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/countersign-dev/countersign/api/openapi"
	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/account/ratelimit"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/platform/store"
)

// Config is what may be set of the HTTP face.
type Config struct {
	BaseURL        string        // what the world calls the service, no slash at the end
	MaxFrameBytes  int           // cap of an evidence body; default 256 KiB
	RequestTimeout time.Duration // the deadline of a request; default 10 s
	Version        string        // of the build, for /meta
}

// Deps are the services behind the handlers. All but Pages are required.
type Deps struct {
	Log      *slog.Logger
	Clock    clock.Clock
	Store    *store.Store
	Keys     *keyring.Keyring
	Identity *identity.Service
	Limiter  *ratelimit.Limiter
	Metrics  *Metrics
	Services Services
	Pages    Pages                // what people open in a browser; may be nil
	Tracing  trace.TracerProvider // nil: off
}

// server holds what the chain and the handlers share.
type server struct {
	config     Config
	base       context.Context
	log        *slog.Logger
	clock      clock.Clock
	store      *store.Store
	keys       *keyring.Keyring
	identity   *identity.Service
	limiter    *ratelimit.Limiter
	metrics    *Metrics
	tracing    trace.TracerProvider
	tracer     trace.Tracer
	contract   *openapi.Contract
	operations map[string]openapi.Operation
	methods    map[string][]string
	gates      gates

	handlers
}

// maxHeaders caps request line and headers, as most proxies do. Every connection holds so much for as long as it is open, an
// event stream's too.
const maxHeaders = 8 << 10

// writeWithin bounds how long a client may take to read an answer. Streams and exports set deadlines of their own as they go on.
const writeWithin = 60 * time.Second

// New builds the application. Requests end when base does.
func New(base context.Context, config Config, d Deps) (*fiber.App, error) {
	s, err := newServer(base, config, d)
	if err != nil {
		return nil, err
	}
	app := fiber.New(fiber.Config{
		AppName:               "countersign",
		DisableStartupMessage: true,
		Immutable:             true, // values outlive their handler in workflows and logs
		StrictRouting:         true,
		CaseSensitive:         true,
		UnescapePath:          true,
		BodyLimit:             s.config.MaxFrameBytes + maxBody, // beyond it nothing is read; below, the chain answers in words
		ReadTimeout:           30 * time.Second,
		WriteTimeout:          writeWithin,
		IdleTimeout:           2 * time.Minute,
		ReadBufferSize:        maxHeaders,
		ErrorHandler:          s.answerError,
	})
	app.Use(s.observe)
	app.Use(s.plainly)
	app.Use(s.crossOrigin)
	if d.Pages != nil {
		d.Pages(app)
	}
	s.mount(app)
	s.answerOddMethods(app)
	return app, nil
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
		limiter: d.Limiter, metrics: d.Metrics, tracing: d.Tracing, contract: contract, operations: map[string]openapi.Operation{},
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

func newTraceID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails: it ends the process instead
	return hex.EncodeToString(b[:])
}
