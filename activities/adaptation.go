package activities

import (
	"context"
	"log/slog"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/countersign-dev/countersign/internal/subject/template"
)

// AdaptationTakeIn is the registered name of the activity of an adaptation. Histories refer to it: never rename it.
const AdaptationTakeIn = "adaptation.take_in"

// TemplateMoves adapts templates (template.Service).
type TemplateMoves interface {
	Adapt(ctx context.Context, step template.Step) (template.AdaptationResult, error)
}

// AdaptationStep is the payload of the adaptation after one ended session.
type AdaptationStep struct {
	Session     string
	Environment string
	At          time.Time `json:",omitzero"` // the workflow's time
}

// AdaptationStanding reports whether the template was adapted, or why it is unchanged.
type AdaptationStanding struct {
	Status string
	Reason string
}

// Adaptations are the activities of an adaptation.
type Adaptations struct {
	Moves TemplateMoves
	Log   *slog.Logger
}

// TakeIn adapts the user's template to the session, or reports why not.
func (a *Adaptations) TakeIn(ctx context.Context, in AdaptationStep) (AdaptationStanding, error) {
	out, err := a.Moves.Adapt(ctx, template.Step{
		Session: in.Session, Environment: in.Environment, At: in.At, WorkflowID: activity.GetInfo(ctx).WorkflowExecution.ID,
	})
	if err != nil {
		return AdaptationStanding{}, report(ctx, a.Log, err)
	}
	return AdaptationStanding{Status: out.Status, Reason: out.Reason}, nil
}
