package worker

import (
	"context"

	"go.temporal.io/sdk/activity"

	"github.com/countersign-dev/countersign/activities"
	"github.com/countersign-dev/countersign/internal/platform/outbox"
	"github.com/countersign-dev/countersign/internal/subject"
	"github.com/countersign-dev/countersign/internal/subject/recovery"
	"github.com/countersign-dev/countersign/models"
	"github.com/countersign-dev/countersign/workflows"
)

// Subjects are what the activities about subjects work with: recoveries and erasures.
type Subjects struct {
	Recoveries activities.RecoveryMoves
	Erasures   activities.ErasureSteps
	Runs       activities.RunForgetter
}

func registerSubjects(r Registry, s Services) {
	recoveries := &activities.Recoveries{Moves: s.Subjects.Recoveries, Log: s.Log}
	erasures := &activities.Erasures{Steps: s.Subjects.Erasures, Runs: s.Subjects.Runs, Log: s.Log}
	for name, a := range map[string]any{
		activities.RecoveryAdvance: recoveries.Advance,
		activities.ErasureForget:   erasures.Forget,
		activities.ErasureSweep:    erasures.Sweep,
		activities.ErasureFinish:   erasures.Finish,
	} {
		r.RegisterActivityWithOptions(a, activity.RegisterOptions{Name: name})
	}
}

type (
	recoveryRuns interface {
		Run(ctx context.Context, id string) (recovery.Run, bool, error)
	}
	erasureRuns interface {
		Run(ctx context.Context, id string) (subject.Run, bool, error)
	}
)

// SubjectTopics are the handlers of the outbox rows that start and settle the runs of recoveries and erasures.
func SubjectTopics(c *workflows.Client, recoveries recoveryRuns, erasures erasureRuns) map[string]outbox.Handler {
	return map[string]outbox.Handler{
		outbox.TopicRecoveryStart: Starter(recoveries.Run, c.StartRecovery),
		outbox.TopicErasureStart:  Starter(erasures.Run, c.StartErasure),
		recovery.TopicSettled:     func(ctx context.Context, row models.Outbox) error { return c.SettleRecovery(ctx, row.Ref) },
	}
}
