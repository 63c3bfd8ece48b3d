package workflows

import (
	"context"
	"errors"
	"fmt"
	"strings"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
)

// forgetPage is the number of runs of a page of those that Forget lists.
const forgetPage = 500

// Forget terminates workflows and deletes the histories of all of their runs, for the erasure of a subject. It is no error if there are none.
// A workflow has earlier runs if it continued as new, or was started again after an operator terminated it or a backup was restored.
func (c *Client) Forget(ctx context.Context, ids []string) error {
	if err := c.started(); err != nil || len(ids) == 0 {
		return err
	}
	for _, id := range ids {
		if err := c.temporal.TerminateWorkflow(ctx, id, "", "the subject is erased"); present(err) != nil {
			return unavailable(err)
		}
		// The latest run is found by the workflow's id at once; the list may not have it yet.
		if err := c.deleteRun(ctx, &commonpb.WorkflowExecution{WorkflowId: id}); err != nil {
			return err
		}
	}
	query := "WorkflowId in ('" + strings.Join(ids, "', '") + "')" // ids of this service, without quotes
	for page := []byte(nil); ; {
		listed, err := c.temporal.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
			Namespace: c.space, Query: query, PageSize: forgetPage, NextPageToken: page,
		})
		if err != nil {
			return unavailable(fmt.Errorf("listing the runs of a workflow: %w", err))
		}
		for _, run := range listed.GetExecutions() {
			if err := c.deleteRun(ctx, run.GetExecution()); err != nil {
				return err
			}
		}
		if page = listed.GetNextPageToken(); len(page) == 0 {
			return nil
		}
	}
}

// deleteRun deletes a run with its history and its visibility record; the latest one of the workflow id if it has no run id.
func (c *Client) deleteRun(ctx context.Context, run *commonpb.WorkflowExecution) error {
	_, err := c.temporal.WorkflowService().DeleteWorkflowExecution(ctx, &workflowservice.DeleteWorkflowExecutionRequest{
		Namespace: c.space, WorkflowExecution: run,
	})
	return unavailable(present(err))
}

// present returns the error, or nil if it says that there is no such workflow.
func present(err error) error {
	var missing *serviceerror.NotFound
	if errors.As(err, &missing) {
		return nil
	}
	return err
}
