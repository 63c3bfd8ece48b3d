package signing

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/authz/proof"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/keys"
	"github.com/countersign-dev/countersign/internal/platform/masterkey"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// The states of a signing key:
//
//	next --------> active          Rotate: the key signs from now on
//	active ------> retiring        Rotate: it still verifies, for Overlap
//	retiring ----> retired         Retire, when its last proof has expired: it verifies nothing
//	next, active -> retiring       a key that does not work, or RetireKey
//	any ----------> retired        RetireKey with AtOnce: its open proofs are revoked
//
// An environment has at most one next and one active key. Verifiers fetch a next key before it signs.

// Establish creates the first active key and the next key of a new environment.
func (s *Service) Establish(ctx context.Context, q *pg.Q, scope pg.Scope, actor string) error {
	c := &change{Service: s, q: q, scope: scope, who: by{actor: actor}, now: s.clock.Now()}
	return c.createEach(ctx, models.KeyActive, models.KeyNext)
}

// Rotate makes the next key the active one, retires the previous active key, and publishes a new next key. It returns the keys
// after the change. A next key that does not work is replaced instead, and the error is problem.RotationInProgress: verifiers
// must know the new key before it signs.
func (s *Service) Rotate(ctx context.Context, scope pg.Scope, actor string) ([]models.SigningKey, error) {
	return s.rotate(ctx, scope, by{actor: actor}, func(*change, context.Context) error { return nil })
}

// RotateFor is Rotate on a credential's request. It is refused until the next key has been published for as long as verifiers may keep a
// key set, which also bounds the key set: rotations of one environment add at most one key in that time.
func (s *Service) RotateFor(ctx context.Context, p identity.Principal) ([]models.SigningKey, error) {
	return s.rotate(ctx, p.Store(), by{p.Actor(), p.RequestID}, (*change).publishedLongEnough)
}

// publishedLongEnough refuses a rotation to a key that verifiers may not have fetched. The next key of a new environment was published with
// its active key, so every verifier has both. An active key that does not work is replaced at once: without it nothing is signed.
func (c *change) publishedLongEnough(ctx context.Context) error {
	active, next := c.in(models.KeyActive), c.in(models.KeyNext)
	if active == nil || next == nil || !next.CreatedAt.After(active.CreatedAt) {
		return nil
	}
	wait := next.CreatedAt.Add(keySetMaxAge + cacheFor).Sub(c.now)
	broken := c.Works(ctx, *active)
	if wait <= 0 || broken != nil {
		return nil //nolint:nilerr // the key that does not work is why the rotation may go on
	}
	return problem.Newf(problem.RotationInProgress, "Verifiers may not know the next key yet. Rotate again in %d minutes.", int((wait + time.Minute - 1).Minutes()))
}

// rotate changes the keys and returns the problem of a replaced next key after the commit: the replacement itself must not be
// rolled back.
//
// A rotation that waited for another is refused: it would have a key sign that verifiers have not had the time to fetch.
func (s *Service) rotate(ctx context.Context, scope pg.Scope, who by, allowed func(*change, context.Context) error) ([]models.SigningKey, error) {
	before, err := ListSigningKeys(ctx, s.store.Q, scope)
	if err != nil {
		return nil, err
	}
	var replaced error
	after, err := s.change(ctx, scope, who, func(c *change) error {
		if kidOf(before, models.KeyActive) != kidOf(c.rows, models.KeyActive) {
			return problem.Newf(problem.RotationInProgress, "The keys were rotated in the meantime. Rotate again in %d minutes, when verifiers know the next key.", int(keySetMaxAge.Minutes()))
		}
		err := allowed(c, ctx)
		if err == nil {
			replaced, err = c.rotate(ctx)
		}
		return err
	})
	if err == nil {
		err = replaced
	}
	return after, err
}

// Adopt publishes a key that exists in the first backend as the next one. The previous next key stays published as retiring.
func (s *Service) Adopt(ctx context.Context, scope pg.Scope, id, actor string) ([]models.SigningKey, error) {
	return s.change(ctx, scope, by{actor: actor}, func(c *change) error {
		reference, key, err := c.signers[0].Adopt(ctx, id)
		if err != nil {
			return err
		}
		kid, err := proof.KeyID(key.Public())
		if err != nil {
			return err
		}
		known, err := knownSigningKey(ctx, c.q, kid)
		if err != nil {
			return err
		}
		if known {
			return problem.Newf(problem.Conflict, "The key %s is or was a signing key already.", kid)
		}
		if err := c.move(ctx, c.in(models.KeyNext), models.KeyRetiring); err != nil {
			return err
		}
		return c.add(ctx, models.KeyNext, c.signers[0], reference, key)
	})
}

// by identifies the actor and the request of a change.
type by struct{ actor, request string }

// change changes the keys of one environment within a transaction.
type change struct {
	*Service
	q     *pg.Q
	scope pg.Scope
	who   by
	now   time.Time
	rows  []models.SigningKey // including retired ones, as they were when the change began
}

// change runs f under the lock of the environment's keys and returns the keys after it. It compares the master keys within the
// transaction: a process that lacks one of them could take a working key for a broken one.
func (s *Service) change(ctx context.Context, scope pg.Scope, who by, f func(c *change) error) ([]models.SigningKey, error) {
	var after []models.SigningKey
	err := s.store.Write(ctx, func(q *pg.Q) error {
		if err := lockSigningKey(ctx, q, scope); err != nil {
			return err
		}
		if err := masterkey.Compare(ctx, q, s.keys); err != nil {
			return err
		}
		rows, err := AllSigningKeys(ctx, q, scope)
		if err != nil {
			return err
		}
		if err := f(&change{Service: s, q: q, scope: scope, who: who, now: s.clock.Now(), rows: rows}); err != nil {
			return err
		}
		after, err = AllSigningKeys(ctx, q, scope)
		return err
	})
	s.Forget(scope.Environment)
	return after, err
}

// in returns the key in a status that at most one key has; nil if there is none.
func (c *change) in(status models.KeyStatus) *models.SigningKey { return inStatus(c.rows, status) }

func inStatus(rows []models.SigningKey, status models.KeyStatus) *models.SigningKey {
	i := slices.IndexFunc(rows, func(k models.SigningKey) bool { return k.Status == status })
	if i < 0 {
		return nil
	}
	return &rows[i]
}

// kidOf returns the id of the key in a status; empty if there is none.
func kidOf(rows []models.SigningKey, status models.KeyStatus) string {
	if k := inStatus(rows, status); k != nil {
		return k.KID
	}
	return ""
}

// working reports whether there is a key in the status and it works. A key whose backend is unavailable is not broken, and is not
// replaced: nothing changes until it is known.
func (c *change) working(ctx context.Context, status models.KeyStatus) (bool, error) {
	k := c.in(status)
	if k == nil {
		return false, nil
	}
	err := c.Works(ctx, *k)
	if errors.Is(err, keys.ErrUnavailable) {
		return false, unavailable(err)
	}
	return err == nil, nil
}

// rotate retires the active key only in favour of one that works. replaced is the problem to return if the next key did not work.
func (c *change) rotate(ctx context.Context) (replaced, err error) {
	next, err := c.working(ctx, models.KeyNext)
	if err != nil {
		return nil, err
	}
	if next {
		return nil, c.promote(ctx)
	}
	active, err := c.working(ctx, models.KeyActive)
	switch {
	case err != nil:
		return nil, err
	case active:
		if err := c.replaceNext(ctx); err != nil {
			return nil, err
		}
		return problem.Newf(problem.RotationInProgress, "The next signing key could not be used and was replaced; the active key stays in use. "+
			"Rotate again in %d minutes, when verifiers know the new key.", int(keySetMaxAge.Minutes())), nil
	default: // no key can sign: a new key that verifiers have yet to fetch is better than none
		for _, status := range []models.KeyStatus{models.KeyActive, models.KeyNext} {
			if err := c.move(ctx, c.in(status), models.KeyRetiring); err != nil {
				return nil, err
			}
		}
		return nil, c.createEach(ctx, models.KeyActive, models.KeyNext)
	}
}

// promote replaces the active key with the next one.
func (c *change) promote(ctx context.Context) error {
	if err := c.move(ctx, c.in(models.KeyActive), models.KeyRetiring); err != nil {
		return err
	}
	if err := c.move(ctx, c.in(models.KeyNext), models.KeyActive); err != nil {
		return err
	}
	return c.createEach(ctx, models.KeyNext)
}

// replaceNext publishes a new next key. The previous one stays published as retiring: it may have signed in place of the active
// key.
func (c *change) replaceNext(ctx context.Context) error {
	if err := c.move(ctx, c.in(models.KeyNext), models.KeyRetiring); err != nil {
		return err
	}
	return c.createEach(ctx, models.KeyNext)
}

// move changes the status of a key and records the event; a nil key is ignored.
func (c *change) move(ctx context.Context, k *models.SigningKey, to models.KeyStatus) error {
	if k == nil {
		return nil
	}
	moved, err := moveSigningKey(ctx, c.q, *k, to, c.now)
	if err != nil || !moved {
		return err
	}
	k.Status = to
	switch to {
	case models.KeyActive:
		return c.record(ctx, events.SigningKeyActivatedData{KID: k.KID, Backend: k.Backend})
	case models.KeyRetired:
		return c.record(ctx, events.SigningKeyRetiredData{KID: k.KID, Backend: k.Backend})
	default:
		return nil // retiring has no event
	}
}

// createEach creates one key per status, in the first backend.
func (c *change) createEach(ctx context.Context, statuses ...models.KeyStatus) error {
	for _, status := range statuses {
		reference, key, err := c.newKey(ctx)
		if err != nil {
			return err
		}
		if err := c.add(ctx, status, c.signers[0], reference, key); err != nil {
			return err
		}
	}
	return nil
}

func (c *change) add(ctx context.Context, status models.KeyStatus, in keys.Signer, reference []byte, key keys.Key) error {
	row, err := c.row(ctx, status, in, reference, key)
	if err != nil {
		return err
	}
	if err := createSigningKey(ctx, c.q, row); err != nil {
		return err
	}
	return c.record(ctx, events.SigningKeyCreatedData{KID: row.KID, Backend: row.Backend})
}

// row returns the row of a key, and tests the key in the form in which it will be stored.
func (c *change) row(ctx context.Context, status models.KeyStatus, in keys.Signer, reference []byte, key keys.Key) (models.SigningKey, error) {
	signer, err := proof.NewSigner(key)
	if err != nil {
		return models.SigningKey{}, err
	}
	jwk, err := publicJWK(signer)
	if err != nil {
		return models.SigningKey{}, err
	}
	kid := signer.KeyID()
	sealed, err := c.keys.Seal(keyPurpose, reference, bound(kid, in.Name()))
	if err != nil {
		return models.SigningKey{}, err
	}
	row := models.SigningKey{
		KID: kid, TenantID: c.scope.Tenant, EnvironmentID: c.scope.Environment, Status: status, Backend: in.Name(), PublicJWK: jwk,
		Sealed: sealed, CreatedAt: c.now,
	}
	if status == models.KeyActive {
		row.ActivatedAt = &c.now
	}
	err = c.Works(ctx, row)
	if errors.Is(err, keys.ErrUnavailable) {
		err = unavailable(err)
	}
	return row, err
}

// newKey creates a key whose id does not begin with a hyphen, so that the id is not taken for a flag on the command line.
func (c *change) newKey(ctx context.Context) (reference []byte, key keys.Key, err error) {
	for {
		reference, key, err = c.signers[0].Create(ctx, c.scope.Environment)
		if errors.Is(err, keys.ErrUnavailable) {
			return nil, nil, unavailable(err)
		}
		if err != nil {
			return nil, nil, err
		}
		kid, err := proof.KeyID(key.Public())
		if err != nil || !strings.HasPrefix(kid, "-") {
			return reference, key, err
		}
	}
}

// publicJWK returns the public key in the form of the key set.
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
		return nil, errors.New("the key set of one key does not have one key")
	}
	return models.JSON(set.Keys[0]), nil
}

func (c *change) record(ctx context.Context, data events.Data) error {
	return events.Append(ctx, c.q, events.Entry{Scope: c.scope, At: c.now, Actor: c.who.actor, RequestID: c.who.request, Data: data})
}
