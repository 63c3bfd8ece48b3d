package keys_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"math/big"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/keys"
	"github.com/countersign-dev/countersign/internal/platform/keys/software"
)

// device is a backend whose keys sign as a test wants.
type device struct {
	software.Signer
	sign func(ctx context.Context, private *ecdsa.PrivateKey, digest []byte) ([]byte, error)
}

type deviceKey struct {
	device
	private *ecdsa.PrivateKey
}

func (k deviceKey) Public() *ecdsa.PublicKey { return &k.private.PublicKey }

func (k deviceKey) Sign(ctx context.Context, digest []byte) ([]byte, error) {
	return k.sign(ctx, k.private, digest)
}

func (d device) Create(context.Context, string) ([]byte, keys.Key, error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	return nil, deviceKey{d, private}, err
}

// signature returns R and S, which change may replace.
func signature(private *ecdsa.PrivateKey, digest []byte, change func(s *big.Int) *big.Int) ([]byte, error) {
	r, s, err := ecdsa.Sign(rand.Reader, private, digest)
	if err != nil {
		return nil, err
	}
	return append(r.FillBytes(make([]byte, 32)), change(s).FillBytes(make([]byte, 32))...), nil
}

func low(s *big.Int) *big.Int {
	if n := elliptic.P256().Params().N; s.Cmp(new(big.Int).Rsh(n, 1)) > 0 {
		return new(big.Int).Sub(n, s)
	}
	return s
}

func high(s *big.Int) *big.Int { return new(big.Int).Sub(elliptic.P256().Params().N, low(s)) }

// Whatever a backend returns, a caller gets a signature of the published key or none.
func TestGuardHandsOutValidSignaturesOnly(t *testing.T) {
	t.Parallel()
	other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	digest := sha256.Sum256([]byte("text"))
	for name, c := range map[string]struct {
		sign  func(private *ecdsa.PrivateKey, digest []byte) ([]byte, error)
		valid bool
	}{
		"low S":  {func(p *ecdsa.PrivateKey, d []byte) ([]byte, error) { return signature(p, d, low) }, true},
		"high S": {func(p *ecdsa.PrivateKey, d []byte) ([]byte, error) { return signature(p, d, high) }, true}, // ES256 has both
		"of another key": {func(_ *ecdsa.PrivateKey, d []byte) ([]byte, error) {
			return signature(other, d, low)
		}, false},
		"of another digest": {func(p *ecdsa.PrivateKey, d []byte) ([]byte, error) {
			return signature(p, append([]byte{d[0] ^ 1}, d[1:]...), low)
		}, false},
		"DER":       {func(p *ecdsa.PrivateKey, d []byte) ([]byte, error) { return ecdsa.SignASN1(rand.Reader, p, d) }, false},
		"zeros":     {func(*ecdsa.PrivateKey, []byte) ([]byte, error) { return make([]byte, keys.SignatureSize), nil }, false},
		"too short": {func(*ecdsa.PrivateKey, []byte) ([]byte, error) { return make([]byte, 63), nil }, false},
		"nothing":   {func(*ecdsa.PrivateKey, []byte) ([]byte, error) { return nil, nil }, false},
		"another S": {func(p *ecdsa.PrivateKey, d []byte) ([]byte, error) {
			return signature(p, d, func(s *big.Int) *big.Int { return new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 256), s) })
		}, false},
		"with an error": {func(*ecdsa.PrivateKey, []byte) ([]byte, error) { return []byte("half"), errors.New("failed") }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, key, err := keys.NewGuard(device{sign: func(_ context.Context, p *ecdsa.PrivateKey, d []byte) ([]byte, error) { return c.sign(p, d) }}).Create(t.Context(), "env_test")
			require.NoError(t, err)
			signed, err := key.Sign(t.Context(), digest[:])
			if !c.valid {
				require.ErrorIs(t, err, keys.ErrUnavailable)
				require.Nil(t, signed)
				return
			}
			require.NoError(t, err)
			require.True(t, ecdsa.Verify(key.Public(), digest[:], new(big.Int).SetBytes(signed[:32]), new(big.Int).SetBytes(signed[32:])))
		})
	}
}

// A backend that does not respond keeps no caller for a second, however many there are, and is used again when it responds.
func TestSlowBackendKeepsNoCaller(t *testing.T) {
	t.Parallel()
	slow := make(chan struct{})
	_, key, err := keys.NewGuard(device{sign: func(ctx context.Context, p *ecdsa.PrivateKey, d []byte) ([]byte, error) {
		select {
		case <-slow:
			return signature(p, d, low)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}}).Create(t.Context(), "env_test")
	require.NoError(t, err)
	digest := sha256.Sum256([]byte("text"))
	var all sync.WaitGroup
	for range 300 {
		all.Go(func() {
			start := time.Now()
			_, err := key.Sign(t.Context(), digest[:])
			if !errors.Is(err, keys.ErrUnavailable) || time.Since(start) > time.Second {
				t.Errorf("after %s: %v", time.Since(start), err)
			}
		})
	}
	all.Wait()
	close(slow)
	require.Eventually(t, func() bool { _, err := key.Sign(t.Context(), digest[:]); return err == nil }, 10*time.Second, 50*time.Millisecond)
}
