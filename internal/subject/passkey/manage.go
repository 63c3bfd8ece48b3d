package passkey

import (
	"context"
	"errors"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/account/subjectrow"
	"github.com/countersign-dev/countersign/internal/authz/challenge"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// List returns a page of the subject's passkeys, including revoked ones, newest first, and the cursor of the next page.
func (s *Service) List(ctx context.Context, scope pg.Scope, subjectID string, page pg.Page) ([]models.Passkey, string, error) {
	sub, err := subjectrow.Get(ctx, s.store.AsStored(), scope, subjectID)
	if errors.Is(err, pg.ErrNotFound) {
		return nil, "", problem.NewNotFound()
	}
	if err != nil {
		return nil, "", err
	}
	return listPasskeys(ctx, s.store.Q, scope, sub.UID, page)
}

// Revoke ends a passkey: its assertions are rejected from then on. Revoking it twice has no effect.
func (s *Service) Revoke(ctx context.Context, p identity.Principal, subjectID, id string) error {
	now := s.clock.Now()
	return s.store.Write(ctx, func(q *pg.Q) error {
		q = q.AsStored()
		sub, err := subjectrow.Lock(ctx, q, p.Store(), subjectID)
		if errors.Is(err, pg.ErrNotFound) {
			return problem.NotFoundBy("subject_id")
		}
		if err != nil {
			return err
		}
		revoked, err := revokePasskey(ctx, q, p.Store(), sub.UID, id, now)
		if errors.Is(err, pg.ErrNotFound) {
			return problem.NotFoundBy("passkey_id")
		}
		if err != nil || !revoked {
			return err
		}
		left, err := challenge.ActivePasskeys(ctx, q, p.Store(), sub.UID)
		if err != nil {
			return err
		}
		data := events.PasskeyRevokedData{Passkey: id, Remaining: new(len(left))}
		return events.Append(ctx, q, entry(p, sub, now, data))
	})
}
