package middleware

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"
	"go.opentelemetry.io/otel/trace"

	"github.com/countersign-dev/countersign/api/metrics"
	"github.com/countersign-dev/countersign/api/openapi"
	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/account/ratelimit"
	"github.com/countersign-dev/countersign/internal/account/tally"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/platform/tracing"
	"github.com/countersign-dev/countersign/internal/transport/request"
)

// Config configures the middleware.
type Config struct {
	BaseURL        string        // public URL of the service, without a trailing slash
	MaxFrameBytes  int           // limit of a body of evidence frames; default 256 KiB
	RequestTimeout time.Duration // deadline of a request; default 10 s
	LocalOnly      bool          // serve only requests whose Host names this machine; for development
}

// Deps are the dependencies of the middleware. All but Tracing are required.
type Deps struct {
	Log      *slog.Logger
	Clock    clock.Clock
	Store    *pg.Store
	Keys     *keyring.Keyring
	Identity *identity.Service
	Limiter  *ratelimit.Limiter
	Tally    *tally.Recorder
	Metrics  *metrics.Metrics
	Tracing  trace.TracerProvider // nil disables tracing
}

// Chain is the middleware of the API.
type Chain struct {
	config     Config
	base       context.Context
	deps       Deps
	tracer     trace.Tracer
	contract   Contract
	operations map[string]openapi.Operation
	routes     []Route // in the order of matching
	gates      gates
}

// New returns the middleware. Requests end when base does. It fails only if the embedded contract does not compile.
func New(base context.Context, config Config, d Deps) (*Chain, error) {
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
	m := &Chain{
		config: config, base: base, deps: d, tracer: tracing.Tracer(d.Tracing, "api"),
		contract: Contract{contract}, operations: map[string]openapi.Operation{}, gates: newGates(),
	}
	for _, op := range contract.Operations() {
		m.operations[op.ID] = op
	}
	return m, nil
}

// Contract returns the contract that requests are checked against.
func (m *Chain) Contract() Contract { return m.contract }

// MaxFrameBytes returns the limit of a body of evidence frames.
func (m *Chain) MaxFrameBytes() int { return m.config.MaxFrameBytes }

// handle builds the chain of one route: load shedding, authentication and quota, the contract's rules for path, query and
// body, idempotency, and the handler. A step ends the request by returning an error.
func (m *Chain) handle(r Route) fiber.Handler {
	params, body := m.paramsCheck(r), m.bodyCheck(r)
	handler := naming(r)
	if op, ok := m.operations[r.Operation]; ok && op.Idempotent {
		handler = m.idempotent(r.Operation, handler)
	}
	if r.Old {
		handler = mayBeOld(handler)
	}
	if r.Personal {
		handler = m.counting(r, handler)
	}
	checked := m.shedding(r, func(c *fiber.Ctx, key identity.Key) error {
		if r.Access != AccessOpen {
			if err := m.admit(c, r, key); err != nil {
				return err
			}
		}
		if err := params(c); err != nil {
			return err
		}
		if err := body(c); err != nil {
			return err
		}
		return handler(c)
	})
	if m.operations[r.Operation].AuthZEN {
		checked = followAuthZEN(checked)
	}
	return func(c *fiber.Ctx) error {
		request.SetRoute(c, r.Operation)
		return checked(c)
	}
}

// observe wraps every request: it sets the id, the deadline and the trace, turns an error or a panic into a response, and
// writes one log line and one measurement, and has a refusal recorded.
func (m *Chain) observe(c *fiber.Ctx) error {
	start := time.Now()
	id := m.identify(c)
	ctx, cancel := context.WithTimeout(m.base, m.config.RequestTimeout)
	defer cancel()
	ctx, span, trace := m.startSpan(ctx, c)
	request.SetTraceID(c, trace)
	request.SetContext(c, ctx)

	if err := m.recovered(c); err != nil {
		if err := m.WriteProblem(c, err); err != nil {
			return err
		}
	}
	took := time.Since(start)
	route, code, status := request.Route(c), string(request.ProblemCode(c)), c.Response().StatusCode()
	m.deps.Tally.Refused(request.Principal(c), route, request.ForbiddenCode(c))
	endSpan(span, route, c.Method(), code, status)
	m.deps.Metrics.Handled(metrics.Request{Environment: request.Principal(c).EnvironmentID, Operation: route, Method: c.Method(), Status: status, Took: took})
	m.deps.Log.LogAttrs(ctx, slog.LevelInfo, "request",
		slog.String("request_id", id), slog.String("trace_id", trace), slog.String("route", route), slog.String("method", c.Method()),
		slog.Int("status", status), slog.String("code", code), slog.String("credential", request.Principal(c).CredentialID),
		slog.Float64("ms", float64(took.Microseconds())/1000))
	return nil
}

// identify sets the request id, which is the caller's own if it is safe to log, and the headers of every response.
func (m *Chain) identify(c *fiber.Ctx) string {
	id := c.Get(fiber.HeaderXRequestID)
	if !validRequestID(id) {
		id = ids.New(ids.Request)
	}
	request.SetID(c, id)
	c.Set(fiber.HeaderXRequestID, id)
	c.Set(fiber.HeaderXContentTypeOptions, "nosniff")
	c.Set(fiber.HeaderCacheControl, "no-store")
	return id
}

// recovered runs the rest of the chain and turns a panic into an error.
func (m *Chain) recovered(c *fiber.Ctx) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = m.panicked(c, r)
		}
	}()
	return c.Next()
}

// panicked turns a panic into an error for WriteProblem. The stack goes to the log only.
func (m *Chain) panicked(c *fiber.Ctx, r any) error {
	m.deps.Log.LogAttrs(request.Context(c), slog.LevelError, "a handler panicked",
		slog.String("request_id", request.ID(c)), slog.String("route", request.Route(c)), slog.String("stack", string(debug.Stack())))
	return &problem.Error{
		Code: problem.Internal, Detail: request.InternalDetail, Cause: fmt.Errorf("panic: %v", r),
	}
}

// validRequestID limits a caller's own request id to characters that no log format interprets.
func validRequestID(id string) bool {
	if len(id) < 8 || len(id) > 128 {
		return false
	}
	for _, r := range id {
		known := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._:-", r)
		if !known {
			return false
		}
	}
	return true
}

// naming adds the name of the parameter to a not_found of a route's handler. The services name it themselves if a request has several.
func naming(r Route) fiber.Handler {
	names := r.params()
	if r.Finds != "" {
		names = []string{r.Finds}
	}
	return func(c *fiber.Ctx) error {
		err := r.Handler(c)
		if err == nil || len(names) == 0 {
			return err
		}
		if p := request.ProblemOf(err); p.Code == problem.NotFound && p.Parameter == "" {
			return problem.NotFoundBy(strings.Join(names, " and "))
		}
		return err
	}
}

// counting has the records about people that the list of a route returned counted for the audit log.
func (m *Chain) counting(r Route, list fiber.Handler) fiber.Handler {
	return func(c *fiber.Ctx) error {
		err := list(c)
		if n, listed := request.Listed(c); listed {
			m.deps.Tally.Read(request.Principal(c), r.Operation, n)
		}
		return err
	}
}
