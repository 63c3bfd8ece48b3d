package worker

import (
	"context"

	sdkworker "go.temporal.io/sdk/worker"

	"github.com/countersign-dev/countersign/workflows/rollout"
)

// Build identifies the code of a worker to Temporal's Worker Versioning, so that a rollout decides which builds receive tasks. A new
// build receives none until then. The zero value turns versioning off.
type Build struct {
	Namespace  string
	Deployment string   // of all builds of this worker
	ID         string   // of the build, unique in the deployment
	Flags      []string // of its workflow code
}

func (b Build) apply(o *sdkworker.Options) {
	if b.Deployment == "" {
		return
	}
	o.DeploymentOptions = sdkworker.DeploymentOptions{
		UseVersioning: true, Version: sdkworker.WorkerDeploymentVersion{DeploymentName: b.Deployment, BuildID: b.ID},
	}
}

// announce stores the flags of the build with Temporal.
func (b Build) announce(ctx context.Context, d Deps) {
	rollout.New(d.Temporal, b.Namespace, b.Deployment).Announce(b.ID, b.Flags, d.Log)(ctx)
}
