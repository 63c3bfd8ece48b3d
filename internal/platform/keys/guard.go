package keys

import (
	"context"
	"crypto/ecdsa"
	"errors"
	"fmt"
	"math/big"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/sony/gobreaker/v2"
	"golang.org/x/sync/semaphore"
)

// The bounds of a guarded backend. A caller hears within patience that the backend cannot sign.
const (
	patience    = 800 * time.Millisecond
	concurrent  = 64              // signatures at a time
	failures    = 5               // in succession, until the backend is left alone
	leftAlone   = 2 * time.Second // until it is tried again
	changeLimit = 5 * time.Second // to create or adopt a key
)

// Guard bounds the use of a backend: how long and how often at a time it is called, and that it is left alone while it fails. It
// verifies each signature. All its errors are ErrUnavailable.
type Guard struct {
	Signer
	breaker *gobreaker.CircuitBreaker[[]byte]
	slots   *semaphore.Weighted
	seconds *prometheus.HistogramVec
}

// NewGuard returns a guard of a backend.
func NewGuard(s Signer) *Guard {
	return &Guard{
		Signer: s, slots: semaphore.NewWeighted(concurrent),
		breaker: gobreaker.NewCircuitBreaker[[]byte](gobreaker.Settings{
			Name: s.Name(), Timeout: leftAlone,
			ReadyToTrip: func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= failures },
			// A caller that cancelled says nothing about the backend.
			IsExcluded: func(err error) bool { return errors.Is(err, context.Canceled) },
		}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "countersign_key_backend_seconds", Help: "How long a backend took to sign, by result: ok or failed.",
			ConstLabels: prometheus.Labels{"backend": s.Name()}, Buckets: prometheus.ExponentialBuckets(0.0005, 2, 12),
		}, []string{"result"}),
	}
}

// Create implements Signer.
func (g *Guard) Create(ctx context.Context, name string) (reference []byte, key Key, err error) {
	ctx, cancel := context.WithTimeout(ctx, changeLimit)
	defer cancel()
	reference, key, err = g.Signer.Create(ctx, name)
	return reference, guarded{key, g}, g.unavailable(err)
}

// Adopt implements Signer.
func (g *Guard) Adopt(ctx context.Context, id string) (reference []byte, key Key, err error) {
	ctx, cancel := context.WithTimeout(ctx, changeLimit)
	defer cancel()
	reference, key, err = g.Signer.Adopt(ctx, id)
	return reference, guarded{key, g}, g.unavailable(err)
}

// Open implements Signer.
func (g *Guard) Open(reference []byte, public *ecdsa.PublicKey) (Key, error) {
	key, err := g.Signer.Open(reference, public)
	if err != nil {
		return nil, err
	}
	return guarded{key, g}, nil
}

// Check implements Signer.
func (g *Guard) Check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return g.unavailable(g.Signer.Check(ctx))
}

// Describe implements prometheus.Collector.
func (g *Guard) Describe(to chan<- *prometheus.Desc) { g.seconds.Describe(to) }

// Collect implements prometheus.Collector.
func (g *Guard) Collect(to chan<- prometheus.Metric) { g.seconds.Collect(to) }

func (g *Guard) unavailable(err error) error {
	if err == nil || errors.Is(err, ErrUnavailable) {
		return err
	}
	return fmt.Errorf("%w: %s: %w", ErrUnavailable, g.Name(), err)
}

// guarded is a key of a guarded backend.
type guarded struct {
	Key
	g *Guard
}

// Sign implements Key.
func (k guarded) Sign(ctx context.Context, digest []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := k.g.slots.Acquire(ctx, 1); err != nil {
		return nil, k.g.unavailable(fmt.Errorf("%d signatures are being made: %w", concurrent, err))
	}
	defer k.g.slots.Release(1)
	signature, err := k.g.breaker.Execute(func() ([]byte, error) {
		start, result := time.Now(), "failed" //nolint:forbidigo // measures how long the backend took
		defer func() { k.g.seconds.WithLabelValues(result).Observe(time.Since(start).Seconds()) }()
		signature, err := k.Key.Sign(ctx, digest)
		if err == nil {
			err = k.verify(digest, signature)
		}
		if err != nil {
			return nil, err
		}
		result = "ok"
		return signature, nil
	})
	return signature, k.g.unavailable(err)
}

// verify returns an error unless the signature is that of the published key.
func (k guarded) verify(digest, signature []byte) error {
	if len(signature) != SignatureSize {
		return fmt.Errorf("the signature is %d bytes long, not %d", len(signature), SignatureSize)
	}
	r, s := new(big.Int).SetBytes(signature[:SignatureSize/2]), new(big.Int).SetBytes(signature[SignatureSize/2:])
	if !ecdsa.Verify(k.Public(), digest, r, s) {
		return errors.New("the signature does not verify with the published key")
	}
	return nil
}
