package workflows

import (
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/countersign-dev/countersign/internal/authz/policy"
)

// quickStep is for a step that somebody waits for and that takes milliseconds: a local activity, tried a few times in the
// same workflow task. What fails then is tried again by the caller, who also looks at the time anew.
func quickStep(ctx workflow.Context, summary string) workflow.Context {
	return workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{
		StartToCloseTimeout:    2 * time.Second,
		ScheduleToCloseTimeout: 4 * time.Second,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: 50 * time.Millisecond, BackoffCoefficient: 2, MaximumInterval: time.Second, MaximumAttempts: 3,
		},
		Summary: summary,
	})
}

// slowStep is for a step that may take seconds (counting millions of rows): an activity of its own, which may run on any
// worker and outlive a workflow task.
func slowStep(ctx workflow.Context, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout:    2 * time.Minute,
		ScheduleToCloseTimeout: 5 * time.Minute,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: 30 * time.Second, MaximumAttempts: 3,
		},
		Summary: summary,
	})
}

// about tells what a run is about: in search attributes for whoever looks for it, in a sentence for whoever found it.
type about struct {
	kind        string
	environment string
	action      string
	decision    string
	state       string
	summary     string // one line
}

// startOptions are those of every run. A run is started once per record; only one that was terminated or failed may be
// started anew, so that an operator's accident does not leave a record waiting for ever.
func startOptions(id string, a about) client.StartWorkflowOptions {
	updates := []temporal.SearchAttributeUpdate{
		AttributeKind.ValueSet(a.kind), AttributeEnvironment.ValueSet(a.environment), AttributeState.ValueSet(a.state),
	}
	if a.action != "" {
		updates = append(updates, AttributeAction.ValueSet(a.action))
	}
	if a.decision != "" {
		updates = append(updates, AttributeDecision.ValueSet(a.decision))
	}
	return client.StartWorkflowOptions{
		ID:                       id,
		TaskQueue:                TaskQueue,
		WorkflowIDReusePolicy:    enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE_FAILED_ONLY,
		WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		TypedSearchAttributes:    temporal.NewSearchAttributes(updates...),
		StaticSummary:            a.summary,
		StaticDetails:            details[a.kind],
	}
}

// becomes sets the state (and, where there is one, the decision) that the run ends with.
func becomes(ctx workflow.Context, state string, decision policy.Effect) error {
	updates := []temporal.SearchAttributeUpdate{AttributeState.ValueSet(state)}
	if decision != "" {
		updates = append(updates, AttributeDecision.ValueSet(string(decision)))
	}
	return workflow.UpsertTypedSearchAttributes(ctx, updates...)
}
