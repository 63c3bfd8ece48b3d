package workflows

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/countersign-dev/countersign/activities"
	"github.com/countersign-dev/countersign/internal/subject/template"
)

// NameAdaptation is a registered name. Histories refer to it: it is never renamed.
const NameAdaptation = "adaptation"

// AdaptationID is the id of the run that follows the end of a session.
func AdaptationID(session string) string { return NameAdaptation + "/" + session }

// AdaptationInput starts the run that follows the end of a session. Fields are added, never changed.
type AdaptationInput struct {
	Session     string
	Environment string
}

// AdaptationResult is what became of the template: adapted, or unchanged and why.
type AdaptationResult struct {
	Status string
	Reason string
}

// Adaptation takes one ended session into its person's template, where it was confirmed. Nobody waits for it.
func Adaptation(ctx workflow.Context, in AdaptationInput) (AdaptationResult, error) {
	out, err := untilAnswered[activities.AdaptationStanding](ctx, func(ctx workflow.Context, at time.Time) workflow.Future {
		return workflow.ExecuteActivity(slowStep(ctx, activities.AdaptationTakeIn), activities.AdaptationTakeIn,
			activities.AdaptationStep{Session: in.Session, At: at})
	})
	if err != nil {
		return AdaptationResult{}, err
	}
	return AdaptationResult{Status: out.Status, Reason: out.Reason}, becomes(ctx, out.Status, "")
}

func (in AdaptationInput) about() about {
	return about{
		kind: NameAdaptation, environment: in.Environment, state: "ended",
		summary: fmt.Sprintf("Adaptation after session %s", in.Session),
	}
}

// StartAdaptation starts the run that follows the end of a session unless it exists.
func (c *Client) StartAdaptation(ctx context.Context, r template.WorkflowInput) error {
	in := AdaptationInput{Session: r.Session, Environment: r.Environment}
	return c.start(ctx, AdaptationID(in.Session), NameAdaptation, in.about(), in)
}
