package hold

import (
	"context"
	"errors"
	"time"

	"github.com/countersign-dev/countersign/internal/platform/apitime"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// Escalate records the event hold.escalated for each team of a hold that still waits and whose time has passed, once per team. It
// approves nothing: the second team may approve from that time on, whether or not this was recorded.
func (s *Service) Escalate(ctx context.Context, m Move) (Outcome, error) {
	var out Outcome
	err := s.store.Write(ctx, func(q *pg.Q) error {
		c, err := lockCase(ctx, q, m.Environment, m.ID)
		if errors.Is(err, pg.ErrNotFound) {
			out = Outcome{Status: Gone}
			return nil
		}
		if err != nil {
			return err
		}
		// The row of the hold is locked: a review at the same moment is counted before or after, never with half of the escalations.
		rows, err := escalateHold(ctx, q, c.Hold, m.At)
		if err != nil {
			return err
		}
		for _, t := range rows {
			data := events.HoldEscalatedData{
				Team: t.Team, EscalatedTo: *t.EscalateTeam, DueAt: apitime.Time(c.Hold.DueAt), RiskClass: c.Hold.RiskClass,
			}
			if err := events.Append(ctx, q, entryOf(c, data, m, "workflow:"+m.WorkflowID)); err != nil {
				return err
			}
		}
		if len(rows) > 0 {
			if err := announceNotice(ctx, q, c.Hold, models.NoticeEscalated, m.At); err != nil {
				return err
			}
		}
		out, err = outcomeOf(ctx, q, c.Hold, m.At)
		return err
	})
	return out, err
}

// escalateAt returns when the next escalation of a pending hold is due; zero if there is none before the hold is due, because one at
// the deadline would wake the workflow for nothing.
func escalateAt(ctx context.Context, q *pg.Q, h models.Hold) (time.Time, error) {
	if h.Status != models.HoldPending {
		return time.Time{}, nil
	}
	at, err := nextEscalation(ctx, q, h)
	if err != nil || at == nil || !at.Before(h.DueAt) {
		return time.Time{}, err
	}
	return at.UTC(), nil
}
