package signing_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/authz/proof"
	"github.com/countersign-dev/countersign/internal/authz/signing"
	"github.com/countersign-dev/countersign/internal/platform/canonical"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/reason"
	"github.com/countersign-dev/countersign/internal/testing/storetest"
	"github.com/countersign-dev/countersign/internal/testing/testenv"
	"github.com/countersign-dev/countersign/models"
)

const step = time.Minute

// bench is two replicas on one database and one clock.
type bench struct {
	*testing.T
	st       *pg.Store
	time     *clock.Fake
	scope    pg.Scope
	keys     *keyring.Keyring
	replicas [2]*signing.Service
	asked    atomic.Int64 // statements sent to Postgres
}

// TraceQueryStart implements pgx.QueryTracer.
func (b *bench) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	b.asked.Add(1)
	return ctx
}

// TraceQueryEnd implements pgx.QueryTracer.
func (b *bench) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func setup(t *testing.T) *bench {
	t.Helper()
	keys, err := keyring.Parse(keyring.Generate())
	require.NoError(t, err)
	b := &bench{T: t, time: clock.NewFake(storetest.Epoch), keys: keys}
	st, err := pg.Open(context.WithoutCancel(t.Context()), testenv.Database(t), pg.Options{Keys: testenv.Keys(), Tracer: b})
	require.NoError(t, err)
	t.Cleanup(st.Close)
	b.st, b.scope = st, storetest.Scope(storetest.Environment(t, st, models.Live))
	for i := range b.replicas {
		b.replicas[i] = signing.New(st, keys, b.time, "https://countersign.example")
	}
	require.NoError(t, b.replicas[0].Establish(t.Context(), st.Q, b.scope, "cli:test"))
	return b
}

// live is a proof and the second at which it is dead.
type live struct {
	compact, kid string
	until        int64
}

// claims are those of a proof of the longest life.
func (b *bench) claims() proof.Claims {
	b.Helper()
	now := b.time.Now().Unix()
	digest, err := canonical.ContextDigest(nil)
	require.NoError(b, err)
	return proof.Claims{
		Issuer: b.replicas[0].Issuer(b.scope.Environment), Subject: "user-1", Audience: "bank.example", IssuedAt: now, NotBefore: now,
		Expires: now + int64(proof.MaxTTL/time.Second), ID: ids.New(ids.Proof), Nonce: "0123456789abcdef", Environment: b.scope.Environment,
		EnvironmentKind: "live", Mode: "enforce", Authorization: "azn_1", Context: digest,
		Action:   proof.Action{Key: "payments.transfer", Hash: "sha256:aa", PolicyVersion: 1, ContentHash: "sha256:bb"},
		Resource: proof.Resource{Type: "account", Digest: digest}, Assurance: proof.Assurance{Coverage: "none", Claims: map[string]string{}},
		Methods: []string{proof.MethodBehaviour},
	}
}

// sign makes a proof of the longest life.
func (b *bench) sign(replica int) live {
	b.Helper()
	c := b.claims()
	compact, kid, err := b.replicas[replica].Sign(b.Context(), b.st.Q, b.scope, c)
	require.NoError(b, err)
	return live{compact, kid, c.Expires}
}

// verifier is a relying party that caches the key set for as long as it may.
type verifier struct {
	keys  proof.KeySet
	until time.Time
}

func (b *bench) fetch(v *verifier) {
	b.Helper()
	if b.time.Now().Before(v.until) {
		return
	}
	set, err := b.replicas[0].Published(b.Context(), "")
	require.NoError(b, err)
	v.keys, err = proof.ParseJWKS(set.Body)
	require.NoError(b, err)
	v.until = b.time.Now().Add(set.MaxAge)
}

// Keys are rotated and retired while replicas sign and relying parties verify with key sets as old as they may be: at no
// step is a live proof refused, and no key stays published for ever.
func TestProofsVerifyDuringRotation(t *testing.T) {
	t.Parallel()
	b := setup(t)
	verifiers := make([]verifier, 5) // the minutes that a key set may be kept
	var proofs []live
	signed := map[string]bool{}
	const rotateEvery, rotations = 25 * time.Minute, 4
	retired := 0
	for at := time.Duration(0); at <= rotations*rotateEvery; at += step {
		if at > 0 && at%rotateEvery == 0 {
			_, err := b.replicas[at/rotateEvery%2].Rotate(t.Context(), b.scope, "cli:test")
			require.NoError(t, err)
		}
		n, err := b.replicas[1].Retire(t.Context(), b.scope, "upkeep")
		require.NoError(t, err)
		retired += n
		for i := range b.replicas {
			p := b.sign(i)
			signed[p.kid] = true
			proofs = append(proofs, p)
		}
		now := b.time.Now()
		for len(proofs) > 0 && proofs[0].until+int64(proof.MaxLeeway/time.Second) <= now.Unix() {
			proofs = proofs[1:]
		}
		for i := range verifiers {
			if time.Duration(i)*time.Minute > at {
				continue // they begin a minute apart, so that their sets are of every age
			}
			b.fetch(&verifiers[i])
			for _, p := range proofs {
				_, err := proof.Verify(p.compact, verifiers[i].keys, now, proof.Expect{Leeway: proof.MaxLeeway})
				require.NoError(t, err, "after %s, verifier %d", at, i)
			}
		}
		b.time.Advance(step)
	}
	require.Len(t, signed, rotations+1, "every rotation brought a key into use")
	require.GreaterOrEqual(t, retired, rotations-1)

	b.time.Advance(signing.Overlap)
	_, err := b.replicas[0].Retire(t.Context(), b.scope, "upkeep")
	require.NoError(t, err)
	var last verifier
	b.fetch(&last)
	require.Len(t, last.keys, 2, "the key that signs and the next: what is retired is published no more")
	_, err = proof.Verify(proofs[0].compact, last.keys, b.time.Now(), proof.Expect{})
	var refused *proof.Error
	require.ErrorAs(t, err, &refused)
}

// A key that may be known to others can be replaced twice at once: what the newest key signs is known to every replica,
// also to one that looked at the keys a moment before.
func TestVerifyKnowsKeyCreatedByOtherReplica(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := identity.Principal{TenantID: b.scope.Tenant, EnvironmentID: b.scope.Environment, CredentialID: "crd_1"}
	_, err := b.replicas[1].Verify(t.Context(), p, signing.Question{Proof: b.sign(1).compact})
	require.NoError(t, err)
	for range 2 {
		_, err := b.replicas[0].Rotate(t.Context(), b.scope, "cli:test")
		require.NoError(t, err)
	}
	v, err := b.replicas[1].Verify(t.Context(), p, signing.Question{Proof: b.sign(0).compact})
	require.NoError(t, err)
	require.Equal(t, []string{reason.ProofUnknown}, v.ReasonCodes, "its signature holds; it is not on record, since the test signed it alone")
}
