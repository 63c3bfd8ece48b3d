package signing_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/authz/proof"
	"github.com/countersign-dev/countersign/internal/authz/signing"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/platform/masterkey"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/platform/reason"
	"github.com/countersign-dev/countersign/internal/testing/testenv"
	"github.com/countersign-dev/countersign/models"
)

// in are the ids of the environment's keys in a state, newest first.
func (b *bench) in(status models.KeyStatus) []string {
	b.Helper()
	rows, err := signing.AllSigningKeys(b.Context(), b.st.Q, b.scope)
	require.NoError(b, err)
	kids := []string{}
	for _, k := range rows {
		if k.Status == status {
			kids = append(kids, k.KID)
		}
	}
	return kids
}

// damage puts what no master key opens in place of the keys in the states.
func (b *bench) damage(statuses ...models.KeyStatus) {
	b.Helper()
	for _, status := range statuses {
		tag, err := b.st.Pool().Exec(b.Context(), "update signing_keys set sealed = '\\x0102' where status = $1", string(status))
		require.NoError(b, err)
		require.NotZero(b, tag.RowsAffected())
	}
	for _, s := range b.replicas {
		s.Forget("")
	}
}

func (b *bench) rotate() error {
	b.time.Advance(time.Second) // keys are distinguished by their creation time
	_, err := b.replicas[0].Rotate(b.Context(), b.scope, "cli:test")
	return err
}

func (b *bench) retire(kid string, atOnce bool) (int, error) {
	b.time.Advance(time.Second)
	_, revoked, err := b.replicas[0].RetireKey(b.Context(), b.scope, signing.Retirement{KID: kid, AtOnce: atOnce, Actor: "cli:test"})
	return revoked, err
}

func (b *bench) health() signing.Health {
	b.Helper()
	h, err := b.replicas[1].Health(b.Context())
	require.NoError(b, err)
	return h
}

// verifies reports whether a relying party that fetches the key set now accepts a proof.
func (b *bench) verifies(p live) bool {
	b.Helper()
	var v verifier
	b.fetch(&v)
	_, err := proof.Verify(p.compact, v.keys, b.time.Now(), proof.Expect{})
	return err == nil
}

func TestSignSkipsKeysThatCannotBeDecrypted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		after  time.Duration // since a rotation
		broken []models.KeyStatus
		signs  models.KeyStatus // empty: none
		health signing.Health
	}{
		"all open":              {0, nil, models.KeyActive, signing.Health{Able: 1}},
		"the next":              {0, []models.KeyStatus{models.KeyNext}, models.KeyActive, signing.Health{Able: 1}},
		"the retiring":          {0, []models.KeyStatus{models.KeyRetiring}, models.KeyActive, signing.Health{Able: 1}},
		"the active":            {0, []models.KeyStatus{models.KeyActive}, models.KeyRetiring, signing.Health{StandIn: 1}},
		"the active, later":     {5 * time.Minute, []models.KeyStatus{models.KeyActive}, models.KeyNext, signing.Health{StandIn: 1}},
		"all but the retiring":  {time.Minute, []models.KeyStatus{models.KeyActive, models.KeyNext}, models.KeyRetiring, signing.Health{StandIn: 1}},
		"those of long proofs":  {5 * time.Minute, []models.KeyStatus{models.KeyActive, models.KeyNext}, "", signing.Health{Unable: 1}},
		"every one":             {0, []models.KeyStatus{models.KeyActive, models.KeyNext, models.KeyRetiring}, "", signing.Health{Unable: 1}},
		"the active and others": {0, []models.KeyStatus{models.KeyActive, models.KeyRetiring}, models.KeyNext, signing.Health{StandIn: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			before := b.sign(0)
			require.NoError(t, b.rotate())
			b.time.Advance(c.after)
			b.damage(c.broken...)
			require.Equal(t, c.health, b.health())
			if c.signs == "" {
				_, _, err := b.replicas[0].Sign(t.Context(), b.st.Q, b.scope, proof.Claims{})
				require.True(t, problem.Is(err, problem.Unavailable), "%v", err)
				_, err = b.replicas[0].SignDocument(t.Context(), b.scope, "audit-head+jwt", []byte("{}"))
				require.True(t, problem.Is(err, problem.Unavailable), "%v", err)
				_, err = b.replicas[0].Verify(t.Context(), identity.Principal{TenantID: b.scope.Tenant, EnvironmentID: b.scope.Environment}, signing.Question{Proof: before.compact})
				require.NoError(t, err, "a proof is verified all the same")
				return
			}
			p := b.sign(0)
			require.Equal(t, b.in(c.signs), []string{p.kid})
			require.True(t, b.verifies(p))
			b.time.Advance(proof.MaxTTL - time.Second)
			_, err := b.replicas[0].Retire(t.Context(), b.scope, "upkeep")
			require.NoError(t, err)
			require.True(t, b.verifies(p), "for as long as it lives")
		})
	}
}

func TestRotateNeverReplacesWorkingKeyWithBrokenOne(t *testing.T) {
	t.Parallel()
	t.Run("the next key", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		active, next := b.sign(0).kid, b.in(models.KeyNext)[0]
		b.damage(models.KeyNext)
		err := b.rotate()
		require.True(t, problem.Is(err, problem.RotationInProgress), "%v", err)
		require.Equal(t, active, b.sign(0).kid)
		require.NotEqual(t, next, b.in(models.KeyNext)[0], "another is published in its place")
		require.NoError(t, b.rotate())
		require.NotEqual(t, active, b.sign(0).kid)
	})
	t.Run("published as another", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		active := b.sign(0).kid
		testenv.Exec(t, b.st, "update signing_keys set public_jwk = (select public_jwk from signing_keys where status = 'active') where status = 'next'")
		require.True(t, problem.Is(b.rotate(), problem.RotationInProgress))
		require.Equal(t, active, b.sign(0).kid)
	})
	t.Run("none there", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		active := b.sign(0).kid
		_, err := b.st.Pool().Exec(t.Context(), "delete from signing_keys where status = 'next'")
		require.NoError(t, err)
		require.True(t, problem.Is(b.rotate(), problem.RotationInProgress))
		require.Equal(t, active, b.sign(0).kid)
		require.Len(t, b.in(models.KeyNext), 1)
	})
	t.Run("every key", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		b.damage(models.KeyActive, models.KeyNext)
		require.NoError(t, b.rotate(), "nothing works that could be kept")
		require.True(t, b.verifies(b.sign(1)))
		require.Equal(t, signing.Health{Able: 1}, b.health())
	})
	t.Run("the active key", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		b.damage(models.KeyActive)
		require.NoError(t, b.rotate())
		require.True(t, b.verifies(b.sign(1)))
		require.Equal(t, signing.Health{Able: 1}, b.health())
	})
}

// A process that lacks a master key of the database cannot judge which keys are broken.
func TestRotateNeedsTheMasterKeysOfTheDatabase(t *testing.T) {
	t.Parallel()
	b := setup(t)
	fingerprint := b.keys.Fingerprints()[0]
	require.NoError(t, masterkey.RecordKey(t.Context(), b.st.Q, models.MasterKey{ID: fingerprint.ID, Fingerprint: fingerprint.Value, RecordedAt: b.time.Now()}))
	before, err := signing.AllSigningKeys(t.Context(), b.st.Q, b.scope)
	require.NoError(t, err)
	wrong, err := keyring.Parse(keyring.Generate())
	require.NoError(t, err)
	stranger := signing.New(b.st, wrong, clock.NewFake(b.time.Now()), "https://countersign.example")
	var mismatch *masterkey.Mismatch
	_, err = stranger.Rotate(t.Context(), b.scope, "cli:test")
	require.ErrorAs(t, err, &mismatch)
	for _, k := range before {
		_, _, err = stranger.RetireKey(t.Context(), b.scope, signing.Retirement{KID: k.KID, AtOnce: true, Actor: "cli:test"})
		require.ErrorAs(t, err, &mismatch)
	}
	after, err := signing.AllSigningKeys(t.Context(), b.st.Q, b.scope)
	require.NoError(t, err)
	require.Equal(t, before, after)
	require.NoError(t, b.rotate())
}

func TestRetireKey(t *testing.T) {
	t.Parallel()
	t.Run("one that is unknown", func(t *testing.T) {
		t.Parallel()
		_, err := setup(t).retire("unknown", false)
		require.True(t, problem.Is(err, problem.NotFound), "%v", err)
	})
	t.Run("the active one gives way", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		old, next := b.sign(0), b.in(models.KeyNext)[0]
		_, err := b.retire(old.kid, false)
		require.NoError(t, err)
		require.Equal(t, next, b.sign(0).kid)
		require.Equal(t, []string{old.kid}, b.in(models.KeyRetiring))
		require.True(t, b.verifies(old), "its proofs live on")
		_, err = b.retire(old.kid, false)
		require.NoError(t, err, "it is retiring as it was")
	})
	t.Run("the only one that works stays", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		old := b.sign(0)
		b.damage(models.KeyNext)
		for _, atOnce := range []bool{false, true} {
			_, err := b.retire(old.kid, atOnce)
			require.True(t, problem.Is(err, problem.Conflict), "%v", err)
			require.ErrorContains(t, err, "only one that can sign")
		}
		require.Equal(t, old.kid, b.sign(0).kid)
	})
	t.Run("the next one", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		old, next := b.sign(0), b.in(models.KeyNext)[0]
		_, err := b.retire(next, false)
		require.NoError(t, err)
		require.NotEqual(t, next, b.in(models.KeyNext)[0])
		require.Equal(t, old.kid, b.sign(0).kid)
	})
	t.Run("at once", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		old := b.sign(0)
		p := identity.Principal{TenantID: b.scope.Tenant, EnvironmentID: b.scope.Environment}
		_, err := b.replicas[1].Verify(t.Context(), p, signing.Question{Proof: old.compact})
		require.NoError(t, err)
		_, err = b.retire(old.kid, true)
		require.NoError(t, err)
		require.False(t, b.verifies(old))
		b.replicas[1].Forget(b.scope.Environment) // as its notice has it do
		v, err := b.replicas[1].Verify(t.Context(), p, signing.Question{Proof: old.compact})
		require.NoError(t, err)
		require.False(t, v.Valid)
		require.Equal(t, []string{reason.ProofKeyUnknown}, v.ReasonCodes)
		require.Equal(t, []string{old.kid}, b.in(models.KeyRetired))
		_, err = b.retire(old.kid, false)
		require.ErrorContains(t, err, "is retired already")
		_, err = b.retire(old.kid, true)
		require.NoError(t, err, "a revocation that was cut short is taken up again")
	})
}

func TestPublishedIsCachedUntilAKeyChanges(t *testing.T) {
	t.Parallel()
	b := setup(t)
	kids := func(replica int) []string {
		set, err := b.replicas[replica].Published(t.Context(), "")
		require.NoError(t, err)
		var body struct{ Keys []struct{ Kid string } }
		require.NoError(t, json.Unmarshal(set.Body, &body))
		out := []string{}
		for _, k := range body.Keys {
			out = append(out, k.Kid)
		}
		return out
	}
	first := kids(1)
	require.Len(t, first, 2)
	require.NoError(t, b.rotate())
	require.Len(t, kids(0), 3, "known at once to the process that rotated")
	asked := b.asked.Load()
	for range 100 {
		require.Equal(t, first, kids(1))
	}
	require.Equal(t, asked, b.asked.Load(), "no query a request")
	b.replicas[1].Forget(b.scope.Environment)
	require.Len(t, kids(1), 3, "a notice drops it")
	b.time.Advance(signing.Overlap - 2*time.Second)
	require.Len(t, kids(1), 3)
	b.time.Advance(2 * time.Second)
	require.Len(t, kids(1), 2, "not kept past a key's time")
}

func TestKeyIDsDoNotLookLikeFlags(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for range 100 { // one id in 64 would begin with a hyphen
		require.NoError(t, b.rotate())
	}
	rows, err := signing.AllSigningKeys(t.Context(), b.st.Q, b.scope)
	require.NoError(t, err)
	require.Len(t, rows, 102)
	for _, k := range rows {
		require.NotEqual(t, "-", k.KID[:1])
	}
}
