package integration_test

import (
	"context"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/cmd/countersign/wiring"
	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/account/staff"
	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/testing/testenv"
	"github.com/countersign-dev/countersign/models"
	"github.com/countersign-dev/countersign/workflows"
)

// statement is one statement as the service sent it.
type statement struct {
	sql  string
	args []any
}

// statements is a pgx tracer that records every statement of a process.
type statements struct {
	mu   sync.Mutex
	sent []statement
}

// TraceQueryStart records a statement. The arguments are copied, because the service reuses their memory.
func (s *statements) TraceQueryStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceQueryStartData) context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent = append(s.sent, statement{d.SQL, slices.Clone(d.Args)})
	return ctx
}

// TraceQueryEnd implements pgx.QueryTracer.
func (s *statements) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// TraceBatchStart implements pgx.BatchTracer.
func (s *statements) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	return ctx
}

// TraceBatchQuery records a statement of a batch.
func (s *statements) TraceBatchQuery(ctx context.Context, conn *pgx.Conn, d pgx.TraceBatchQueryData) {
	s.TraceQueryStart(ctx, conn, pgx.TraceQueryStartData{SQL: d.SQL, Args: d.Args})
}

// TraceBatchEnd implements pgx.BatchTracer.
func (s *statements) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

// take returns what was sent since it was last called.
func (s *statements) take() []statement {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() { s.sent = nil }()
	return s.sent
}

// traced is an API on a database of its own, whose statements are recorded. It has no worker.
type traced struct {
	*wiring.Process
	statements
}

func newTraced(t *testing.T) *traced {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	url, drop, err := testenv.New(ctx)
	require.NoError(t, err)
	t.Cleanup(drop)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	out := &traced{}
	core, err := wiring.Open(ctx, wiring.Settings{
		Log: shared.log, Clock: clock.System(), DatabaseURL: url, Keys: shared.keys, Statements: &out.statements,
		BaseURL: "http://localhost:" + strconv.Itoa(listener.Addr().(*net.TCPAddr).Port),
	})
	require.NoError(t, err)
	t.Cleanup(core.Close)
	out.Process, err = wiring.New(core, wiring.Options{
		WebhookLoopback: true, Temporal: workflows.DialOptions{Address: shared.address, Namespace: shared.namespace},
	})
	require.NoError(t, err)
	t.Cleanup(out.Close)
	stop, err := out.StartAPI(ctx, make(chan error, 1), listener)
	require.NoError(t, err)
	t.Cleanup(stop)
	return out
}

// world creates a tenant and returns its sandbox.
func (p *traced) world(t *testing.T) world {
	t.Helper()
	made, err := p.Tenancy.Create(t.Context(), tenancy.Spec{
		Name: "Example", RPID: "localhost", Origins: []string{"http://localhost:8080"}, AllowLocal: true,
	}, "cli:test")
	require.NoError(t, err)
	w, limit := world{Environment: made.Sandbox}, plenty
	for scope, target := range map[models.Scope]*caller{models.ScopeServer: &w.Server, models.ScopeAdmin: &w.Admin} {
		issued, err := p.Identity.Issue(t.Context(), w.scope(), identity.Issue{Scope: scope, Name: "test", RateLimit: &limit}, "cli:test", "")
		require.NoError(t, err)
		*target = caller{base: p.BaseURL, key: issued.Key}
	}
	return w
}

// visitor signs a new member of staff with all roles in.
func (p *traced) visitor(t *testing.T, w world) *visitor {
	t.Helper()
	in, err := p.People.Create(t.Context(), w.scope(), staff.Invitee{
		Name: "Staff Member", Roles: []models.Role{models.RoleReviewer, models.RoleOperator, models.RoleAuditor},
	}, "cli:test")
	require.NoError(t, err)
	_, token, _ := strings.Cut(in.URL, "#")
	v := &visitor{t: t, base: p.BaseURL, person: in.Person.ID}
	v.register(token)
	return v
}
