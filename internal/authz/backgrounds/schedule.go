package backgrounds

import (
	"context"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/internal/platform/outbox"
	"github.com/countersign-dev/countersign/internal/platform/pg"
)

// WorkflowInput is the input of the workflow that learns an environment's background.
type WorkflowInput struct {
	Environment string
	Day         string // UTC, 2026-11-23
}

// ScheduleAll schedules the workflow of every environment that learns, once a day each, and reports how many.
func (s *Service) ScheduleAll(ctx context.Context, at time.Time, _ string) (done int, more bool, err error) {
	rows, err := learningEnvironments(ctx, s.Store.Q)
	if err != nil {
		return 0, false, err
	}
	// The day is part of the workflow id: a task that is repeated on the same day starts nothing.
	day := at.UTC().Format(time.DateOnly)
	for _, env := range rows {
		err := s.Store.Write(ctx, func(q *pg.Q) error {
			return outbox.Add(ctx, q, outbox.Item{Topic: outbox.TopicBackgroundStart, Environment: env.ID, Ref: env.ID + "/" + day, At: at})
		})
		if err != nil {
			return done, true, err
		}
		done++
	}
	return done, false, nil
}

// WorkflowInput returns the input of a scheduled workflow for the outbox relay.
func (s *Service) WorkflowInput(_ context.Context, _, ref string) (WorkflowInput, bool, error) {
	environment, day, ok := strings.Cut(ref, "/")
	return WorkflowInput{Environment: environment, Day: day}, ok, nil
}
