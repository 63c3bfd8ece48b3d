package rollout

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	deploymentpb "go.temporal.io/api/deployment/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
)

// Errors of commands that cannot be followed. Their text names the remedy.
var (
	ErrNoDeployment = errors.New("Temporal knows no worker of this deployment: start one with COUNTERSIGN_WORKER_DEPLOYMENT set, and repeat the command")
	ErrNoBuild      = errors.New("no worker of this build takes tasks: start one, compare the id with countersign rollout status, and repeat the command")
	ErrNoPrevious   = errors.New("no other build was current: give the one to go back to with countersign rollout current BUILD")
	ErrUnsettled    = errors.New("the change is stored, but some task queues do not know it yet: repeat the command until it succeeds")
)

// Rollout is the deployment of a namespace's workers.
type Rollout struct {
	temporal   client.Client
	namespace  string
	deployment string
}

// New returns the rollout of a deployment. It does not connect.
func New(c client.Client, namespace, deployment string) *Rollout {
	return &Rollout{temporal: c, namespace: namespace, deployment: deployment}
}

// Build is one build of the worker.
type Build struct {
	ID          string
	State       string    // current, ramping, draining, drained or inactive
	Since       time.Time // of the state; zero for a build that never received a task
	Open        int64     // workflow runs whose last task ran on the build
	Held        int64     // of these, the ones that a rollback left on it
	lastCurrent time.Time
}

// Status is how tasks are distributed over the builds.
type Status struct {
	Current string // empty: workers without a build receive what does not ramp
	Ramping string // empty: none ramps
	Percent float32
	Builds  []Build // newest first
}

// Status returns the distribution and the builds that Temporal knows.
func (r *Rollout) Status(ctx context.Context) (Status, error) {
	info, err := r.describe(ctx)
	if err != nil {
		return Status{}, err
	}
	routing := info.GetRoutingConfig()
	s := Status{
		Current: routing.GetCurrentDeploymentVersion().GetBuildId(), Ramping: routing.GetRampingDeploymentVersion().GetBuildId(),
		Percent: routing.GetRampingVersionPercentage(),
	}
	for _, v := range info.GetVersionSummaries() {
		b := Build{ID: v.GetDeploymentVersion().GetBuildId(), State: state(v.GetStatus())}
		if at := v.GetLastCurrentTime(); at != nil {
			b.lastCurrent = at.AsTime()
		}
		if at := v.GetRoutingUpdateTime(); at != nil {
			b.Since = at.AsTime()
		}
		if b.Open, err = r.count(ctx, r.openOn(b.ID)); err != nil {
			return Status{}, err
		}
		if b.Held, err = r.count(ctx, r.openOn(b.ID)+heldOnly); err != nil {
			return Status{}, err
		}
		s.Builds = append(s.Builds, b)
	}
	slices.SortStableFunc(s.Builds, func(a, b Build) int { return b.Since.Compare(a.Since) })
	return s, nil
}

// state names a status of Temporal.
func state(s enums.WorkerDeploymentVersionStatus) string {
	switch s {
	case enums.WORKER_DEPLOYMENT_VERSION_STATUS_CURRENT:
		return "current"
	case enums.WORKER_DEPLOYMENT_VERSION_STATUS_RAMPING:
		return "ramping"
	case enums.WORKER_DEPLOYMENT_VERSION_STATUS_DRAINING:
		return "draining"
	case enums.WORKER_DEPLOYMENT_VERSION_STATUS_DRAINED:
		return "drained"
	default:
		return "inactive"
	}
}

// SetCurrent gives a build all new workflow runs and the next task of every run that is not pinned. It returns once every task
// queue knows.
func (r *Rollout) SetCurrent(ctx context.Context, build string) error {
	_, err := r.handle().SetCurrentVersion(ctx, client.WorkerDeploymentSetCurrentVersionOptions{BuildID: build})
	return r.settled(ctx, err)
}

// Ramp gives a build a share of new workflow runs and of those that are not pinned, 0 to 100 %. A run's share follows from its id,
// so that it does not move to and fro. Ramp returns once every task queue knows.
func (r *Rollout) Ramp(ctx context.Context, build string, percent float32) error {
	_, err := r.handle().SetRampingVersion(ctx, client.WorkerDeploymentSetRampingVersionOptions{BuildID: build, Percentage: percent})
	return r.settled(ctx, err)
}

func (r *Rollout) handle() client.WorkerDeploymentHandle {
	return r.temporal.WorkerDeploymentClient().GetHandle(r.deployment)
}

func (r *Rollout) version(build string) worker.WorkerDeploymentVersion {
	return worker.WorkerDeploymentVersion{DeploymentName: r.deployment, BuildID: build}
}

// describe returns what Temporal knows of the deployment.
func (r *Rollout) describe(ctx context.Context) (*deploymentpb.WorkerDeploymentInfo, error) {
	out, err := r.temporal.WorkflowService().DescribeWorkerDeployment(ctx, &workflowservice.DescribeWorkerDeploymentRequest{
		Namespace: r.namespace, DeploymentName: r.deployment,
	})
	var missing *serviceerror.NotFound
	if errors.As(err, &missing) {
		return nil, fmt.Errorf("deployment %q: %w", r.deployment, ErrNoDeployment)
	}
	return out.GetWorkerDeploymentInfo(), err
}
