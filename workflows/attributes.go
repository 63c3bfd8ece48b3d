package workflows

import (
	"context"
	"errors"
	"slices"
	"time"

	deploymentpb "go.temporal.io/api/deployment/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/converter"
)

// MissingAttributes returns the search attributes that the namespace lacks or has with another type, without which no workflow starts. A
// server that does not allow the question, such as a managed one, is believed to have them.
func (c *Client) MissingAttributes(ctx context.Context) ([]string, error) {
	if err := c.started(); err != nil {
		return nil, err
	}
	known, err := c.temporal.OperatorService().ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: c.space})
	if untold(err) {
		return nil, nil
	}
	if err != nil {
		return nil, unavailable(err)
	}
	return slices.DeleteFunc(SearchAttributes(), func(name string) bool {
		return known.GetCustomAttributes()[name] == enumspb.INDEXED_VALUE_TYPE_KEYWORD
	}), nil
}

// untold reports whether a server refuses a question to this client.
func untold(err error) bool {
	var denied *serviceerror.PermissionDenied
	var unimplemented *serviceerror.Unimplemented
	return errors.As(err, &denied) || errors.As(err, &unimplemented)
}

// EnsureAttributes adds the search attributes that the namespace lacks. It fails if the server does not let this client add them.
func (c *Client) EnsureAttributes(ctx context.Context) error {
	missing, err := c.MissingAttributes(ctx)
	if err != nil || len(missing) == 0 {
		return err
	}
	add := map[string]enumspb.IndexedValueType{}
	for _, name := range missing {
		add[name] = enumspb.INDEXED_VALUE_TYPE_KEYWORD
	}
	_, err = c.temporal.OperatorService().AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{Namespace: c.space, SearchAttributes: add})
	return err
}

// Retention returns how long the namespace stores workflow runs that have closed.
func (c *Client) Retention(ctx context.Context) (time.Duration, error) {
	n, err := c.temporal.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: c.space})
	if untold(err) {
		return 0, nil
	}
	return n.GetConfig().GetWorkflowExecutionRetentionTtl().AsDuration(), unavailable(err)
}

// Unserved says why no worker that Temporal has seen lately may begin a workflow: none asks for tasks, or only builds that receive none. It
// is empty if one may.
func (c *Client) Unserved(ctx context.Context) (reason string, err error) {
	if err := c.started(); err != nil {
		return "", err
	}
	queue, err := c.temporal.DescribeTaskQueue(ctx, TaskQueue, enumspb.TASK_QUEUE_TYPE_WORKFLOW)
	if err != nil {
		return "", unavailable(err)
	}
	if len(queue.GetPollers()) == 0 {
		return "none asks for tasks", nil
	}
	v := queue.GetVersioningInfo()
	for _, p := range queue.GetPollers() {
		if receives(p, v.GetCurrentDeploymentVersion()) || v.GetRampingDeploymentVersion() != nil && receives(p, v.GetRampingDeploymentVersion()) {
			return "", nil
		}
	}
	wanted := "workers without a build"
	if current := v.GetCurrentDeploymentVersion(); current != nil {
		wanted = "build " + current.GetBuildId() + " of " + current.GetDeploymentName()
	}
	return "those that ask for tasks receive none: Temporal gives tasks to " + wanted + " only", nil
}

// receives reports whether tasks of a version, or those without one, are given to the worker.
func receives(p *taskqueuepb.PollerInfo, version *deploymentpb.WorkerDeploymentVersion) bool {
	o := p.GetDeploymentOptions()
	versioned := o.GetWorkerVersioningMode() == enumspb.WORKER_VERSIONING_MODE_VERSIONED
	if version == nil {
		return !versioned
	}
	return versioned && o.GetDeploymentName() == version.GetDeploymentName() && o.GetBuildId() == version.GetBuildId()
}

// strangers is how many open workflow runs are looked at.
const strangers = 200

// Environments returns the environments of some of the namespace's open workflow runs, the newest.
func (c *Client) Environments(ctx context.Context) ([]string, error) {
	runs, err := c.temporal.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
		Namespace: c.space, PageSize: strangers, Query: "ExecutionStatus = 'Running' and " + AttributeEnvironment.GetName() + " is not null",
	})
	if err != nil {
		return nil, unavailable(err)
	}
	var out []string
	for _, run := range runs.GetExecutions() {
		var id string
		payload := run.GetSearchAttributes().GetIndexedFields()[AttributeEnvironment.GetName()]
		if err := converter.GetDefaultDataConverter().FromPayload(payload, &id); err == nil && id != "" && !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out, nil
}
