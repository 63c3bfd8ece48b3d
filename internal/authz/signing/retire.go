package signing

import (
	"context"
	"slices"

	"github.com/countersign-dev/countersign/internal/authz/aggregate"
	"github.com/countersign-dev/countersign/internal/authz/proof"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// revokeBatch is the maximum number of proofs that one transaction revokes.
const revokeBatch = 500

// revokedWithKey is the reason in the event of a revoked proof.
const revokedWithKey = "signing_key_retired"

// Retire retires the keys whose proofs have all expired, and returns how many.
func (s *Service) Retire(ctx context.Context, scope pg.Scope, actor string) (int, error) {
	now := s.clock.Now()
	retired := 0
	err := s.store.Write(ctx, func(q *pg.Q) error {
		rows, err := ListSigningKeys(ctx, q, scope)
		if err != nil {
			return err
		}
		c := &change{Service: s, q: q, scope: scope, who: by{actor: actor}, now: now, rows: rows}
		retired = 0
		for i, row := range rows {
			if row.Status != models.KeyRetiring || row.RetiringAt == nil || now.Sub(*row.RetiringAt) < Overlap {
				continue
			}
			if err := c.move(ctx, &rows[i], models.KeyRetired); err != nil {
				return err
			}
			if rows[i].Status == models.KeyRetired {
				retired++
			}
		}
		return nil
	})
	s.Forget(scope.Environment)
	return retired, err
}

// Retirement takes one key out of use.
type Retirement struct {
	KID string
	// AtOnce is for a key that may be compromised: it verifies nothing from now on, and its open proofs are revoked.
	AtOnce bool
	Actor  string
}

// RetireKey takes one key out of use, and returns the keys after the change and the number of revoked proofs. The active key is
// replaced by the next one, and is not retired while no other key works. Without AtOnce the key verifies until its last proof
// has expired.
func (s *Service) RetireKey(ctx context.Context, scope pg.Scope, r Retirement) (after []models.SigningKey, revoked int, err error) {
	var retired models.SigningKey
	after, err = s.change(ctx, scope, by{actor: r.Actor}, func(c *change) error {
		var err error
		retired, err = c.retire(ctx, r)
		return err
	})
	if err != nil || !r.AtOnce {
		return after, 0, err
	}
	// In batches: a key may have signed more open proofs than one transaction should lock. A batch that is not full is no end: proofs of it
	// may have been consumed meanwhile.
	for {
		n, err := s.revokeSome(ctx, retired, r.Actor)
		revoked += n
		if err != nil || n == 0 {
			return after, revoked, err
		}
	}
}

// retire makes the moves of RetireKey, without revoking proofs.
func (c *change) retire(ctx context.Context, r Retirement) (models.SigningKey, error) {
	i := slices.IndexFunc(c.rows, func(k models.SigningKey) bool { return k.KID == r.KID })
	if i < 0 {
		return models.SigningKey{}, problem.Newf(problem.NotFound, "The environment has no signing key %s.", r.KID)
	}
	k := &c.rows[i]
	var err error
	switch {
	case k.Status == models.KeyRetired && !r.AtOnce:
		return *k, problem.Newf(problem.Conflict, "The signing key %s is retired already.", r.KID)
	case k.Status == models.KeyActive:
		err = c.replaceActive(ctx)
	case k.Status == models.KeyNext:
		err = c.replaceNext(ctx)
	}
	// A key that others may know is not kept because a backend cannot sign or create keys at present. A later rotation does that.
	withoutBackend := r.AtOnce && problem.Is(err, problem.Unavailable)
	if withoutBackend {
		err = nil
	}
	if err == nil && r.AtOnce && k.Status != models.KeyRetired {
		err = c.move(ctx, k, models.KeyRetired)
	}
	if err == nil && withoutBackend && c.in(models.KeyActive) == nil {
		err = c.move(ctx, c.in(models.KeyNext), models.KeyActive)
	}
	return *k, err
}

// replaceActive promotes the next key, if it works.
func (c *change) replaceActive(ctx context.Context) error {
	next, err := c.working(ctx, models.KeyNext)
	if err != nil {
		return err
	}
	if !next {
		return problem.Newf(problem.Conflict, "The signing key %s is the only one that can sign. Rotate the keys first.", c.in(models.KeyActive).KID)
	}
	return c.promote(ctx)
}

// revokeSome revokes open proofs of a key, each with its event, and returns how many.
func (s *Service) revokeSome(ctx context.Context, k models.SigningKey, actor string) (int, error) {
	now, revoked := s.clock.Now(), 0
	err := s.store.Write(ctx, func(q *pg.Q) error {
		rows, err := proof.RevokeProofsOfKey(ctx, q, k, proof.Revocation{
			Reason: revokedWithKey, At: now, Longest: proof.LongestOpen, Limit: revokeBatch,
		})
		if err != nil {
			return err
		}
		revoked = len(rows)
		decisions := make([]string, revoked)
		for i, r := range rows {
			decisions[i] = r.AuthorizationID
		}
		if err := aggregate.Release(ctx, q, k.EnvironmentID, now, decisions...); err != nil {
			return err
		}
		for _, r := range rows {
			err := events.Append(ctx, q, events.Entry{
				Scope: pg.Scope{Tenant: k.TenantID, Environment: k.EnvironmentID}, At: now,
				SubjectUID: r.SubjectUID, Subject: r.Subject, Action: r.ActionKey, AuthorizationID: r.AuthorizationID, Decision: r.Decision,
				Actor: actor, Data: events.ProofRevokedData{ProofID: r.ID, Reason: revokedWithKey},
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	return revoked, err
}
