package wiring

import (
	"context"
	"errors"
	"fmt"
	"path"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/authz/signing"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/keys/software"
	"github.com/countersign-dev/countersign/internal/platform/masterkey"
	"github.com/countersign-dev/countersign/internal/platform/pg"
)

// Check compares the process with its database before it writes or listens: the schema must be one that this binary can
// work on, the backends of signing keys must be usable, and the master keys those that sealed the database. It records the use of the
// root key.
func (c *Core) Check(ctx context.Context) error {
	if err := c.Store.CheckSchema(ctx); err != nil {
		return err
	}
	for _, s := range c.Signers {
		if err := s.Check(ctx); err != nil {
			return fmt.Errorf("COUNTERSIGN_SIGNING_KEYS: %w", err)
		}
	}
	if err := masterkey.Confirm(ctx, masterkey.Confirmation{Store: c.Store, Keys: c.Keys, Now: c.Clock.Now()}); err != nil {
		return err
	}
	return c.RecordRootKey(ctx)
}

// RecordRootKey writes to the audit log of every environment that the root key was used to unwrap the master keys. Without a root key it
// does nothing.
func (c *Core) RecordRootKey(ctx context.Context) error {
	if c.RootKey == "" {
		return nil
	}
	all, err := tenancy.AllEnvironments(ctx, c.Store.Q)
	if err != nil {
		return err
	}
	at, data := c.Clock.Now(), events.RootKeyUsedData{RootKey: c.RootKey, MasterKey: c.Keys.ActiveID()}
	err = c.Store.Write(ctx, func(q *pg.Q) error {
		for _, scope := range all {
			if err := events.Append(ctx, q, events.Entry{Scope: scope, At: at, Actor: c.Actor, Data: data}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("record the use of the root key: %w", err)
	}
	return nil
}

// keysEvery bounds how often probes and scrapes have the signing keys opened; those in between get the figures from before.
const (
	keysEvery = 5 * time.Second
	keysRetry = time.Second // after the database did not answer
)

// keyState is whether this process has the master keys of its database and can sign with the signing keys. The master keys
// of a database can grow while a process runs.
type keyState struct {
	core *Core

	mu      sync.Mutex
	at      time.Time
	missing bool // a master key
	health  signing.Health
	err     error
}

// current returns the state, at most keysEvery old, or the error of asking for it, at most keysRetry old.
func (k *keyState) current(ctx context.Context) (missing bool, health signing.Health, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	keep := keysEvery
	if k.err != nil {
		keep = keysRetry
	}
	if now := k.core.Clock.Now(); k.at.IsZero() || now.Sub(k.at) >= keep || now.Before(k.at) {
		k.at = now
		k.missing, k.health, k.err = k.ask(ctx)
	}
	return k.missing, k.health, k.err
}

func (k *keyState) ask(ctx context.Context) (missing bool, health signing.Health, err error) {
	err = masterkey.Compare(ctx, k.core.Store.Q, k.core.Keys)
	var mismatch *masterkey.Mismatch
	if missing = errors.As(err, &mismatch); err != nil && !missing {
		return false, health, err
	}
	health, err = k.core.Signing.Health(ctx)
	return missing, health, err
}

// backendChecks are the checks of readiness for the backends of signing keys. A process without its backend is ready: all but
// enforced allows goes on. The checks are named by the position and the mount of the backend: hosts are not shown.
func (c *Core) backendChecks() []Check {
	var checks []Check
	for i, s := range c.Signers {
		if s.Name() != software.Name {
			name := fmt.Sprintf("keys_%d_%s", i+1, path.Base(s.Name()))
			checks = append(checks, Check{Name: name, Loss: fmt.Sprintf("Enforced allows whose key is in %s are refused: this backend of signing keys does not sign.", name), Run: s.Check})
		}
	}
	return checks
}

var (
	errCannotSign  = errors.New("wiring: no environment has a signing key that can be opened")
	errKeysMissing = errors.New("wiring: the database was also sealed with a master key that this process lacks")
)

// sign is the check of readiness for the signing keys. It fails if this process can sign for no environment, and in part if the
// active key of some cannot be opened.
func (k *keyState) sign(ctx context.Context) error {
	_, h, err := k.current(ctx)
	switch {
	case err != nil:
		return err
	case h.Unable > 0 && h.Able+h.StandIn == 0:
		return errCannotSign
	case h.Unable+h.StandIn > 0:
		return &partialError{loss: fmt.Sprintf("Environments without a signing key that can be opened: %d, whose enforced allows are refused; with another than the active one: %d.", h.Unable, h.StandIn)}
	}
	return nil
}

// masters is the check of readiness for the master keys.
func (k *keyState) masters(ctx context.Context) error {
	missing, _, err := k.current(ctx)
	if missing {
		return errKeysMissing
	}
	return err
}

var (
	signingEnvironments = prometheus.NewDesc("countersign_signing_environments", "Environments by what this process can sign their proofs "+
		"with: active (the active key), stand_in (another published key), none.", []string{"key"}, nil)
	masterKeysMissing = prometheus.NewDesc("countersign_master_keys_missing", "1 if this process lacks a master key that sealed the database.", nil, nil)
)

// Describe implements prometheus.Collector.
func (k *keyState) Describe(to chan<- *prometheus.Desc) {
	to <- signingEnvironments
	to <- masterKeysMissing
}

// Collect implements prometheus.Collector. It shows nothing while the database is unavailable, which has figures of its own.
func (k *keyState) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), checkTimeout)
	defer cancel()
	missing, h, err := k.current(ctx)
	if err != nil {
		return
	}
	for key, n := range map[string]int{"active": h.Able, "stand_in": h.StandIn, "none": h.Unable} {
		to <- prometheus.MustNewConstMetric(signingEnvironments, prometheus.GaugeValue, float64(n), key)
	}
	to <- prometheus.MustNewConstMetric(masterKeysMissing, prometheus.GaugeValue, truthValue(missing))
}

// followSigningKeys drops the cached signing keys of an environment as soon as another process changed them.
func (p *Process) followSigningKeys(ctx context.Context) {
	p.Store.Listen(ctx, []string{pg.ChannelSigningKey}, func(_, payload string) { p.Signing.Forget(payload) })
}
