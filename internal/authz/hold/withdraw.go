package hold

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/authz/aggregate"
	"github.com/countersign-dev/countersign/internal/authz/settle"
	"github.com/countersign-dev/countersign/internal/platform/apitime"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/outbox"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// Withdraw ends a pending hold whose request the relying party does not make any more. What the request reserved of limits is given back, and no
// outcome is recorded. The workflow of the hold need not be reachable: it is notified through the outbox. Repeating it returns the same receipt.
// Refusals are not_held, review_expired and review_resolved.
func (s *Service) Withdraw(ctx context.Context, p identity.Principal, id string) (out Withdrawn, err error) {
	err = settle.Retry(func() error {
		c, err := readCase(ctx, s.store.Q, p.Store(), id, nil)
		if err != nil {
			return refuseUnheld(ctx, s.store.Q, p, id, err)
		}
		now := s.clock.Now()
		if c.Status == models.HoldWithdrawn {
			now = *c.ResolvedAt
		} else if err := s.withdraw(ctx, p, c, Move{At: now}); err != nil {
			return err
		}
		out = Withdrawn{Authorization: id, ReviewStatus: string(models.HoldWithdrawn), WithdrawnAt: apitime.Time(now)}
		return nil
	})
	if errors.Is(err, pg.ErrNotFound) {
		err = problem.NewNotFound()
	}
	return out, err
}

// withdraw makes the move of a hold that is not withdrawn.
func (s *Service) withdraw(ctx context.Context, p identity.Principal, c Case, m Move) error {
	if status := Effective(c.Hold, m.At); status != models.HoldPending {
		return refuseSettled(status, "")
	}
	b := &pgx.Batch{}
	ending, err := endingOf(ctx, s.store.Q, c.Hold, m.At)
	if err != nil {
		return err
	}
	queueResolve(b, c.Hold, resolution{to: models.HoldWithdrawn, by: p.Actor(), at: m.At, ending: ending})
	aggregate.QueueRelease(b, c.EnvironmentID, m.At, c.AuthorizationID)
	e := c.entry(events.HoldWithdrawnData{ResolvedBy: p.Actor()}, m, p.Actor())
	e.RequestID = p.RequestID
	if err := events.Queue(b, e, pg.Causes{}); err != nil {
		return err
	}
	events.QueueOutbox(b, models.Outbox{
		Topic: outbox.TopicHoldSettled, EnvironmentID: c.EnvironmentID, Ref: c.AuthorizationID, Payload: []byte("{}"), CreatedAt: m.At, AvailableAt: m.At,
	})
	err = settle.Commit(ctx, s.store, b)
	if err == nil {
		s.store.Wake(pg.ChannelDesk, c.EnvironmentID)
	}
	return err
}
