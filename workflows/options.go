package workflows

import (
	"fmt"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/countersign-dev/countersign/internal/authz/policy"
)

// quickStep is for a step of milliseconds that a request waits for: a local activity, tried three times within the same
// workflow task. After that retryStep tries again, with the time of the new attempt.
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

// slowStep is for a step that may take seconds, such as counting millions of rows: a regular activity, which may run on any
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

// startRequest says which workflow to start, and how operators find and recognise it: by its search attributes and by a
// summary in the Temporal UI.
type startRequest struct {
	id          string // workflow id
	input       any
	kind        string // registered name of the workflow
	environment string
	action      string
	decision    string
	state       string
	summary     string // one line
	page        string // of the record in the console, behind the environment; empty if it has none
}

// taskTimeout is how long a worker may take for one workflow task before Temporal hands the task to another. A worker that is lost
// with a task delays it by this much, and a caller waits updateWait for it; with Temporal's default of 10 s the caller would give up. A step
// that takes longer does not end its task: the SDK sends heartbeats.
const taskTimeout = 2 * time.Second

// startOptions returns the options of a start. A workflow runs once per record. Only one that was terminated or has failed may
// be started again, so that an operator's mistake does not leave a record waiting for ever.
func (c *Client) startOptions(r startRequest) client.StartWorkflowOptions {
	updates := []temporal.SearchAttributeUpdate{
		AttributeKind.ValueSet(r.kind), AttributeEnvironment.ValueSet(r.environment), AttributeState.ValueSet(r.state),
	}
	if r.action != "" {
		updates = append(updates, AttributeAction.ValueSet(r.action))
	}
	if r.decision != "" {
		updates = append(updates, AttributeDecision.ValueSet(r.decision))
	}
	return client.StartWorkflowOptions{
		ID:                       r.id,
		TaskQueue:                TaskQueue,
		WorkflowIDReusePolicy:    enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE_FAILED_ONLY,
		WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		WorkflowTaskTimeout:      taskTimeout,
		TypedSearchAttributes:    temporal.NewSearchAttributes(updates...),
		StaticSummary:            r.summary,
		StaticDetails:            details[r.kind] + c.consoleLink(r),
	}
}

// consoleLink returns a line that links to the record's page in the console; empty if there is none.
func (c *Client) consoleLink(r startRequest) string {
	if c.console == "" || r.page == "" {
		return ""
	}
	return fmt.Sprintf("\n\n[Open in the console](%s/%s/%s)", c.console, r.environment, r.page)
}

// upsertState sets the search attributes of the state and, unless it is empty, of the decision.
func upsertState(ctx workflow.Context, state string, decision policy.Effect) error {
	updates := []temporal.SearchAttributeUpdate{AttributeState.ValueSet(state)}
	if decision != "" {
		updates = append(updates, AttributeDecision.ValueSet(string(decision)))
	}
	return workflow.UpsertTypedSearchAttributes(ctx, updates...)
}
