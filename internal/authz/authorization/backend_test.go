package authorization_test

import (
	"context"
	"crypto/ecdsa"
	"encoding/json"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/authorization"
	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/authz/settle"
	"github.com/countersign-dev/countersign/internal/platform/keys"
	"github.com/countersign-dev/countersign/internal/platform/keys/transit"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/platform/reason"
	"github.com/countersign-dev/countersign/internal/testing/storetest"
	"github.com/countersign-dev/countersign/internal/testing/transittest"
	"github.com/countersign-dev/countersign/models"
)

// Only what needs a proof waits for the backend of the signing keys. It is refused within a second and leaves no trace, so that the
// same request can be sent again.
func TestDecisionsWithoutTheBackendOfSigningKeys(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		requires policy.Requirements
		mode     models.ActionMode
		refused  bool
	}{
		"enforced allow": {allowing, models.ModeEnforce, true},
		"shadow allow":   {allowing, models.ModeShadow, false},
		"deny":           {denying, models.ModeEnforce, false},
		"challenge":      {challenging, models.ModeEnforce, false},
		"hold":           {holding, models.ModeEnforce, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := transittest.Start(t)
			b := setupOn(t, storetest.New(t), c.requires, openTransit(t, server))
			r := b.request()
			b.Exec("update actions set mode = $1", string(c.mode))
			server.Sealed.Store(true)
			start := time.Now()
			_, err := b.Authorize(t.Context(), b.principal, r, b.clock.Now())
			require.Less(t, time.Since(start), time.Second)
			if !c.refused {
				require.NoError(t, err)
				return
			}
			require.True(t, problem.Is(err, problem.Unavailable), "%v", err)
			server.Sealed.Store(false)
			require.Eventually(t, func() bool {
				_, err := b.Authorize(t.Context(), b.principal, r, b.clock.Now())
				return err == nil
			}, 10*time.Second, 50*time.Millisecond)
		})
	}
}

func openTransit(t *testing.T, server *transittest.Server) keys.Signer {
	t.Helper()
	u, err := url.Parse(server.URI)
	require.NoError(t, err)
	s, err := transit.Open(u)
	require.NoError(t, err)
	return keys.NewGuard(s)
}

// watched is a backend that calls a function whenever it signs.
type watched struct {
	keys.Signer
	signing func()
}

func (w watched) Create(ctx context.Context, name string) ([]byte, keys.Key, error) {
	reference, key, err := w.Signer.Create(ctx, name)
	return reference, watchedKey{key, w.signing}, err
}

func (w watched) Open(reference []byte, public *ecdsa.PublicKey) (keys.Key, error) {
	key, err := w.Signer.Open(reference, public)
	return watchedKey{key, w.signing}, err
}

type watchedKey struct {
	keys.Key
	signing func()
}

func (k watchedKey) Sign(ctx context.Context, digest []byte) ([]byte, error) {
	k.signing()
	return k.Key.Sign(ctx, digest)
}

// limitedByBackend is a bundle with rules whose proofs a backend signs. It calls signing before each proof, once that is set.
func limitedByBackend(t *testing.T, requirements policy.Requirements, list ...policy.Rule) (b *bundle, server *transittest.Server, signing *func()) {
	t.Helper()
	server, signing = transittest.Start(t), new(func())
	b = setupOn(t, storetest.New(t), allowing, watched{openTransit(t, server), func() {
		if *signing != nil {
			(*signing)()
		}
	}})
	b.activateCounting(t, requirements, list...)
	return b, server, signing
}

// payment is a request for an amount.
func (b *bundle) payment(amount string) authorization.Request {
	r := b.request()
	r.Context = json.RawMessage(`{"amount": "` + amount + `", "currency": "EUR", "payee": "a"}`)
	return r
}

// While the backend signs a decision under a limit, no one waits for it: nothing is locked and no transaction is open. Who spends what is left
// meanwhile has it.
func TestBackendSignsWithoutLocks(t *testing.T) {
	t.Parallel()
	b, _, signing := limitedByBackend(t, allowing, limit)
	other := b.payment("700")
	var decided policy.Effect
	*signing = func() {
		*signing = nil // the other decision is signed too
		_, err := b.Store.Pool().Exec(t.Context(), "select from aggregate_locks for update nowait")
		require.NoError(t, err)
		require.Zero(t, b.Count("select count(*) from pg_stat_activity where datname = current_database() and state like 'idle in transaction%'"))
		got, err := b.authorize(t, other)
		require.NoError(t, err)
		decided = got.Decision
	}
	got, err := b.authorize(t, b.payment("400"))
	require.NoError(t, err)
	require.Equal(t, policy.Allow, decided)
	require.Equal(t, policy.Deny, got.Decision, "there is no room any more for what was signed")
	require.Nil(t, got.Proof)
	require.Equal(t, 1, b.Count("select count(*) from proofs"))
	last, err := b.authorize(t, b.payment("300"))
	require.NoError(t, err)
	require.Equal(t, policy.Allow, last.Decision)
	require.Equal(t, 1, b.Count("select count(*) from proofs where authorization_id = $1", last.ID))
}

// A decision that ends while the backend signs takes nothing of the limit.
func TestDecisionThatEndsAtTheBackendTakesNothing(t *testing.T) {
	t.Parallel()
	b, server, signing := limitedByBackend(t, allowing, limit)
	ended, end := context.WithCancel(t.Context())
	defer end()
	*signing = end
	r := b.payment("1000")
	_, err := b.Authorize(ended, b.principal, r, b.clock.Now())
	require.Error(t, err)
	*signing = nil
	server.Sealed.Store(true)
	_, err = b.Authorize(t.Context(), b.principal, r, b.clock.Now())
	requireProblem(t, err, problem.Unavailable)
	require.Zero(t, b.Count("select count(*) from aggregate_values"))
	server.Sealed.Store(false)
	got, err := b.authorize(t, r)
	require.NoError(t, err)
	require.Equal(t, policy.Allow, got.Decision)
}

// Decisions under one limit wait for a slow backend together and not one after the other, and never exceed the limit.
func TestConcurrentDecisionsOfASlowBackendNeverExceedACap(t *testing.T) {
	t.Parallel()
	b, server, _ := limitedByBackend(t, allowing, limit)
	const at, takes = 32, 200 * time.Millisecond
	server.SlowBy(takes)
	requests := make([]authorization.Request, at)
	for i := range requests {
		requests[i] = b.payment("70")
	}
	var allowed, replayed atomic.Int32
	var group sync.WaitGroup
	start := time.Now()
	for i := range requests {
		for range 2 { // the same request twice at once counts once
			group.Go(func() {
				answer, err := b.Authorize(t.Context(), b.principal, requests[i], b.clock.Now())
				switch {
				case err != nil:
					t.Error(err)
				case answer.Replayed:
					replayed.Add(1)
				case answer.Decision == policy.Allow:
					allowed.Add(1)
				}
			})
		}
	}
	group.Wait()
	require.Less(t, time.Since(start), 14*takes, "as long as 14 signatures in a row")
	require.EqualValues(t, 14, allowed.Load())
	require.EqualValues(t, at, replayed.Load())
	require.Equal(t, 14, b.Count("select count(*) from proofs"))
	require.Equal(t, 980, b.Count("select sum(amount)::int from aggregate_values where reserved = 'final' and amount is not null"))
}

// An approval counts the limit of an account anew. It waits for the backend without the account's lock, as a request does.
func TestApprovalsOfASlowBackendNeverExceedTheLimitOfAnAccount(t *testing.T) {
	t.Parallel()
	b, server, _ := limitedByBackend(t, allowing, account, toHold("held", policy.Stricter{HoldOn: []string{reason.RuleMatched}}))
	var held []string
	for range 8 {
		held = append(held, b.pay(t, `{"amount": "300", "currency": "EUR", "payee": "held"}`).ID)
		b.clock.Advance(16 * time.Minute)
	}
	server.SlowBy(200 * time.Millisecond)
	var allowed atomic.Int32
	var group sync.WaitGroup
	for _, parent := range held {
		group.Go(func() {
			if err := settle.Retry(func() error {
				made, err := b.Service.FollowUp(t.Context(), b.Store.Q, settle.FollowUp{Scope: b.Scope, Parent: parent, At: b.clock.Now(), Actor: "test", HoldApproved: true})
				if err == nil && made.Decision == string(policy.Allow) {
					allowed.Add(1)
				}
				return err
			}); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	require.EqualValues(t, 3, allowed.Load())
	require.Equal(t, 3, b.Count("select count(*) from proofs"))
}
