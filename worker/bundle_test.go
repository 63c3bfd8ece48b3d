package worker_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/countersign-dev/countersign/internal/authz/challenge"
	"github.com/countersign-dev/countersign/internal/authz/evaluation"
	"github.com/countersign-dev/countersign/internal/authz/hold"
	"github.com/countersign-dev/countersign/internal/authz/settle"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/platform/outbox"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/testing/fixture"
	"github.com/countersign-dev/countersign/internal/testing/testenv"
	"github.com/countersign-dev/countersign/internal/testing/testenv/temporaltest"
	"github.com/countersign-dev/countersign/models"
	"github.com/countersign-dev/countersign/worker"
	"github.com/countersign-dev/countersign/workflows"
)

// patience is how long a test waits for something that usually takes milliseconds.
const patience = 30 * time.Second

// bundle is the service of challenges, holds and evaluations on a real Postgres and a real Temporal server. Only the decisions
// are fakes.
type bundle struct {
	*fixture.World
	t           testing.TB
	temporal    client.Client
	runs        *workflows.Client
	challenges  *challenge.Service
	holds       *hold.Service
	evaluations *evaluation.Service

	address, namespace, master string // for a worker in a process of its own
}

func setup(t testing.TB) *bundle {
	t.Helper()
	address, namespace := temporaltest.Namespace(t)
	st := testenv.Store(t)
	b := &bundle{t: t, World: fixture.New(t, st, clock.System().Now())}
	b.address, b.namespace, b.master = address, namespace, keyring.Generate()
	keys, err := keyring.Parse(b.master)
	require.NoError(t, err)
	log := slog.New(slog.DiscardHandler)
	b.temporal, err = workflows.Dial(workflows.DialOptions{Address: address, Namespace: namespace, Keyring: keys, Log: log})
	require.NoError(t, err)
	t.Cleanup(b.temporal.Close)
	b.runs = workflows.NewClient(b.temporal, namespace)
	b.challenges = challenge.New(challenge.Deps{Store: st, Clock: clock.System(), Keyring: keys, Decide: allow(b.World, func() {})})
	b.holds = hold.New(hold.Deps{Store: st, Clock: clock.System(), Decide: allow(b.World, func() {})})
	b.evaluations = evaluation.New(st, clock.System())
	return b
}

// decide makes a follow-up decision.
type decide = func(context.Context, *pg.Q, settle.FollowUp) (models.Authorization, error)

// allow makes follow-up decisions that allow. It calls before first.
func allow(w *fixture.World, before func()) decide {
	return func(ctx context.Context, q *pg.Q, r settle.FollowUp) (models.Authorization, error) {
		before()
		return w.FollowUp(ctx, q, r, "allow")
	}
}

// startWorker starts a worker that runs until stop is called or the test ends.
func (b *bundle) startWorker() (stop func()) {
	b.t.Helper()
	w := worker.New(worker.Deps{Temporal: b.temporal, Services: b.services()})
	require.NoError(b.t, w.Start())
	stop = sync.OnceFunc(w.Stop)
	b.t.Cleanup(stop)
	return stop
}

func (b *bundle) services() worker.Services {
	return worker.Services{Challenges: b.challenges, Holds: b.holds, Evaluations: b.evaluations, Log: slog.New(slog.DiscardHandler)}
}

// runProcess runs worker.Run with the relay until the test ends.
func (b *bundle) runProcess(deps func(d *worker.Deps)) {
	b.t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(b.t.Context()))
	d := worker.Deps{
		Temporal: b.temporal, Services: b.services(), Log: slog.New(slog.DiscardHandler),
		Relay: &outbox.Relay{Store: b.Store, Clock: clock.System(), Log: slog.New(slog.DiscardHandler), Lanes: []outbox.Lane{
			{Name: "runs", Handlers: worker.WorkflowTopics(b.runs, b.challenges, b.holds, b.evaluations)},
		}},
	}
	if deps != nil {
		deps(&d)
	}
	ended := make(chan error, 1)
	go func() { ended <- worker.Run(ctx, d) }()
	b.t.Cleanup(func() {
		cancel()
		require.NoError(b.t, <-ended)
	})
}

// confirm prepares a completion by sandbox_confirm.
func (b *bundle) confirm(t testing.TB, c models.Challenge) challenge.Prepared {
	t.Helper()
	p, err := b.challenges.PrepareCompletion(t.Context(), b.Principal("crd_1"), c.ID, challenge.MethodSandboxConfirm, nil)
	require.NoError(t, err)
	return p
}

func (b *bundle) review(t testing.TB, h models.Hold, reviewer, resolution string) hold.Prepared {
	t.Helper()
	p, err := b.holds.PrepareReview(t.Context(), b.Principal(reviewer), h.AuthorizationID, hold.Vote{Resolution: resolution})
	require.NoError(t, err)
	return p
}

// eventually waits until the query returns n.
func (b *bundle) eventually(t testing.TB, n int, query string, args ...any) {
	t.Helper()
	require.Eventually(t, func() bool { return b.Count(query, args...) == n }, patience, 10*time.Millisecond, query)
}

func percentile(all []time.Duration, p float64) time.Duration {
	return all[min(int(p*float64(len(all))), len(all)-1)]
}

func describe(all []time.Duration) string {
	return fmt.Sprintf("n=%d p50=%s p95=%s p99=%s max=%s", len(all), percentile(all, .5), percentile(all, .95), percentile(all, .99), all[len(all)-1])
}
