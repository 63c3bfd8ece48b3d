package signing_test

import (
	"context"
	"errors"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/proof"
	"github.com/countersign-dev/countersign/internal/authz/signing"
	"github.com/countersign-dev/countersign/internal/platform/keys"
	"github.com/countersign-dev/countersign/internal/platform/keys/software"
	"github.com/countersign-dev/countersign/internal/platform/keys/transit"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/testing/storetest"
	"github.com/countersign-dev/countersign/internal/testing/testenv"
	"github.com/countersign-dev/countersign/internal/testing/transittest"
	"github.com/countersign-dev/countersign/models"
)

// use restarts the replicas with the backends.
func (b *bench) use(signers ...keys.Signer) {
	for i := range b.replicas {
		b.replicas[i] = signing.New(b.st, b.keys, b.time, "https://countersign.example", signers...)
	}
}

// kids returns the ids of the keys by status.
func (b *bench) kids() map[models.KeyStatus]string {
	b.Helper()
	rows, err := b.replicas[0].Keys(b.Context(), b.scope)
	require.NoError(b, err)
	out := map[models.KeyStatus]string{}
	for _, k := range rows {
		out[k.Status] = k.KID
	}
	return out
}

func (b *bench) backend(status models.KeyStatus) string {
	b.Helper()
	rows, err := b.replicas[0].Keys(b.Context(), b.scope)
	require.NoError(b, err)
	for _, k := range rows {
		if k.Status == status {
			return k.Backend
		}
	}
	return ""
}

func openTransit(t *testing.T, server *transittest.Server) keys.Signer {
	t.Helper()
	u, err := url.Parse(server.URI)
	require.NoError(t, err)
	s, err := transit.Open(u)
	require.NoError(t, err)
	return keys.NewGuard(s)
}

// Keys move from software to a backend and back by rotations; every proof verifies with a key set that was fetched before.
func TestKeysMoveToBackendAndBack(t *testing.T) {
	t.Parallel()
	b := setup(t)
	remote := openTransit(t, transittest.Start(t))
	b.use(remote, software.Signer{})
	var v verifier
	var proofs []live
	turn := func() {
		b.fetch(&v)
		p := b.sign(0)
		for _, p := range append(proofs, p) {
			_, err := proof.Verify(p.compact, v.keys, time.Unix(p.until-1, 0), proof.Expect{})
			require.NoError(t, err)
		}
		proofs = []live{p}
		require.NoError(t, b.rotate())
		b.time.Advance(5 * time.Minute)
	}
	turn()
	require.Equal(t, []string{software.Name, remote.Name()}, []string{b.backend(models.KeyActive), b.backend(models.KeyNext)})
	turn()
	require.Equal(t, remote.Name(), b.backend(models.KeyActive))
	turn()
	signed, err := b.replicas[0].SignDocument(t.Context(), b.scope, "audit-head+jwt", []byte("{}"))
	require.NoError(t, err)
	b.use(software.Signer{}, remote)
	turn()
	turn()
	require.Equal(t, software.Name, b.backend(models.KeyActive))
	b.use()
	_, err = b.replicas[0].VerifyDocument(t.Context(), b.scope, "audit-head+jwt", signed)
	require.NoError(t, err, "a document verifies without the backend that signed it")
}

// onTransit returns an environment whose keys are all in a Transit server.
func onTransit(t *testing.T) (*bench, *transittest.Server) {
	t.Helper()
	b, server := setup(t), transittest.Start(t)
	b.use(openTransit(t, server))
	require.NoError(t, b.rotate())
	require.NoError(t, b.rotate())
	return b, server
}

func TestUnavailableBackendChangesNothing(t *testing.T) {
	t.Parallel()
	b, server := onTransit(t)
	before, err := b.replicas[0].Keys(t.Context(), b.scope)
	require.NoError(t, err)
	server.Sealed.Store(true)
	_, _, err = b.replicas[0].Sign(t.Context(), b.st.Q, b.scope, b.claims())
	require.True(t, problem.Is(err, problem.Unavailable), "%v", err)
	_, err = b.replicas[0].SignDocument(t.Context(), b.scope, "audit-head+jwt", []byte("{}"))
	require.True(t, problem.Is(err, problem.Unavailable), "%v", err)
	require.True(t, problem.Is(b.rotate(), problem.Unavailable))
	after, err := b.replicas[0].Keys(t.Context(), b.scope)
	require.NoError(t, err)
	require.Equal(t, before, after, "a key whose backend is unavailable is not replaced")
	require.Equal(t, signing.Health{Able: 1}, b.health())
	server.Sealed.Store(false)
	require.Eventually(t, func() bool {
		_, _, err := b.replicas[0].Sign(t.Context(), b.st.Q, b.scope, b.claims())
		return err == nil
	}, 10*time.Second, 50*time.Millisecond)
}

// A key that others may know is retired although the backend, which has it and the next key, is unavailable.
func TestCompromisedKeyIsRetiredWithoutTheBackend(t *testing.T) {
	t.Parallel()
	for _, status := range []models.KeyStatus{models.KeyActive, models.KeyNext} {
		t.Run(string(status), func(t *testing.T) {
			t.Parallel()
			b, server := onTransit(t)
			before := b.kids()
			server.Sealed.Store(true)
			_, _, err := b.replicas[0].RetireKey(t.Context(), b.scope, signing.Retirement{KID: before[status], Actor: "cli:test"})
			require.True(t, problem.Is(err, problem.Unavailable), "without haste it is refused: %v", err)
			require.Equal(t, before, b.kids())
			_, _, err = b.replicas[0].RetireKey(t.Context(), b.scope, signing.Retirement{KID: before[status], AtOnce: true, Actor: "cli:test"})
			require.NoError(t, err)
			after := b.kids()
			require.Equal(t, before[status], after[models.KeyRetired])
			require.Empty(t, after[models.KeyNext])
			active := before[models.KeyActive]
			if status == models.KeyActive {
				active = before[models.KeyNext]
			}
			require.Equal(t, active, after[models.KeyActive])
			server.Sealed.Store(false)
			require.Eventually(t, func() bool {
				_, _, err := b.replicas[0].Sign(t.Context(), b.st.Q, b.scope, b.claims())
				return err == nil
			}, 10*time.Second, 50*time.Millisecond)
			require.True(t, problem.Is(b.rotate(), problem.RotationInProgress), "a next key is published")
			require.NotEmpty(t, b.kids()[models.KeyNext])
		})
	}
}

// gate is a backend that creates a key when the test lets it.
type gate struct {
	software.Signer
	asked, open chan struct{}
}

func (gate) Name() string { return "gate" }

func (g gate) Create(ctx context.Context, name string) ([]byte, keys.Key, error) {
	select {
	case g.asked <- struct{}{}:
	default:
	}
	<-g.open
	return g.Signer.Create(ctx, name)
}

// While a slow backend creates the next key, others write in the environment. Of rotations that two processes ask for at once one is made: the
// other would have a key sign that no verifier has fetched.
func TestRotationsAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	g := gate{asked: make(chan struct{}, 1), open: make(chan struct{})}
	b.use(g)
	before := b.kids()
	results := make(chan error, len(b.replicas))
	for _, r := range b.replicas {
		go func() {
			_, err := r.Rotate(t.Context(), b.scope, "cli:test")
			results <- err
		}()
	}
	<-g.asked
	storetest.Subject(t, b.st, models.Environment{ID: b.scope.Environment, TenantID: b.scope.Tenant}, "user-1")
	require.Eventually(t, func() bool { return storetest.Waiting(t, b.st) > 0 }, 10*time.Second, 20*time.Millisecond, "the second rotation waits for the first")
	close(g.open)
	errs := []error{<-results, <-results}
	require.Contains(t, errs, nil)
	require.True(t, problem.Is(errors.Join(errs...), problem.RotationInProgress), "%v", errs)
	after := b.kids()
	require.Equal(t, before[models.KeyNext], after[models.KeyActive], "the key that was published signs")
	require.NotEqual(t, before[models.KeyNext], after[models.KeyNext])
}

// A backend that comes and goes while keys are rotated leaves the keys of one rotation or of none, and the key that signs is one that was published
// before.
func TestRotationWhileTheBackendFlaps(t *testing.T) {
	t.Parallel()
	b, server := onTransit(t)
	for _, refuse := range []int32{1, 2, 3, 4, 5, 6, 7} { // which of its requests fails
		before := b.kids()
		server.FailAt(refuse)
		err := b.rotate()
		server.FailAt(0)
		after := b.kids()
		if err != nil {
			require.True(t, problem.Is(err, problem.Unavailable), "%v", err)
			require.Equal(t, before, after)
		} else {
			require.Equal(t, before[models.KeyNext], after[models.KeyActive])
		}
		require.Eventually(t, func() bool { // after failures the backend is left alone for a moment
			_, _, err := b.replicas[0].Sign(t.Context(), b.st.Q, b.scope, b.claims())
			return err == nil
		}, 10*time.Second, 50*time.Millisecond)
	}
}

// A row that names another backend than it was created for does not open: its reference is given to no other backend.
func TestReferenceIsBoundToItsBackend(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.use(software.Signer{}, openTransit(t, transittest.Start(t)))
	testenv.Exec(t, b.st, "update signing_keys set backend = $1", openTransit(t, transittest.Start(t)).Name())
	require.Equal(t, signing.Health{Unable: 1}, b.health())
}

func TestLastUseIsRecorded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.sign(1)
	b.health()
	rows, err := b.replicas[0].Keys(t.Context(), b.scope)
	require.NoError(t, err)
	for _, k := range rows {
		require.Equal(t, k.Status == models.KeyActive, k.LastUsedAt != nil, k.Status)
	}
}
