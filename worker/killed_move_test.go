package worker_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/challenge"
	"github.com/countersign-dev/countersign/internal/authz/hold"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/worker"
)

// reached is the line that the process prints before it blocks.
const reached = "reached the place to be killed at"

// TestBlockedMoveProcess is the worker process that TestKilledWorkerMoveIsMadeOnce starts and kills: it blocks in its first move.
func TestBlockedMoveProcess(t *testing.T) {
	c := connected(t)
	c.world.Now = clock.System().Now()
	m := &mover{AfterCommit: c.AfterCommit, block: func() {
		fmt.Println(reached)
		select {} // until it is killed
	}}
	m.challenges = challenge.New(challenge.Deps{Store: c.world.Store, Clock: clock.System(), Keyring: c.keys, Decide: allow(c.world, m.beforeCommit)})
	m.holds = hold.New(hold.Deps{Store: c.world.Store, Clock: clock.System(), Decide: allow(c.world, m.beforeCommit)})
	require.NoError(t, worker.Run(t.Context(), worker.Deps{
		Temporal: c.temporal, Log: slog.New(slog.DiscardHandler),
		Services: worker.Services{Challenges: challengeMover{m.challenges, m}, Holds: holdMover{m.holds, m}, Log: slog.New(slog.DiscardHandler)},
	}))
}

// mover blocks in a move, before or after its commit.
type mover struct {
	AfterCommit bool
	block       func()
	challenges  *challenge.Service
	holds       *hold.Service
}

func (m *mover) beforeCommit() {
	if !m.AfterCommit {
		m.block()
	}
}

type challengeMover struct {
	*challenge.Service
	m *mover
}

func (c challengeMover) Complete(ctx context.Context, m challenge.Move) (challenge.Outcome, error) {
	_, _ = c.Service.Complete(ctx, m)
	c.m.block()
	return challenge.Outcome{}, nil
}

type holdMover struct {
	*hold.Service
	m *mover
}

func (h holdMover) Review(ctx context.Context, m hold.Move) (hold.Outcome, error) {
	_, _ = h.Service.Review(ctx, m)
	h.m.block()
	return hold.Outcome{}, nil
}

// blockedMove starts the process; the returned function waits until it is in the middle of a move and kills it.
func (b *bundle) blockedMove(t *testing.T, afterCommit bool) (kill func()) {
	t.Helper()
	cmd, out := b.process(t, "TestBlockedMoveProcess", afterCommit)
	return func() {
		t.Helper()
		lines := bufio.NewScanner(out)
		for lines.Scan() && lines.Text() != reached {
			continue
		}
		require.Equal(t, reached, lines.Text())
		require.NoError(t, cmd.Process.Kill())
		_ = cmd.Wait()
	}
}

// A worker process is killed between the acceptance of an update and its response, before or right after its transaction commits.
// The caller gets Retry-After. The next worker completes the move, which is made once.
func TestKilledWorkerMoveIsMadeOnce(t *testing.T) {
	t.Parallel()
	const done = `select (select count(*) from challenges where status = 'completed') + (select count(*) from holds where status = 'approved')`
	for when, afterCommit := range map[string]bool{"before its commit": false, "after its commit": true} {
		for name, prepare := range map[string]func(t *testing.T, b *bundle) func() error{"completion": completing, "approval": approving} {
			t.Run(name+" "+when, func(t *testing.T) {
				t.Parallel()
				b := setup(t)
				ask := prepare(t, b)
				kill := b.blockedMove(t, afterCommit)
				asked := make(chan error, 1)
				go func() { asked <- ask() }()
				kill()
				err := <-asked
				require.True(t, problem.Is(err, problem.Unavailable), "%v", err)
				require.Positive(t, problem.As(err).RetryAfter)
				require.Equal(t, map[bool]int{false: 0, true: 1}[afterCommit], b.Count(done), "what the killed process had committed")

				b.startWorker()
				require.Eventually(t, func() bool { return ask() == nil }, 2*patience, 100*time.Millisecond)
				require.Equal(t, 1, b.Count(done))
				require.Equal(t, 1, b.Events("challenge.completed")+b.Events("hold.approved"))
				require.Equal(t, 1, b.Count("select count(*) from authorizations where parent_id is not null"))
			})
		}
	}
}

func completing(t *testing.T, b *bundle) func() error {
	t.Helper()
	p := b.confirm(t, b.Challenge(challengeTTL, "sandbox_confirm"))
	return func() error {
		out, err := b.runs.CompleteChallenge(t.Context(), p.Workflow, p.Request)
		if err == nil && out.Status != "completed" {
			return errors.New(string(out.Status))
		}
		return err
	}
}

func approving(t *testing.T, b *bundle) func() error {
	t.Helper()
	p := b.review(t, b.Hold(time.Hour, 1), "crd_ann", hold.Approve)
	return func() error {
		out, err := b.runs.ReviewHold(t.Context(), p.Workflow, p.Resolution, p.Request)
		if err == nil && out.Status != "approved" {
			return errors.New(string(out.Status))
		}
		return err
	}
}
