package worker

import (
	"context"

	"github.com/countersign-dev/countersign/internal/authz/backgrounds"
	"github.com/countersign-dev/countersign/internal/authz/challenge"
	"github.com/countersign-dev/countersign/internal/authz/change"
	"github.com/countersign-dev/countersign/internal/authz/evaluation"
	"github.com/countersign-dev/countersign/internal/authz/hold"
	"github.com/countersign-dev/countersign/internal/platform/outbox"
	"github.com/countersign-dev/countersign/internal/subject/enrollment"
	"github.com/countersign-dev/countersign/internal/subject/template"
	"github.com/countersign-dev/countersign/models"
	"github.com/countersign-dev/countersign/workflows"
)

// Each returns the input of the workflow of a record, and false if the record needs no workflow any more.
type (
	challengeWorkflows interface {
		WorkflowInput(ctx context.Context, environment, id string) (challenge.WorkflowInput, bool, error)
	}
	holdWorkflows interface {
		WorkflowInput(ctx context.Context, environment, id string) (hold.WorkflowInput, bool, error)
	}
	evaluationWorkflows interface {
		WorkflowInput(ctx context.Context, environment, id string) (evaluation.WorkflowInput, bool, error)
	}
)

// ReviewTopics returns the handler of the outbox rows of reviews that were given in the console.
func ReviewTopics(r *hold.Reviewer) map[string]outbox.Handler {
	return map[string]outbox.Handler{outbox.TopicReview: r.Make}
}

// WorkflowTopics returns the handlers of the outbox rows that start and settle the workflows of challenges, holds and
// evaluations.
func WorkflowTopics(c *workflows.Client, challenges challengeWorkflows, holds holdWorkflows, evaluations evaluationWorkflows) map[string]outbox.Handler {
	return map[string]outbox.Handler{
		outbox.TopicChallengeStart:   Starter(challenges.WorkflowInput, c.StartChallenge),
		outbox.TopicHoldStart:        Starter(holds.WorkflowInput, c.StartHold),
		outbox.TopicEvaluationStart:  Starter(evaluations.WorkflowInput, c.StartEvaluation),
		outbox.TopicChallengeSettled: func(ctx context.Context, row models.Outbox) error { return c.SettleChallenge(ctx, row.Ref) },
		outbox.TopicHoldSettled:      func(ctx context.Context, row models.Outbox) error { return c.SettleHold(ctx, row.Ref) },
	}
}

// Starter returns a handler that looks up the record by the row's ref and starts its workflow. It starts none if the record was
// settled before the relay reached the row.
func Starter[R any](find func(ctx context.Context, environment, id string) (R, bool, error), start func(context.Context, R) error) outbox.Handler {
	return func(ctx context.Context, row models.Outbox) error {
		input, waiting, err := find(ctx, row.EnvironmentID, row.Ref)
		if err != nil || !waiting {
			return err
		}
		return start(ctx, input)
	}
}

// enrollmentWorkflows returns the input of the workflow of an enrollment.
type enrollmentWorkflows interface {
	WorkflowInput(ctx context.Context, environment, id string) (enrollment.WorkflowInput, bool, error)
}

// adaptationWorkflows returns the input of the workflow of the adaptation after a session.
type adaptationWorkflows interface {
	WorkflowInput(ctx context.Context, environment, session string) (template.WorkflowInput, bool, error)
}

// AdaptationTopics returns the handler of the outbox rows that follow the end of a session.
func AdaptationTopics(c *workflows.Client, templates adaptationWorkflows) map[string]outbox.Handler {
	return map[string]outbox.Handler{outbox.TopicAdaptationStart: Starter(templates.WorkflowInput, c.StartAdaptation)}
}

// backgroundWorkflows returns the input of the workflow that learns an environment's background.
type backgroundWorkflows interface {
	WorkflowInput(ctx context.Context, environment, ref string) (backgrounds.WorkflowInput, bool, error)
}

// BackgroundTopics returns the handler of the outbox rows that start the learning of backgrounds.
func BackgroundTopics(c *workflows.Client, backgrounds backgroundWorkflows) map[string]outbox.Handler {
	return map[string]outbox.Handler{outbox.TopicBackgroundStart: Starter(backgrounds.WorkflowInput, c.StartBackground)}
}

// changeWorkflows returns the input of the workflow of a change request.
type changeWorkflows interface {
	WorkflowInput(ctx context.Context, environment, id string) (change.WorkflowInput, bool, error)
}

// ChangeTopics returns the handler of the outbox rows that start the workflows of change requests.
func ChangeTopics(c *workflows.Client, changes changeWorkflows) map[string]outbox.Handler {
	return map[string]outbox.Handler{outbox.TopicChangeStart: Starter(changes.WorkflowInput, c.StartChange)}
}

// EnrollmentTopics returns the handler of the outbox rows that start the workflows of enrollments.
func EnrollmentTopics(c *workflows.Client, enrollments enrollmentWorkflows) map[string]outbox.Handler {
	return map[string]outbox.Handler{outbox.TopicEnrollmentStart: Starter(enrollments.WorkflowInput, c.StartEnrollment)}
}
