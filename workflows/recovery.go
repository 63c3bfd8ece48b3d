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

// NameRecovery is the name under which the workflow is registered. Histories refer to it: it is never renamed.
const NameRecovery = "recovery"

// RecoveryID is the id of the run of a recovery.
func RecoveryID(id string) string { return NameRecovery + "/" + id }

// RecoveryInput starts the run of a recovery. Fields are added, never changed.
type RecoveryInput struct {
	Recovery    string
	Environment string
}

// RecoveryResult is how a recovery ended.
type RecoveryResult struct {
	Status string
}

// Recovery waits out the cool-down, then for the enrollment that completes the recovery or for its end. The enrollment
// completes the record in its own transaction and sends SignalSettled.
func Recovery(ctx workflow.Context, in RecoveryInput) (RecoveryResult, error) {
	r := &recoveryRun{in: in}
	watchSettled(ctx, func(workflow.Context) { r.poked = true })
	return r.run(ctx)
}

type recoveryRun struct {
	story
	in    RecoveryInput
	poked bool
}

func (r *recoveryRun) run(ctx workflow.Context) (RecoveryResult, error) {
	for {
		r.poked = false
		standing, err := r.advance(ctx)
		if err != nil {
			return RecoveryResult{}, err
		}
		if err := becomes(ctx, standing.Status, ""); err != nil {
			return RecoveryResult{}, err
		}
		r.tellStanding(ctx, standing)
		if standing.Over {
			return RecoveryResult{Status: standing.Status}, nil
		}
		_, err = workflow.AwaitWithOptions(ctx, workflow.AwaitOptions{
			Timeout:      max(standing.Next.Sub(workflow.Now(ctx)), 0),
			TimerOptions: workflow.TimerOptions{Summary: recoveryTimer(standing.Status)},
		}, func() bool { return r.poked })
		if err != nil {
			return RecoveryResult{}, err
		}
	}
}

func (r *recoveryRun) tellStanding(ctx workflow.Context, s activities.RecoveryStanding) {
	if s.Over {
		r.tell(ctx, "The recovery is %s.", s.Status)
		return
	}
	r.tell(ctx, "The recovery is %s; %s at %s.", s.Status, recoveryTimer(s.Status), said(s.Next))
}

func recoveryTimer(status string) string {
	if status == string(models.RecoveryReady) {
		return "the recovery expires"
	}
	return "the cool-down ends"
}

func (r *recoveryRun) advance(ctx workflow.Context) (activities.RecoveryStanding, error) {
	return untilAnswered[activities.RecoveryStanding](ctx, func(ctx workflow.Context, at time.Time) workflow.Future {
		return workflow.ExecuteLocalActivity(quickStep(ctx, step(activities.RecoveryAdvance)), activities.RecoveryAdvance,
			activities.RecoveryStep{Recovery: r.in.Recovery, At: at})
	})
}

// StartRecovery starts the run of a recovery unless it exists.
func (c *Client) StartRecovery(ctx context.Context, r recovery.WorkflowInput) error {
	in := RecoveryInput{Recovery: r.Recovery, Environment: r.Environment}
	return c.start(ctx, RecoveryID(in.Recovery), NameRecovery, about{
		kind: NameRecovery, environment: in.Environment, state: string(models.RecoveryPending),
		summary: fmt.Sprintf("Recovery %s", in.Recovery),
	}, in)
}

// SettleRecovery tells the run of a recovery, where there is one, that an enrollment completed the recovery.
func (c *Client) SettleRecovery(ctx context.Context, id string) error {
	return c.signal(ctx, RecoveryID(id), SignalSettled)
}
