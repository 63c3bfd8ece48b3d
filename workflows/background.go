package workflows

import (
	"context"
	"fmt"

	"go.temporal.io/sdk/workflow"

	"github.com/countersign-dev/countersign/activities"
	"github.com/countersign-dev/countersign/internal/authz/backgrounds"
)

// NameBackground is the registered name of the workflow. Histories refer to it: never rename it.
const NameBackground = "background"

// BackgroundID returns the workflow id of the learning of an environment's background on a day (2026-11-23).
func BackgroundID(environment, day string) string {
	return NameBackground + "/" + environment + "/" + day
}

// backgroundBatches bounds the batches of a step in one workflow run; the next day's run continues.
const backgroundBatches = 2000

// backgroundModalities are the modalities of which a background is learned, in order. Histories depend on it.
var backgroundModalities = []string{"keystroke", "pointer"}

// BackgroundInput is the input of the workflow. Histories contain it: fields are added, never renamed.
type BackgroundInput struct {
	Environment string
	Day         string
}

// BackgroundResult says what became of each modality's background, and how many people and templates were processed.
type BackgroundResult struct {
	Counted  int
	Outcomes map[string]string
	Carried  int
}

// Background learns the background of an environment: it counts the people who enrolled since, forms a background of each modality, puts
// it in force if it is not worse and trains the templates anew.
func Background(ctx workflow.Context, in BackgroundInput) (BackgroundResult, error) {
	out := BackgroundResult{Outcomes: map[string]string{}}
	var err error
	if out.Counted, err = backgroundBatch(ctx, activities.BackgroundCount, in); err != nil {
		return out, err
	}
	switched := false
	for _, modality := range backgroundModalities {
		step := activities.BackgroundStep{Environment: in.Environment, Modality: modality, At: workflow.Now(ctx)}
		var formed activities.BackgroundStanding
		if err := workflow.ExecuteActivity(slowStep(ctx, "Form and compare "+modality), activities.BackgroundForm, step).Get(ctx, &formed); err != nil {
			return out, err
		}
		out.Outcomes[modality] = formed.Outcome
		if formed.Outcome != backgrounds.Formed {
			continue
		}
		step.Version = formed.Version
		if err := workflow.ExecuteActivity(slowStep(ctx, "Put "+formed.Version+" in force"), activities.BackgroundActivate, step).Get(ctx, nil); err != nil {
			return out, err
		}
		switched = true
	}
	if switched {
		if out.Carried, err = backgroundBatch(ctx, activities.BackgroundCarry, in); err != nil {
			return out, err
		}
	}
	return out, upsertState(ctx, "done", "")
}

// backgroundBatch repeats a step until nothing is left to do and returns how much it did.
func backgroundBatch(ctx workflow.Context, name string, in BackgroundInput) (done int, err error) {
	for range backgroundBatches {
		var batch activities.BackgroundProgress
		step := activities.BackgroundStep{Environment: in.Environment, At: workflow.Now(ctx)}
		if err := workflow.ExecuteActivity(slowStep(ctx, name), name, step).Get(ctx, &batch); err != nil {
			return done, err
		}
		done += batch.Done
		if !batch.More {
			break
		}
	}
	return done, nil
}

func (in BackgroundInput) start() startRequest {
	return startRequest{
		id: BackgroundID(in.Environment, in.Day), input: in, kind: NameBackground, environment: in.Environment, state: "running",
		summary: fmt.Sprintf("Learn the background of %s", in.Environment),
	}
}

// StartBackground starts the learning of an environment's background unless it was started on that day.
func (c *Client) StartBackground(ctx context.Context, r backgrounds.WorkflowInput) error {
	return c.start(ctx, BackgroundInput{Environment: r.Environment, Day: r.Day}.start())
}
