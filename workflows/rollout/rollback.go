package rollout

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/countersign-dev/countersign/workflows"
)

// heldOnly restricts a query to the workflow runs that an override pins: the code pins no run of these kinds.
var heldOnly = " and TemporalWorkflowVersioningBehavior = 'Pinned' and WorkflowType in " + list(workflows.Moving())

func list(values []string) string { return "('" + strings.Join(values, "', '") + "')" }

// listPage is how many workflow runs are listed at once.
const listPage = 200

// RolledBack is the result of a rollback.
type RolledBack struct {
	From, To string
	// Held is how many open workflow runs stay on From, because they recorded a change of the code that To does not know, whether
	// this call or an earlier one held them.
	Held int
}

// Rollback takes tasks off a build. If it is current, the build that was current before replaces it. Open workflow runs return with their
// next task, except those that recorded a flag that the other build lacks: they are pinned to the build, whose workers must run until
// those are closed or released. A repeated call does what an interrupted one left.
func (r *Rollout) Rollback(ctx context.Context, build string) (RolledBack, error) {
	s, err := r.Status(ctx)
	if err != nil {
		return RolledBack{}, err
	}
	out, err := s.without(build)
	if err != nil {
		return out, err
	}
	flags, err := r.newFlags(ctx, out)
	if err != nil {
		return out, err
	}
	before, err := r.runs(ctx, r.openOn(out.From)+heldOnly)
	if err != nil {
		return out, err
	}
	held, err := r.hold(ctx, out.From, flags)
	if err != nil {
		return out, err
	}
	switch build {
	case s.Ramping:
		err = r.Ramp(ctx, "", 0)
	case s.Current:
		err = r.SetCurrent(ctx, out.To)
	}
	if err == nil {
		// Again, for those that recorded a flag meanwhile. One that already got a task of the other build fails it and tries again.
		var late []string
		late, err = r.hold(ctx, out.From, flags)
		held = append(held, late...)
	}
	for _, run := range before {
		held = append(held, run.GetRunId())
	}
	// Temporal's list follows with a delay, so that a run may have been held twice.
	slices.Sort(held)
	out.Held = len(slices.Compact(held))
	return out, err
}

// hold pins the workflow runs that recorded one of the flags to the build that they are on. It returns their ids.
func (r *Rollout) hold(ctx context.Context, build string, flags []string) ([]string, error) {
	if len(flags) == 0 {
		return nil, nil
	}
	return r.override(ctx, r.openOn(build)+with(flags), &client.PinnedVersioningOverride{Version: r.version(build)})
}

// Release lets the open workflow runs that a rollback left on a build move again. It returns how many.
func (r *Rollout) Release(ctx context.Context, build string) (int, error) {
	released, err := r.override(ctx, r.openOn(build)+heldOnly, nil)
	return len(released), err
}

// without returns the build that receives the tasks of a build that is left.
func (s Status) without(build string) (RolledBack, error) {
	out := RolledBack{From: build, To: s.Current}
	if !slices.ContainsFunc(s.Builds, func(b Build) bool { return b.ID == build }) {
		return out, ErrNoBuild
	}
	if build != s.Current {
		return out, nil
	}
	var last Build
	for _, b := range s.Builds {
		if b.ID != build && b.lastCurrent.After(last.lastCurrent) {
			last = b
		}
	}
	if last.ID == "" {
		return out, ErrNoPrevious
	}
	out.To = last.ID
	return out, nil
}

// openOn returns the query for the open workflow runs whose last task ran on a build.
func (r *Rollout) openOn(build string) string {
	return fmt.Sprintf("ExecutionStatus = 'Running' and TemporalWorkerDeploymentVersion = '%s:%s'", r.deployment, build)
}

// with restricts a query to workflow runs that move with a rollout and recorded one of the flags.
func with(flags []string) string {
	return " and TemporalWorkflowVersioningBehavior = 'AutoUpgrade' and TemporalChangeVersion in " + list(flags)
}

func (r *Rollout) count(ctx context.Context, query string) (int64, error) {
	out, err := r.temporal.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{Namespace: r.namespace, Query: query})
	return out.GetCount(), err
}

func (r *Rollout) runs(ctx context.Context, query string) ([]*commonpb.WorkflowExecution, error) {
	var out []*commonpb.WorkflowExecution
	for page := []byte(nil); ; {
		listed, err := r.temporal.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
			Namespace: r.namespace, Query: query, PageSize: listPage, NextPageToken: page,
		})
		if err != nil {
			return nil, err
		}
		for _, run := range listed.GetExecutions() {
			out = append(out, run.GetExecution())
		}
		if page = listed.GetNextPageToken(); len(page) == 0 {
			return out, nil
		}
	}
}

// override sets the override of the workflow runs of a query, or removes it if it is nil. It returns the ids of those it changed.
func (r *Rollout) override(ctx context.Context, query string, to client.VersioningOverride) (changed []string, err error) {
	runs, err := r.runs(ctx, query)
	if err != nil {
		return nil, err
	}
	for _, run := range runs {
		_, err := r.temporal.UpdateWorkflowExecutionOptions(ctx, client.UpdateWorkflowExecutionOptionsRequest{
			WorkflowId: run.GetWorkflowId(), RunId: run.GetRunId(),
			WorkflowExecutionOptionsChanges: client.WorkflowExecutionOptionsChanges{VersioningOverride: &client.VersioningOverrideChange{Value: to}},
		})
		var closed *serviceerror.NotFound
		if errors.As(err, &closed) {
			continue
		}
		if err != nil {
			return changed, err
		}
		changed = append(changed, run.GetRunId())
	}
	return changed, nil
}

// newFlags returns the flags that the build to leave has and the other lacks.
func (r *Rollout) newFlags(ctx context.Context, b RolledBack) ([]string, error) {
	from, err := r.flags(ctx, b.From)
	if err != nil {
		return nil, err
	}
	to, err := r.flags(ctx, b.To)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(from, func(flag string) bool { return slices.Contains(to, flag) }), nil
}
