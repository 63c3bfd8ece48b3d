package workflows

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/countersign-dev/countersign/activities"
	"github.com/countersign-dev/countersign/internal/subject/template"
)

// NameAdaptation is the registered name of the workflow. Histories refer to it: never rename it.
const NameAdaptation = "adaptation"

// AdaptationID returns the workflow id of the adaptation after a session.
func AdaptationID(session string) string { return NameAdaptation + "/" + session }

// AdaptationInput is the input of the workflow of an adaptation. Histories contain it: fields are added, never renamed.
type AdaptationInput struct {
	Session     string
	Environment string
}

// AdaptationResult reports whether the template was adapted, or why it is unchanged.
type AdaptationResult struct {
	Status string
	Reason string
}

// Adaptation updates the user's template from one ended session, if the session was confirmed. No request waits for it.
func Adaptation(ctx workflow.Context, in AdaptationInput) (AdaptationResult, error) {
	out, err := retryStep[activities.AdaptationStanding](ctx, func(ctx workflow.Context, at time.Time) workflow.Future {
		return workflow.ExecuteActivity(slowStep(ctx, activities.AdaptationTakeIn), activities.AdaptationTakeIn,
			activities.AdaptationStep{Session: in.Session, Environment: in.Environment, At: at})
	})
	if err != nil {
		return AdaptationResult{}, err
	}
	return AdaptationResult{Status: out.Status, Reason: out.Reason}, upsertState(ctx, out.Status, "")
}

func (in AdaptationInput) start() startRequest {
	return startRequest{
		id: AdaptationID(in.Session), input: in, kind: NameAdaptation, environment: in.Environment, state: "ended",
		summary: fmt.Sprintf("Adaptation after session %s", in.Session),
	}
}

// StartAdaptation starts the workflow of the adaptation after a session unless it exists.
func (c *Client) StartAdaptation(ctx context.Context, r template.WorkflowInput) error {
	in := AdaptationInput{Session: r.Session, Environment: r.Environment}
	return c.start(ctx, in.start())
}
