package gate_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/cmd/countersign/wiring"
	"github.com/countersign-dev/countersign/integration/apitest"
	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/testing/testenv"
	"github.com/countersign-dev/countersign/internal/testing/testenv/temporaltest"
	"github.com/countersign-dev/countersign/models"
	countersign "github.com/countersign-dev/countersign/sdk/go"
	"github.com/countersign-dev/countersign/workflows"
)

// shared is the running service that all tests share.
var shared struct {
	*wiring.Process
	url string
}

func TestMain(m *testing.M) {
	if runBank() {
		return
	}
	stop, err := start(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, "integration/gate: the service did not start:", err)
		os.Exit(1)
	}
	code := m.Run()
	stop()
	os.Exit(code)
}

func start(ctx context.Context) (func(), error) {
	database, drop, err := testenv.New(ctx)
	if err != nil {
		return nil, err
	}
	address, namespace, err := temporaltest.New(ctx)
	if err != nil {
		return nil, err
	}
	keys, err := keyring.Parse(keyring.Generate())
	if err != nil {
		return nil, err
	}
	api, err1 := net.Listen("tcp", "127.0.0.1:0")
	ops, err2 := net.Listen("tcp", "127.0.0.1:0")
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	shared.url = fmt.Sprintf("http://localhost:%d", api.Addr().(*net.TCPAddr).Port)
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	core, err := wiring.Open(ctx, wiring.Settings{Log: log, Clock: clock.System(), DatabaseURL: database, Keys: keys, BaseURL: shared.url})
	if err != nil {
		return nil, err
	}
	shared.Process, err = wiring.New(core, wiring.Options{Temporal: workflows.DialOptions{Address: address, Namespace: namespace}})
	if err != nil {
		return nil, err
	}
	failed := make(chan error, 4)
	stopOps, stopWorker := shared.StartOps(failed, ops), shared.StartWorker(ctx, failed)
	stopAPI, err := shared.StartAPI(ctx, failed, api)
	if err != nil {
		return nil, err
	}
	return func() {
		stopAPI()
		stopWorker()
		stopOps()
		shared.Process.Close()
		core.Close()
		drop()
	}, nil
}

// world is a sandbox with a client of its administrator, and the key of a gate.
type world struct {
	*countersign.Client
	models.Environment
	gate string
}

// permissions are those that docs/gate.md names.
var permissions = []string{"decide", "decisions.read", "challenges", "verify"}

func newWorld(t testing.TB) world {
	t.Helper()
	made, err := shared.Tenancy.Create(t.Context(), tenancy.Spec{Name: "Alder Bank", RPID: "localhost", Origins: []string{shared.url}, AllowLocal: true}, "cli:test")
	require.NoError(t, err)
	w := world{Environment: made.Sandbox}
	w.Client, err = countersign.New(shared.url, w.issue(t, models.ScopeAdmin, nil), countersign.WithTimeout(time.Minute))
	require.NoError(t, err)
	w.gate = w.issue(t, models.ScopeServer, permissions)
	return w
}

func (w world) issue(t testing.TB, scope models.Scope, permissions []string) string {
	t.Helper()
	plenty := 10_000_000
	ask := identity.Issue{Scope: scope, Name: "test", RateLimit: &plenty}
	for _, name := range permissions {
		ask.Permissions = append(ask.Permissions, models.Permission(name))
	}
	issued, err := shared.Identity.Issue(t.Context(), pg.Scope{Tenant: w.TenantID, Environment: w.ID}, ask, "cli:test", "")
	require.NoError(t, err)
	return issued.Key
}

// action creates an action in a mode with a policy, for the resource type payment. It returns its key.
func (w world) action(t testing.TB, mode string, requirements countersign.PolicyRequirements) string {
	t.Helper()
	ctx := t.Context()
	made, err := w.CreateAction(ctx, countersign.ActionCreate{Key: "payments.release_" + apitest.Unique(), Name: "Release a payment", Consequence: "Money leaves.",
		AllowedAudiences: []string{"payments"}, ResourceType: "payment", ContextSchema: map[string]any{"type": "object"}})
	require.NoError(t, err)
	version, err := w.CreatePolicyVersion(ctx, made.ID, countersign.PolicyVersionCreate{Requirements: requirements})
	require.NoError(t, err)
	_, err = w.ActivatePolicyVersion(ctx, made.ID, version.Version)
	require.NoError(t, err)
	_, err = w.UpdateAction(ctx, made.ID, countersign.ActionUpdate{Mode: mode})
	require.NoError(t, err)
	return made.Key
}

func (w world) subject(t testing.TB) string {
	t.Helper()
	made, err := w.CreateSubject(t.Context(), nil)
	require.NoError(t, err)
	return made.ID
}

// Policies for each decision.
var (
	allowing    = countersign.PolicyRequirements{CoverageMin: "none"}
	challenging = countersign.PolicyRequirements{CoverageMin: "none", ExplicitApprovalRequired: true}
	holding     = countersign.PolicyRequirements{CoverageMin: "partial", InsufficientEvidence: "hold"}
	denying     = countersign.PolicyRequirements{CoverageMin: "partial", InsufficientEvidence: "deny"}
)
