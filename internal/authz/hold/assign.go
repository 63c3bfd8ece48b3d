package hold

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/authz/settle"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// Assignment is a hold with the reviewer who has taken it; AssignedTo is nil if no one has.
type Assignment struct {
	Authorization string
	AssignedTo    *string
	AssignedAt    *time.Time
}

// Take assigns a pending hold to the caller. previous is the reviewer from whom the caller takes it, "" for a hold that no one
// has: a hold that a different reviewer has taken in the meantime is refused with conflict. It limits no one, and a hold that
// the caller has already is unchanged.
func (s *Service) Take(ctx context.Context, p identity.Principal, id, previous string) (Assignment, error) {
	return s.assign(ctx, p, id, previous, p.Actor())
}

// Release makes the hold no one's. Only the reviewer who has it can release it.
func (s *Service) Release(ctx context.Context, p identity.Principal, id string) (Assignment, error) {
	return s.assign(ctx, p, id, p.Actor(), "")
}

func (s *Service) assign(ctx context.Context, p identity.Principal, id, from, to string) (out Assignment, err error) {
	now := s.clock.Now()
	err = settle.Retry(func() error {
		c, err := readCase(ctx, s.store.Q, p.Store(), id, nil)
		if err != nil {
			return refuseUnheld(ctx, s.store.Q, p, id, err)
		}
		if status := Effective(c.Hold, now); status != models.HoldPending {
			return refuseSettled(status, "")
		}
		out = Assignment{Authorization: id, AssignedTo: c.AssignedTo, AssignedAt: c.AssignedAt}
		has := optional(c.AssignedTo)
		if has == to {
			return nil
		}
		if has != from {
			return problem.New(problem.Conflict, "This hold is assigned to a different reviewer. Read it again, and name that reviewer as previous to take it over.")
		}
		if out.AssignedTo, out.AssignedAt = nil, nil; to != "" {
			out.AssignedTo, out.AssignedAt = &to, &now
		}
		b := &pgx.Batch{}
		queueAssign(b, c.Hold, from, to, now)
		e := c.entry(events.HoldAssignedData{AssignedTo: to, Previous: from}, Move{At: now}, p.Actor())
		e.RequestID = p.RequestID
		if err := events.Queue(b, e, pg.Causes{}); err != nil {
			return err
		}
		if err := settle.Commit(ctx, s.store, b); err != nil {
			return err
		}
		s.store.Wake(pg.ChannelDesk, p.EnvironmentID)
		return nil
	})
	if errors.Is(err, pg.ErrNotFound) {
		err = problem.NewNotFound()
	}
	return out, err
}

// refuseUnheld returns not_held for a decision without a hold.
func refuseUnheld(ctx context.Context, q *pg.Q, p identity.Principal, id string, err error) error {
	if !errors.Is(err, pg.ErrNotFound) {
		return err
	}
	if _, err := settle.EffectOfDecision(ctx, q, p.EnvironmentID, id); err != nil {
		return err
	}
	return problem.New(problem.NotHeld, "The authorization was not held.")
}

func optional(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}
