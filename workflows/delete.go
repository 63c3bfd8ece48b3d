package workflows

import (
	"context"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/workflowservice/v1"
)

// deleteHistory deletes the latest run of a workflow id with its history and its visibility record.
func (c *Client) deleteHistory(ctx context.Context, id string) error {
	_, err := c.temporal.WorkflowService().DeleteWorkflowExecution(ctx, &workflowservice.DeleteWorkflowExecutionRequest{
		Namespace: c.space, WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: id},
	})
	return err
}
