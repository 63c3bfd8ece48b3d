package activities

import (
	"context"
	"log/slog"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/countersign-dev/countersign/internal/authz/backgrounds"
	"github.com/countersign-dev/countersign/internal/behavior/features"
)

// Registered names of the activities of an environment's background. Histories refer to them: never rename them.
const (
	BackgroundCount    = "background.count"
	BackgroundForm     = "background.form"
	BackgroundActivate = "background.activate"
	BackgroundCarry    = "background.carry"
)

// BackgroundMoves forms the backgrounds of environments (backgrounds.Service).
type BackgroundMoves interface {
	Count(ctx context.Context, environment string, at time.Time) (done int, more bool, err error)
	Form(ctx context.Context, environment string, m features.Modality, at time.Time, by string) (backgrounds.Result, error)
	Activate(ctx context.Context, environment, version string, at time.Time, by string) error
	CarryOver(ctx context.Context, at time.Time, by string) (done int, more bool, err error)
}

// BackgroundStep is the payload of one step. It names an environment, a modality and a background, never a person.
type BackgroundStep struct {
	Environment string
	Modality    string
	Version     string
	At          time.Time `json:",omitzero"` // the workflow's time
}

// BackgroundProgress reports how many people or templates a step processed, and whether there may be more.
type BackgroundProgress struct {
	Done int
	More bool
}

// BackgroundStanding is the outcome of forming a background, with rates over people, from 0 to 1.
type BackgroundStanding struct {
	Outcome     string
	Version     string
	People      int
	ErrorBefore float64
	ErrorAfter  float64
}

// Backgrounds are the activities of an environment's background.
type Backgrounds struct {
	Moves BackgroundMoves
	Log   *slog.Logger
}

// by returns the actor of events.
func by(ctx context.Context) string {
	return "workflow:" + activity.GetInfo(ctx).WorkflowExecution.ID
}

// Count counts a batch of people who are not in the sums.
func (a *Backgrounds) Count(ctx context.Context, in BackgroundStep) (BackgroundProgress, error) {
	done, more, err := a.Moves.Count(ctx, in.Environment, moment(in.At))
	if err != nil {
		return BackgroundProgress{}, report(ctx, a.Log, err)
	}
	return BackgroundProgress{done, more}, nil
}

// Form forms a background and compares it with the one in force.
func (a *Backgrounds) Form(ctx context.Context, in BackgroundStep) (BackgroundStanding, error) {
	out, err := a.Moves.Form(ctx, in.Environment, features.Modality(in.Modality), moment(in.At), by(ctx))
	if err != nil {
		return BackgroundStanding{}, report(ctx, a.Log, err)
	}
	return BackgroundStanding{
		Outcome: out.Outcome, Version: out.Version, People: out.People,
		ErrorBefore: out.Comparison.Before.EER, ErrorAfter: out.Comparison.After.EER,
	}, nil
}

// Activate puts a background in force.
func (a *Backgrounds) Activate(ctx context.Context, in BackgroundStep) error {
	if err := a.Moves.Activate(ctx, in.Environment, in.Version, moment(in.At), by(ctx)); err != nil {
		return report(ctx, a.Log, err)
	}
	return nil
}

// Carry trains a batch of templates of earlier backgrounds anew.
func (a *Backgrounds) Carry(ctx context.Context, in BackgroundStep) (BackgroundProgress, error) {
	done, more, err := a.Moves.CarryOver(ctx, moment(in.At), activity.GetInfo(ctx).WorkflowExecution.ID)
	if err != nil {
		return BackgroundProgress{}, report(ctx, a.Log, err)
	}
	return BackgroundProgress{done, more}, nil
}
