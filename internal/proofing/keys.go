// Package proofing keeps the signing keys of each environment and the records of proofs: it signs what the decision path
// asks for, publishes the keys, and answers whether a proof is still good. How a proof looks is internal/proof's; whether
// one is due is internal/authorization's.
package proofing

import (
	"context"
	"crypto/ecdsa"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/countersign-dev/countersign/internal/clock"
	"github.com/countersign-dev/countersign/internal/events"
	"github.com/countersign-dev/countersign/internal/identity"
	"github.com/countersign-dev/countersign/internal/keyring"
	"github.com/countersign-dev/countersign/internal/proof"
	"github.com/countersign-dev/countersign/internal/store"
	"github.com/countersign-dev/countersign/models"
)

const (
	keyPurpose = "signing-key"
	// cacheFor bounds how long a replica signs with a key after another replica rotated it. It is far below Overlap, so
	// that what it signs meanwhile verifies.
	cacheFor = 5 * time.Second
	// Overlap is how long a retiring key stays published: the longest life of a proof, the clocks' difference, and what
	// verifiers may cache the key set for.
	Overlap = proof.MaxTTL + proof.MaxLeeway + keySetMaxAge
	// keySetMaxAge is the Cache-Control of the key set.
	keySetMaxAge = 5 * time.Minute
)

// Service signs and verifies.
type Service struct {
	store   *store.Store
	keys    *keyring.Keyring
	clock   clock.Clock
	baseURL string

	mu   sync.RWMutex
	envs map[string]cachedKeys
}

type cachedKeys struct {
	signer *proof.Signer
	public proof.KeySet
	until  time.Time
}

// New makes the service. The base URL is part of every proof's issuer.
func New(st *store.Store, keys *keyring.Keyring, c clock.Clock, baseURL string) *Service {
	return &Service{store: st, keys: keys, clock: c, baseURL: baseURL, envs: map[string]cachedKeys{}}
}

// Issuer is the iss of an environment's proofs: no two environments share one.
func (s *Service) Issuer(environment string) string { return s.baseURL + "/" + environment }

// Sign makes a proof with the environment's active key and answers the key's id beside it.
func (s *Service) Sign(ctx context.Context, q *store.Q, scope store.Scope, c proof.Claims) (compact, kid string, err error) {
	k, err := s.environment(ctx, q, scope)
	if err != nil {
		return "", "", err
	}
	compact, err = k.signer.Sign(c)
	return compact, k.signer.KeyID(), err
}

func (s *Service) environment(ctx context.Context, q *store.Q, scope store.Scope) (cachedKeys, error) {
	now := s.clock.Now()
	s.mu.RLock()
	k, ok := s.envs[scope.Environment]
	s.mu.RUnlock()
	if ok && now.Before(k.until) {
		return k, nil
	}
	return s.refresh(ctx, q, scope)
}

// refresh loads an environment's keys, however fresh those that are cached.
func (s *Service) refresh(ctx context.Context, q *store.Q, scope store.Scope) (cachedKeys, error) {
	now := s.clock.Now()
	k, err := s.load(ctx, q, scope)
	if err != nil {
		return k, err
	}
	k.until = now.Add(cacheFor)
	s.mu.Lock()
	s.envs[scope.Environment] = k
	s.mu.Unlock()
	return k, nil
}

func (s *Service) load(ctx context.Context, q *store.Q, scope store.Scope) (cachedKeys, error) {
	rows, err := q.SigningKeys(ctx, scope)
	if err != nil {
		return cachedKeys{}, err
	}
	k := cachedKeys{public: proof.KeySet{}}
	for _, row := range rows {
		private, err := s.open(row)
		if err != nil {
			return k, err
		}
		k.public[row.KID] = &private.PublicKey
		if row.Status == models.KeyActive {
			if k.signer, err = proof.NewSigner(private); err != nil {
				return k, err
			}
		}
	}
	if k.signer == nil {
		return k, fmt.Errorf("environment %s has no active signing key: run countersign key rotate", scope.Environment)
	}
	return k, nil
}

func (s *Service) open(row models.SigningKey) (*ecdsa.PrivateKey, error) {
	der, err := s.keys.Open(keyPurpose, row.Sealed, []byte(row.KID))
	if err != nil {
		return nil, fmt.Errorf("signing key %s: %w", row.KID, err)
	}
	return proof.ParsePrivateKey(der)
}

// Establish gives a new environment its first active key and the next one.
func (s *Service) Establish(ctx context.Context, q *store.Q, scope store.Scope, actor string) error {
	for _, status := range []models.KeyStatus{models.KeyActive, models.KeyNext} {
		if err := s.create(ctx, q, scope, status, by{actor: actor}); err != nil {
			return err
		}
	}
	return nil
}

func (s *Service) create(ctx context.Context, q *store.Q, scope store.Scope, status models.KeyStatus, who by) error {
	now := s.clock.Now()
	row, err := s.generate(scope, status, now)
	if err != nil {
		return err
	}
	if err := q.CreateSigningKey(ctx, row); err != nil {
		return err
	}
	return s.record(ctx, q, scope, events.SigningKeyCreated, row.KID, who, now)
}

func (s *Service) generate(scope store.Scope, status models.KeyStatus, now time.Time) (models.SigningKey, error) {
	private, err := proof.GenerateKey()
	if err != nil {
		return models.SigningKey{}, err
	}
	signer, err := proof.NewSigner(private)
	if err != nil {
		return models.SigningKey{}, err
	}
	der, err := proof.MarshalPrivateKey(private)
	if err != nil {
		return models.SigningKey{}, err
	}
	jwk, err := publicJWK(signer)
	if err != nil {
		return models.SigningKey{}, err
	}
	sealed, err := s.keys.Seal(keyPurpose, der, []byte(signer.KeyID()))
	row := models.SigningKey{
		KID: signer.KeyID(), TenantID: scope.Tenant, EnvironmentID: scope.Environment, Status: status, PublicJWK: jwk,
		Sealed: sealed, CreatedAt: now,
	}
	if status == models.KeyActive {
		row.ActivatedAt = &now
	}
	return row, err
}

// publicJWK is the one key of the set as it is published.
func publicJWK(signer *proof.Signer) (models.JSON, error) {
	raw, err := proof.JWKS(proof.KeySet{signer.KeyID(): signer.Public()})
	if err != nil {
		return nil, err
	}
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(raw, &set); err != nil {
		return nil, err
	}
	if len(set.Keys) != 1 {
		return nil, errors.New("a key set of one key has one key")
	}
	return models.JSON(set.Keys[0]), nil
}

// Keys lists an environment's keys, retired ones too.
func (s *Service) Keys(ctx context.Context, scope store.Scope) ([]models.SigningKey, error) {
	return s.store.AllSigningKeys(ctx, scope)
}

// Rotate lets the next key, published long enough to be known, sign; the active one retires behind it, and a fresh next
// one is published. It answers the keys after the move.
func (s *Service) Rotate(ctx context.Context, scope store.Scope, actor string) ([]models.SigningKey, error) {
	return s.rotate(ctx, scope, by{actor: actor})
}

// RotateFor is Rotate on a credential's request.
func (s *Service) RotateFor(ctx context.Context, p identity.Principal) ([]models.SigningKey, error) {
	return s.rotate(ctx, p.Store(), by{p.Actor(), p.RequestID})
}

// by is who makes a change, and on which request.
type by struct{ actor, request string }

func (s *Service) rotate(ctx context.Context, scope store.Scope, who by) ([]models.SigningKey, error) {
	now := s.clock.Now()
	var after []models.SigningKey
	err := s.store.Write(ctx, func(q *store.Q) error {
		if err := q.LockSigningKeys(ctx, scope); err != nil {
			return err
		}
		rows, err := q.SigningKeys(ctx, scope)
		if err != nil {
			return err
		}
		for _, step := range []struct{ from, to models.KeyStatus }{
			{models.KeyActive, models.KeyRetiring}, {models.KeyNext, models.KeyActive},
		} {
			if err := s.move(ctx, q, scope, rows, step.from, step.to, who, now); err != nil {
				return err
			}
		}
		if err := s.create(ctx, q, scope, models.KeyNext, who); err != nil {
			return err
		}
		after, err = q.AllSigningKeys(ctx, scope)
		return err
	})
	s.Forget()
	return after, err
}

func (s *Service) move(ctx context.Context, q *store.Q, scope store.Scope, rows []models.SigningKey, from, to models.KeyStatus, who by, now time.Time) error {
	for _, row := range rows {
		if row.Status != from {
			continue
		}
		if _, err := q.MoveSigningKey(ctx, row.KID, from, to, now); err != nil {
			return err
		}
		if to == models.KeyActive {
			return s.record(ctx, q, scope, events.SigningKeyActivated, row.KID, who, now)
		}
	}
	return nil
}

// Retire ends keys that have been retiring for longer than any proof they signed can live, and answers how many.
func (s *Service) Retire(ctx context.Context, scope store.Scope, actor string) (int, error) {
	now := s.clock.Now()
	retired := 0
	err := s.store.Write(ctx, func(q *store.Q) error {
		rows, err := q.SigningKeys(ctx, scope)
		if err != nil {
			return err
		}
		for _, row := range rows {
			if row.Status != models.KeyRetiring || row.RetiringAt == nil || now.Sub(*row.RetiringAt) < Overlap {
				continue
			}
			moved, err := q.MoveSigningKey(ctx, row.KID, models.KeyRetiring, models.KeyRetired, now)
			if err != nil {
				return err
			}
			if moved {
				retired++
				if err := s.record(ctx, q, scope, events.SigningKeyRetired, row.KID, by{actor: actor}, now); err != nil {
					return err
				}
			}
		}
		return nil
	})
	s.Forget()
	return retired, err
}

func (s *Service) record(ctx context.Context, q *store.Q, scope store.Scope, t events.Type, kid string, who by, now time.Time) error {
	return events.Append(ctx, q, events.Entry{Scope: scope, Type: t, At: now, Actor: who.actor, RequestID: who.request, Data: map[string]any{"kid": kid}})
}

// Forget drops the cached keys.
func (s *Service) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.envs)
}
