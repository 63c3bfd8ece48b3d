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

// Subjects are the services behind the activities of recoveries and erasures.
type Subjects struct {
	Recoveries activities.RecoveryMoves
	Erasures   activities.ErasureSteps
	Workflows  activities.WorkflowForgetter
}

func registerSubjects(r Registry, s Services) {
	recoveries := &activities.Recoveries{Moves: s.Subjects.Recoveries, Log: s.Log}
	erasures := &activities.Erasures{Steps: s.Subjects.Erasures, Workflows: s.Subjects.Workflows, Log: s.Log}
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
	recoveryWorkflows interface {
		WorkflowInput(ctx context.Context, environment, id string) (recovery.WorkflowInput, bool, error)
	}
	erasureWorkflows interface {
		WorkflowInput(ctx context.Context, environment, id string) (subject.WorkflowInput, bool, error)
	}
)

// SubjectTopics returns the handlers of the outbox rows that start and settle the workflows of recoveries and erasures.
func SubjectTopics(c *workflows.Client, recoveries recoveryWorkflows, erasures erasureWorkflows) map[string]outbox.Handler {
	return map[string]outbox.Handler{
		outbox.TopicRecoveryStart: Starter(recoveries.WorkflowInput, c.StartRecovery),
		outbox.TopicErasureStart:  Starter(erasures.WorkflowInput, c.StartErasure),
		recovery.TopicSettled:     func(ctx context.Context, row models.Outbox) error { return c.SettleRecovery(ctx, row.Ref) },
	}
}
