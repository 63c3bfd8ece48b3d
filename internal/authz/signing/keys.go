// Package signing manages the signing keys of each environment and the status of proofs: it signs proofs, publishes the key set,
// rotates and retires keys, and verifies and consumes proofs. Package proof defines the form of a proof, and package
// authorization decides whether to issue one.
package signing

import (
	"context"
	"crypto/ecdsa"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/countersign-dev/countersign/internal/authz/proof"
	"github.com/countersign-dev/countersign/internal/platform/cache"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/platform/keys"
	"github.com/countersign-dev/countersign/internal/platform/keys/software"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

const (
	// keyPurpose names the keyring's subkey for private keys, and references to them, at rest.
	keyPurpose = "signing-key"
	// cacheFor is how long a replica may sign with a key after another replica rotated it. It is far below Overlap, so that the
	// proofs it signs meanwhile verify.
	cacheFor = 5 * time.Second
	// Overlap is how long a retiring key stays published: the longest lifetime of a proof, plus the largest clock difference,
	// plus how long verifiers may cache the key set.
	Overlap = proof.MaxTTL + proof.MaxLeeway + keySetMaxAge
	// keySetMaxAge is the Cache-Control of the key set.
	keySetMaxAge = 5 * time.Minute
	// longestUse is how long after a key was chosen a proof that it signed may still be accepted.
	longestUse = cacheFor + proof.MaxTTL + proof.MaxLeeway
)

// Service signs and verifies proofs and manages the signing keys.
type Service struct {
	store   *pg.Store
	keys    *keyring.Keyring
	clock   clock.Clock
	baseURL string
	signers []keys.Signer // the first creates keys

	envs      cache.Cache[cachedKeys]
	published cache.Cache[keySets] // by the empty key
	uses      sync.Map             // use by kid: not yet recorded
}

// cachedKeys are an environment's opened keys.
type cachedKeys struct {
	signer *proof.Signer // nil if no key can sign
	remote bool          // whether a backend holds its key
	public proof.KeySet
	failed error // why keys could not be opened
}

// New returns a Service. The base URL is part of the issuer of every proof. New keys are created by the first of the signers, by
// default in software; the others sign with the keys that they have. Software keys sign in any case.
func New(st *pg.Store, ring *keyring.Keyring, c clock.Clock, baseURL string, signers ...keys.Signer) *Service {
	if !slices.ContainsFunc(signers, func(s keys.Signer) bool { return s.Name() == software.Name }) {
		signers = append(slices.Clone(signers), software.Signer{})
	}
	return &Service{store: st, keys: ring, clock: c, baseURL: baseURL, signers: signers}
}

// BaseURL returns the public address of the service.
func (s *Service) BaseURL() string { return s.baseURL }

// Issuer returns the iss of an environment's proofs. No two environments share one.
func (s *Service) Issuer(environment string) string { return s.baseURL + "/" + environment }

// Sign signs a proof with the environment's signing key and returns the id of the key. It is unavailable if no key can sign.
func (s *Service) Sign(ctx context.Context, q *pg.Q, scope pg.Scope, c proof.Claims) (compact, kid string, err error) {
	k, err := s.environment(ctx, q, scope)
	if err != nil {
		return "", "", err
	}
	if k.signer == nil {
		return "", "", errCannotSign(scope.Environment, k.failed)
	}
	compact, err = k.signer.Sign(ctx, c)
	return compact, k.signer.KeyID(), s.signed(scope, k.signer, err)
}

// signed notes the use of a key, and returns the error of its use: a backend that is unavailable is a problem that may pass.
func (s *Service) signed(scope pg.Scope, signer *proof.Signer, err error) error {
	switch {
	case errors.Is(err, keys.ErrUnavailable):
		return unavailable(err)
	case err == nil:
		s.noteUse(scope.Environment, signer.KeyID())
	}
	return err
}

// unavailable is the problem of a backend that cannot be used at present.
func unavailable(cause error) error {
	return problem.NewUnavailable("The backend that holds the signing keys cannot be reached. Nothing was changed; retry after the Retry-After header.", cause)
}

// environment returns the environment's keys, from the cache if they are fresh.
func (s *Service) environment(ctx context.Context, q *pg.Q, scope pg.Scope) (cachedKeys, error) {
	now := s.clock.Now()
	if k, until := s.envs.Get(scope.Environment); now.Before(until) {
		return k, nil
	}
	return s.refresh(ctx, q, scope)
}

// refresh loads an environment's keys even if the cached ones are fresh.
func (s *Service) refresh(ctx context.Context, q *pg.Q, scope pg.Scope) (cachedKeys, error) {
	now := s.clock.Now()
	return s.envs.Refresh(scope.Environment, now.Add(cacheFor), func() (cachedKeys, error) { return s.load(ctx, q, scope, now) })
}

// load opens an environment's keys. It skips a key that cannot be opened, which must not prevent others from signing or
// verifying.
func (s *Service) load(ctx context.Context, q *pg.Q, scope pg.Scope, now time.Time) (cachedKeys, error) {
	rows, err := ListSigningKeys(ctx, q, scope)
	if err != nil {
		return cachedKeys{}, err
	}
	k := cachedKeys{public: proof.KeySet{}}
	opened := map[string]keys.Key{}
	for _, row := range rows {
		public, err := s.public(row)
		if err == nil {
			k.public[row.KID] = public
			opened[row.KID], err = s.open(row, public)
		}
		if err != nil {
			delete(opened, row.KID)
			k.failed = errors.Join(k.failed, err)
		}
	}
	chosen, ok := choose(rows, now, func(row models.SigningKey) bool { return opened[row.KID] != nil })
	if !ok {
		return k, nil
	}
	k.remote = chosen.Backend != software.Name
	k.signer, err = proof.NewSigner(opened[chosen.KID])
	return k, err
}

// choose returns the key that signs: the active one, or, if it cannot be opened, another published one. A retiring key signs
// only if its proofs expire before the key is retired.
func choose(rows []models.SigningKey, now time.Time, opens func(models.SigningKey) bool) (models.SigningKey, bool) {
	for _, fits := range []func(models.SigningKey) bool{
		func(k models.SigningKey) bool { return k.Status == models.KeyActive },
		func(k models.SigningKey) bool {
			return k.Status == models.KeyRetiring && k.RetiringAt != nil && now.Add(longestUse).Before(k.RetiringAt.Add(Overlap))
		},
		func(k models.SigningKey) bool { return k.Status == models.KeyNext },
	} {
		for _, row := range rows {
			if fits(row) && opens(row) {
				return row, true
			}
		}
	}
	return models.SigningKey{}, false
}

// errCannotSign is an unavailable problem: nothing was decided, and another process may be able to sign.
func errCannotSign(environment string, cause error) error {
	return problem.NewUnavailable("The proofs of this environment cannot be signed at present. Nothing was changed.",
		fmt.Errorf("environment %s has no signing key that can be opened: see COUNTERSIGN_MASTER_KEY, COUNTERSIGN_SIGNING_KEYS and countersign key list: %w", environment, cause))
}

// reference decrypts the reference of a key, which authenticates that the service created the row. It is bound to the backend:
// no other is ever given it.
func (s *Service) reference(row models.SigningKey) ([]byte, error) {
	reference, err := s.keys.Open(keyPurpose, row.Sealed, bound(row.KID, row.Backend))
	if err != nil {
		return nil, fmt.Errorf("signing key %s: %w", row.KID, err)
	}
	return reference, nil
}

// bound returns the additional data of a sealed reference.
func bound(kid, backend string) []byte {
	if backend == software.Name {
		return []byte(kid)
	}
	return []byte(kid + "\n" + backend)
}

// backend returns the signer of a key; nil if this process does not have it.
func (s *Service) backend(row models.SigningKey) keys.Signer {
	for _, signer := range s.signers {
		if signer.Name() == row.Backend {
			return signer
		}
	}
	return nil
}

// publishedKey returns the published half of a key by its id.
func publishedKey(row models.SigningKey) (proof.KeySet, error) {
	set, err := proof.ParseJWKS(slices.Concat([]byte(`{"keys":[`), row.PublicJWK, []byte("]}")))
	if err != nil {
		return nil, fmt.Errorf("signing key %s as published: %w", row.KID, err)
	}
	return set, nil
}

// public returns the public half of a key that the service created. The id of a key is its digest.
func (s *Service) public(row models.SigningKey) (*ecdsa.PublicKey, error) {
	if _, err := s.reference(row); err != nil {
		return nil, err
	}
	published, err := publishedKey(row)
	if err != nil {
		return nil, err
	}
	public := published[row.KID]
	if public == nil {
		return nil, fmt.Errorf("signing key %s is not the published key", row.KID)
	}
	kid, err := proof.KeyID(public)
	if err == nil && kid != row.KID {
		err = fmt.Errorf("signing key %s has the public key of %s", row.KID, kid)
	}
	return public, err
}

// open opens a key in its backend, which is not reached yet.
func (s *Service) open(row models.SigningKey, public *ecdsa.PublicKey) (keys.Key, error) {
	reference, err := s.reference(row)
	if err != nil {
		return nil, err
	}
	signer := s.backend(row)
	if signer == nil {
		return nil, fmt.Errorf("signing key %s is in %s, which COUNTERSIGN_SIGNING_KEYS does not name", row.KID, row.Backend)
	}
	key, err := signer.Open(reference, public)
	if err != nil {
		return nil, fmt.Errorf("signing key %s: %w", row.KID, err)
	}
	return key, nil
}

// Opens returns an error if a key cannot be opened.
func (s *Service) Opens(row models.SigningKey) error {
	public, err := s.public(row)
	if err != nil {
		return err
	}
	_, err = s.open(row, public)
	return err
}

// Works tests a stored key: it opens the key, signs with it and verifies the signature with the published half.
func (s *Service) Works(ctx context.Context, row models.SigningKey) error {
	public, err := s.public(row)
	if err != nil {
		return err
	}
	key, err := s.open(row, public)
	if err != nil {
		return err
	}
	signer, err := proof.NewSigner(key)
	if err != nil {
		return err
	}
	signed, err := signer.SignDocument(ctx, trialType, []byte("{}"))
	if err != nil {
		return err
	}
	if _, err := proof.VerifyDocument(signed, proof.KeySet{row.KID: public}, trialType); err != nil {
		return fmt.Errorf("signing key %s does not verify as published: %w", row.KID, err)
	}
	return nil
}

// Keys returns an environment's keys, including retired ones.
func (s *Service) Keys(ctx context.Context, scope pg.Scope) ([]models.SigningKey, error) {
	return AllSigningKeys(ctx, s.store.Q, scope)
}

// Forget drops the cached keys of an environment, or of all if the id is empty, and the published set.
func (s *Service) Forget(environment string) {
	s.envs.Forget(environment)
	s.published.Forget("")
}
