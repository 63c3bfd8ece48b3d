package worker_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/challenge"
	"github.com/countersign-dev/countersign/internal/authz/followup"
	"github.com/countersign-dev/countersign/internal/authz/hold"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/platform/store"
	"github.com/countersign-dev/countersign/internal/testing/fixture"
	"github.com/countersign-dev/countersign/models"
	"github.com/countersign-dev/countersign/worker"
	"github.com/countersign-dev/countersign/workflows"
)

// moverEnv, when set, makes TestBlockedMoveProcess a worker process that stops for ever in the middle of its first move.
const moverEnv = "COUNTERSIGN_TEST_MOVER"

// stuck is where the process stops.
type stuck struct {
	Database, Address, Namespace, Master string
	Scope                                store.Scope
	Subject                              models.Subject
	Action                               models.Action
	AfterCommit                          bool
}

// reached is what the process says when it has got there.
const reached = "reached the place to be killed at"

// TestBlockedMoveProcess is no test of its own: it is the process that a test starts in order to kill it.
func TestBlockedMoveProcess(t *testing.T) {
	told := os.Getenv(moverEnv)
	if told == "" {
		t.Skip("started by another test as a process of its own")
	}
	var at stuck
	require.NoError(t, json.Unmarshal([]byte(told), &at))
	keys, err := keyring.Parse(at.Master)
	require.NoError(t, err)
	st, err := store.Open(t.Context(), at.Database, store.Options{})
	require.NoError(t, err)
	temporal, err := workflows.Dial(workflows.DialOptions{
		Address: at.Address, Namespace: at.Namespace, Keyring: keys, Log: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	world := &fixture.World{Store: st, Scope: at.Scope, Subject: at.Subject, Action: at.Action, Now: clock.System().Now()}
	block := func() {
		fmt.Println(reached)
		select {} // until it is killed
	}
	m := &mover{AfterCommit: at.AfterCommit, block: block}
	m.challenges = challenge.New(challenge.Deps{Store: st, Clock: clock.System(), Keyring: keys,
		Decide: func(ctx context.Context, q *store.Q, a followup.Request) (models.Authorization, []byte, error) {
			m.beforeCommit()
			followUp, err := world.FollowUp(ctx, q, a.Parent, "allow", a.Cause)
			return followUp, nil, err
		}})
	m.holds = hold.New(hold.Deps{Store: st, Clock: clock.System(),
		Decide: func(ctx context.Context, q *store.Q, a followup.Request) (models.Authorization, []byte, error) {
			m.beforeCommit()
			followUp, err := world.FollowUp(ctx, q, a.Parent, "allow", a.Cause)
			return followUp, []byte(`{"id":"` + followUp.ID + `"}`), err
		}})
	require.NoError(t, worker.Run(t.Context(), worker.Deps{
		Temporal: temporal, Log: slog.New(slog.DiscardHandler),
		Services: worker.Services{Challenges: challengeMover{m.challenges, m}, Holds: holdMover{m.holds, m}, Log: slog.New(slog.DiscardHandler)},
	}))
}

// mover stops in a move, before or after its commit.
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

// mover starts the process; the returned function waits until it is in the middle of a move and kills it.
func (b *bundle) mover(t *testing.T, afterCommit bool) (kill func()) {
	t.Helper()
	told, err := json.Marshal(stuck{
		b.Store.Pool().Config().ConnString(), b.address, b.namespace, b.master, b.Scope, b.Subject, b.Action, afterCommit,
	})
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestBlockedMoveProcess$", "-test.timeout=5m")
	cmd.Env = append(os.Environ(), moverEnv+"="+string(told))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
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

// A worker process is killed between the acceptance of an update and its answer, before its transaction has committed or
// right after. Whoever asked is told to ask again; the next worker sees the move through, and it is made once.
func TestKilledWorkerMoveIsMadeOnce(t *testing.T) {
	t.Parallel()
	const done = `select (select count(*) from challenges where status = 'completed') + (select count(*) from holds where status = 'approved')`
	for when, afterCommit := range map[string]bool{"before its commit": false, "after its commit": true} {
		for name, prepare := range map[string]func(t *testing.T, b *bundle) func() error{"completion": completing, "approval": approving} {
			t.Run(name+" "+when, func(t *testing.T) {
				t.Parallel()
				b := setup(t)
				ask := prepare(t, b)
				kill := b.mover(t, afterCommit)
				asked := make(chan error, 1)
				go func() { asked <- ask() }()
				kill()
				err := <-asked
				require.True(t, problem.Is(err, problem.Unavailable), "%v", err)
				require.Positive(t, problem.As(err).RetryAfter)
				require.Equal(t, map[bool]int{false: 0, true: 1}[afterCommit], b.Count(done), "what the killed process had committed")

				b.work()
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
	p := b.confirm(t, b.Challenge(life, "sandbox_confirm"))
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
