package workflows

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/countersign-dev/countersign/activities"
	"github.com/countersign-dev/countersign/internal/subject/recovery"
	"github.com/countersign-dev/countersign/models"
)

// NameRecovery is the registered name of the workflow. Histories refer to it: never rename it.
const NameRecovery = "recovery"

// RecoveryID returns the workflow id of a recovery.
func RecoveryID(id string) string { return NameRecovery + "/" + id }

// RecoveryInput is the input of the workflow of a recovery. Histories contain it: fields are added, never renamed.
type RecoveryInput struct {
	Recovery    string
	Environment string
}

// RecoveryResult is how a recovery ended.
type RecoveryResult struct {
	Status string
}

// Recovery waits for the end of the cool-down, and then until an enrollment completes the recovery or the recovery expires.
// The enrollment completes the record in its own transaction; the outbox then sends SignalSettled.
func Recovery(ctx workflow.Context, in RecoveryInput) (RecoveryResult, error) {
	r := &recoveryRun{in: in}
	watchSettled(ctx, func(workflow.Context) { r.signaled = true })
	return r.run(ctx)
}

// recoveryRun is the state of one workflow run.
type recoveryRun struct {
	timeline
	in       RecoveryInput
	signaled bool
}

// run advances the recovery whenever it is due or signaled, until it has ended.
func (r *recoveryRun) run(ctx workflow.Context) (RecoveryResult, error) {
	for {
		r.signaled = false
		standing, err := r.advance(ctx)
		if err != nil {
			return RecoveryResult{}, err
		}
		if err := upsertState(ctx, standing.Status, ""); err != nil {
			return RecoveryResult{}, err
		}
		r.recordState(ctx, standing)
		if standing.Over {
			return RecoveryResult{Status: standing.Status}, nil
		}
		_, err = workflow.AwaitWithOptions(ctx, workflow.AwaitOptions{
			Timeout:      max(standing.Next.Sub(workflow.Now(ctx)), 0),
			TimerOptions: workflow.TimerOptions{Summary: recoveryTimer(standing.Status)},
		}, func() bool { return r.signaled })
		if err != nil {
			return RecoveryResult{}, err
		}
	}
}

// recordState adds the current state to the timeline.
func (r *recoveryRun) recordState(ctx workflow.Context, s activities.RecoveryStanding) {
	if s.Over {
		r.record(ctx, "The recovery is %s.", s.Status)
		return
	}
	r.record(ctx, "The recovery is %s; %s at %s.", s.Status, recoveryTimer(s.Status), formatTime(s.Next))
}

// recoveryTimer describes the timer of a status in the history.
func recoveryTimer(status string) string {
	if status == string(models.RecoveryReady) {
		return "the recovery expires"
	}
	return "the cool-down ends"
}

func (r *recoveryRun) advance(ctx workflow.Context) (activities.RecoveryStanding, error) {
	return retryStep[activities.RecoveryStanding](ctx, func(ctx workflow.Context, at time.Time) workflow.Future {
		return workflow.ExecuteLocalActivity(quickStep(ctx, stepSummary(activities.RecoveryAdvance)), activities.RecoveryAdvance,
			activities.RecoveryStep{Recovery: r.in.Recovery, Environment: r.in.Environment, At: at})
	})
}

// StartRecovery starts the workflow of a recovery unless it exists.
func (c *Client) StartRecovery(ctx context.Context, r recovery.WorkflowInput) error {
	in := RecoveryInput{Recovery: r.Recovery, Environment: r.Environment}
	return c.start(ctx, startRequest{
		id: RecoveryID(in.Recovery), input: in, kind: NameRecovery, environment: in.Environment, state: string(models.RecoveryPending),
		summary: fmt.Sprintf("Recovery %s", in.Recovery),
	})
}

// SettleRecovery signals the workflow of a recovery, if it runs, that an enrollment completed the recovery.
func (c *Client) SettleRecovery(ctx context.Context, id string) error {
	return c.signal(ctx, RecoveryID(id), SignalSettled)
}
