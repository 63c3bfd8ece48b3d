package hold

import (
	"context"
	"errors"
	"time"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/authz/challenge"
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

func (s *Service) assign(ctx context.Context, p identity.Principal, id, from, to string) (Assignment, error) {
	now, out := s.clock.Now(), Assignment{Authorization: id}
	err := s.store.Write(ctx, func(q *pg.Q) error {
		if _, err := GetHold(ctx, q, p.Store(), id); err != nil {
			return refuseUnheld(ctx, q, p, id, err)
		}
		c, err := lockCase(ctx, q, p.EnvironmentID, id)
		if err != nil {
			return err
		}
		if status := Effective(c.Hold, now); status != models.HoldPending {
			return refuseSettled(status, "")
		}
		if has := optional(c.Hold.AssignedTo); has == to {
			out.AssignedTo, out.AssignedAt = c.Hold.AssignedTo, c.Hold.AssignedAt
			return nil
		}
		moved, err := assignHold(ctx, q, p.Store(), id, from, to, now)
		if err != nil {
			return err
		}
		if !moved {
			return problem.New(problem.Conflict, "A different reviewer has taken this hold. Read it again, and name that reviewer as previous to take it over.")
		}
		if to != "" {
			out.AssignedTo, out.AssignedAt = &to, &now
		}
		e := entryOf(c, events.HoldAssignedData{AssignedTo: to, Previous: from}, Move{ID: id, At: now}, p.Actor())
		e.RequestID = p.RequestID
		return events.Append(ctx, q, e)
	})
	return out, err
}

// refuseUnheld returns not_held for a decision without a hold, and not_found if there is no decision.
func refuseUnheld(ctx context.Context, q *pg.Q, p identity.Principal, id string, err error) error {
	if !errors.Is(err, pg.ErrNotFound) {
		return err
	}
	switch _, err := challenge.RequesterOfDecision(ctx, q, p.Store(), id); {
	case errors.Is(err, pg.ErrNotFound):
		return problem.NewNotFound()
	case err != nil:
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
