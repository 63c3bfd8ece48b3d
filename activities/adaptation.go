package activities

import (
	"context"
	"log/slog"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/countersign-dev/countersign/internal/subject/template"
)

// AdaptationTakeIn is the name under which the activity of an adaptation is registered.
const AdaptationTakeIn = "adaptation.take_in"

// TemplateMoves are the moves of an adaptation (internal/subject/template).
type TemplateMoves interface {
	Adapt(ctx context.Context, step template.Step) (template.AdaptationResult, error)
}

// AdaptationStep asks for one ended session to be taken into its person's template.
type AdaptationStep struct {
	Session string
	At      time.Time // the workflow's time
}

// AdaptationStanding is what became of it: adapted, or unchanged and why.
type AdaptationStanding struct {
	Status string
	Reason string
}

// Adaptations are the activities of an adaptation.
type Adaptations struct {
	Moves TemplateMoves
	Log   *slog.Logger
}

// TakeIn adapts the template, or says why not.
func (a *Adaptations) TakeIn(ctx context.Context, in AdaptationStep) (AdaptationStanding, error) {
	out, err := a.Moves.Adapt(ctx, template.Step{
		Session: in.Session, At: in.At, WorkflowID: activity.GetInfo(ctx).WorkflowExecution.ID,
	})
	if err != nil {
		return AdaptationStanding{}, report(ctx, a.Log, err)
	}
	return AdaptationStanding{Status: out.Status, Reason: out.Reason}, nil
}
