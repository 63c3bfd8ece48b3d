package worker

import (
	"context"

	"github.com/countersign-dev/countersign/internal/authz/challenge"
	"github.com/countersign-dev/countersign/internal/authz/evaluation"
	"github.com/countersign-dev/countersign/internal/authz/hold"
	"github.com/countersign-dev/countersign/internal/platform/outbox"
	"github.com/countersign-dev/countersign/internal/subject/enrollment"
	"github.com/countersign-dev/countersign/internal/subject/template"
	"github.com/countersign-dev/countersign/models"
	"github.com/countersign-dev/countersign/workflows"
)

// These look up what the run of a record is started with; false where nothing is left to run for.
type (
	challengeWorkflows interface {
		WorkflowInput(ctx context.Context, id string) (challenge.WorkflowInput, bool, error)
	}
	holdWorkflows interface {
		WorkflowInput(ctx context.Context, id string) (hold.WorkflowInput, bool, error)
	}
	evaluationWorkflows interface {
		WorkflowInput(ctx context.Context, id string) (evaluation.WorkflowInput, bool, error)
	}
)

// WorkflowTopics are the handlers of the outbox rows that start and settle the runs of challenges, holds and evaluations.
func WorkflowTopics(c *workflows.Client, challenges challengeWorkflows, holds holdWorkflows, evaluations evaluationWorkflows) map[string]outbox.Handler {
	return map[string]outbox.Handler{
		outbox.TopicChallengeStart:   Starter(challenges.WorkflowInput, c.StartChallenge),
		outbox.TopicHoldStart:        Starter(holds.WorkflowInput, c.StartHold),
		outbox.TopicEvaluationStart:  Starter(evaluations.WorkflowInput, c.StartEvaluation),
		outbox.TopicChallengeSettled: func(ctx context.Context, row models.Outbox) error { return c.SettleChallenge(ctx, row.Ref) },
		outbox.TopicHoldSettled:      func(ctx context.Context, row models.Outbox) error { return c.SettleHold(ctx, row.Ref) },
	}
}

// Starter is the handler that looks a record up by the row's ref and starts its run. A record that was settled before the
// relay came to it needs none.
func Starter[R any](find func(ctx context.Context, id string) (R, bool, error), start func(context.Context, R) error) outbox.Handler {
	return func(ctx context.Context, row models.Outbox) error {
		run, waiting, err := find(ctx, row.Ref)
		if err != nil || !waiting {
			return err
		}
		return start(ctx, run)
	}
}

// enrollmentWorkflows look up what the run of an enrollment is started with.
type enrollmentWorkflows interface {
	WorkflowInput(ctx context.Context, id string) (enrollment.WorkflowInput, bool, error)
}

// adaptationWorkflows look up what the run that follows the end of a session is started with.
type adaptationWorkflows interface {
	WorkflowInput(ctx context.Context, session string) (template.WorkflowInput, bool, error)
}

// AdaptationTopics is the handler of the outbox rows that follow the end of a session.
func AdaptationTopics(c *workflows.Client, templates adaptationWorkflows) map[string]outbox.Handler {
	return map[string]outbox.Handler{outbox.TopicAdaptationStart: Starter(templates.WorkflowInput, c.StartAdaptation)}
}

// EnrollmentTopics is the handler of the outbox rows that start the runs of enrollments.
func EnrollmentTopics(c *workflows.Client, enrollments enrollmentWorkflows) map[string]outbox.Handler {
	return map[string]outbox.Handler{outbox.TopicEnrollmentStart: Starter(enrollments.WorkflowInput, c.StartEnrollment)}
}
