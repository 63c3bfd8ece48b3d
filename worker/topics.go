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

// Runs look up what the run of a record is started with; false where nothing is left to run for.
type (
	challengeRuns interface {
		Run(ctx context.Context, id string) (challenge.Run, bool, error)
	}
	holdRuns interface {
		Run(ctx context.Context, id string) (hold.Run, bool, error)
	}
	evaluationRuns interface {
		Run(ctx context.Context, id string) (evaluation.Run, bool, error)
	}
)

// RunTopics are the handlers of the outbox rows that start and settle the runs of challenges, holds and evaluations.
func RunTopics(c *workflows.Client, challenges challengeRuns, holds holdRuns, evaluations evaluationRuns) map[string]outbox.Handler {
	return map[string]outbox.Handler{
		outbox.TopicChallengeStart:   Starter(challenges.Run, c.StartChallenge),
		outbox.TopicHoldStart:        Starter(holds.Run, c.StartHold),
		outbox.TopicEvaluationStart:  Starter(evaluations.Run, c.StartEvaluation),
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

// enrollmentRuns look up what the run of an enrollment is started with.
type enrollmentRuns interface {
	Run(ctx context.Context, id string) (enrollment.Run, bool, error)
}

// adaptationRuns look up what the run that follows the end of a session is started with.
type adaptationRuns interface {
	Run(ctx context.Context, session string) (template.Run, bool, error)
}

// AdaptationTopics is the handler of the outbox rows that follow the end of a session.
func AdaptationTopics(c *workflows.Client, templates adaptationRuns) map[string]outbox.Handler {
	return map[string]outbox.Handler{outbox.TopicAdaptationStart: Starter(templates.Run, c.StartAdaptation)}
}

// EnrollmentTopics is the handler of the outbox rows that start the runs of enrollments.
func EnrollmentTopics(c *workflows.Client, enrollments enrollmentRuns) map[string]outbox.Handler {
	return map[string]outbox.Handler{outbox.TopicEnrollmentStart: Starter(enrollments.Run, c.StartEnrollment)}
}
