package main

import (
	"regexp"

	"github.com/countersign-dev/countersign/cmd/countersign/wiring"
)

// workerSettings are how much a worker does at once, and the build that it is for Temporal's Worker Versioning.
type workerSettings struct {
	options wiring.WorkerOptions
	pollers pollers
}

// pollers says whether the number of pollers follows the load.
type pollers string

const (
	pollersFixed pollers = "fixed"
	pollersAuto  pollers = "auto"
)

// most bounds the settings: beyond it, start another process.
const most = 10_000

func (w *workerSettings) table() []setting {
	t := &w.options.Tuning
	return append(w.builds(),
		setting{"worker-pollers", "COUNTERSIGN_WORKER_POLLERS", "fixed", "fixed keeps the numbers of pollers below; auto follows the load, from 2 to those numbers", oneOf(&w.pollers, pollersFixed, pollersAuto)},
		setting{"worker-workflow-pollers", "COUNTERSIGN_WORKER_WORKFLOW_POLLERS", "8", "long polls for workflow tasks, 2 to 100", integer(&t.WorkflowPollers, 2, 100)},
		setting{"worker-activity-pollers", "COUNTERSIGN_WORKER_ACTIVITY_POLLERS", "4", "long polls for activities, 2 to 100", integer(&t.ActivityPollers, 2, 100)},
		setting{"worker-workflow-tasks", "COUNTERSIGN_WORKER_WORKFLOW_TASKS", "64", "most workflow tasks at once, 2 to 10000", integer(&t.WorkflowTasks, 2, most)},
		setting{"worker-local-activities", "COUNTERSIGN_WORKER_LOCAL_ACTIVITIES", "64", "most steps of challenges, holds and changes at once, 1 to 10000", integer(&t.LocalActivities, 1, most)},
		setting{"worker-activities", "COUNTERSIGN_WORKER_ACTIVITIES", "256", "most activities at once, of which webhooks wait for their receivers, 1 to 10000", integer(&t.Activities, 1, most)},
		setting{"worker-cached-runs", "COUNTERSIGN_WORKER_CACHED_RUNS", "2000", "waiting workflow runs in memory, at some 30 kB each, 0 to 1000000", integer(&t.CachedRuns, 0, 1_000_000)},
	)
}

func (w *workerSettings) builds() []setting {
	return []setting{
		w.deployment(),
		{"worker-build", "COUNTERSIGN_WORKER_BUILD", "", "id of this build in the deployment; empty is the version of the binary", text(&w.options.Build)},
	}
}

func (w *workerSettings) deployment() setting {
	return setting{"worker-deployment", "COUNTERSIGN_WORKER_DEPLOYMENT", "",
		"name of the workers for Temporal's Worker Versioning, such as countersign; empty for none. Then countersign rollout decides which builds receive tasks", text(&w.options.Deployment)}
}

var (
	deploymentName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$`)
	buildID        = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.+-]{0,99}$`)
)

// check completes the settings and returns an error if they contradict each other.
func (w *workerSettings) check() error {
	o := &w.options
	o.Tuning.Autoscale = w.pollers == pollersAuto
	if o.Deployment == "" {
		if o.Build != "" {
			return usage("COUNTERSIGN_WORKER_DEPLOYMENT is not set, but COUNTERSIGN_WORKER_BUILD is: set both, or none")
		}
		return nil
	}
	if err := w.checkDeployment(); err != nil {
		return err
	}
	if o.Build == "" && version != unversioned {
		o.Build = version
	}
	if !buildID.MatchString(o.Build) {
		return usage("COUNTERSIGN_WORKER_BUILD is %q: want up to 100 letters, digits, dots, dashes, underscores and plus signs, beginning with a letter or digit", o.Build)
	}
	return nil
}

func (w *workerSettings) checkDeployment() error {
	if deploymentName.MatchString(w.options.Deployment) {
		return nil
	}
	return usage("COUNTERSIGN_WORKER_DEPLOYMENT is %q: want up to 100 letters, digits, dashes and underscores, beginning with a letter or digit", w.options.Deployment)
}
