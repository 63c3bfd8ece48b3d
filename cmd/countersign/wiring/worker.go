package wiring

import (
	"context"
	"maps"
	"slices"

	sdkworker "go.temporal.io/sdk/worker"

	"github.com/countersign-dev/countersign/internal/authz/hold"
	"github.com/countersign-dev/countersign/internal/delivery/webhook"
	"github.com/countersign-dev/countersign/internal/platform/audit"
	"github.com/countersign-dev/countersign/internal/platform/outbox"
	"github.com/countersign-dev/countersign/internal/subject/upkeep"
	"github.com/countersign-dev/countersign/worker"
	"github.com/countersign-dev/countersign/workflows"
)

// WorkerOptions are those of the worker; the zero value has the defaults and no build.
type WorkerOptions struct {
	Tuning            worker.Tuning
	Deployment, Build string // names of Worker Versioning; empty: off
}

func (o WorkerOptions) options() sdkworker.Options {
	if o.Tuning == (worker.Tuning{}) {
		o.Tuning = worker.DefaultTuning()
	}
	return o.Tuning.Options()
}

// build identifies this binary to Temporal, if workers have builds.
func (p *Process) build() worker.Build {
	o := p.options.Worker
	if o.Deployment == "" {
		return worker.Build{}
	}
	return worker.Build{Namespace: p.options.Temporal.Namespace, Deployment: o.Deployment, ID: o.Build, Flags: workflows.Flags()}
}

func (p *Process) workerDeps() worker.Deps {
	s := p.services
	fanOut := webhook.NewFanOut(s.webhooks(p))
	figures := newWorkerFigures(p.Ops.Registry)
	p.Ops.Registry.MustRegister(&backlogs{p: p})
	sealer := &audit.Sealer{Store: p.Store, Clock: p.Clock, Log: p.Log}
	return worker.Deps{
		Options: p.options.Worker.options(), Build: p.build(),
		Temporal: p.Temporal, Log: p.Log, Relay: p.relay(fanOut, figures), Polling: p.polls.Store, Started: p.options.Startup.Started(),
		Services: worker.Services{
			Challenges: s.challenges, Holds: s.holds, Changes: s.changes, Evaluations: s.evaluations, Enrollments: s.enrollments, Templates: s.templates, Backgrounds: s.backgrounds, Log: p.Log,
			Subjects:  worker.Subjects{Recoveries: s.recoveries, Erasures: s.subjects, Workflows: p.Flows},
			Endpoints: webhook.NewDeliverer(s.webhooks(p), webhook.DeliverOptions{Observer: figures}),
			Upkeep:    p.upkeep,
		},
		Background: []func(context.Context){p.ensureAttributes, fanOut.Run, sealer.Run, p.pollSignals, p.pushLog, s.tally.Run, s.activation.Follow, p.followSigningKeys, worker.KeepSchedules(p.Flows, p.upkeep.Tasks(), p.Log)},
	}
}

// pollSignals polls the security events that issuers do not push.
func (p *Process) pollSignals(ctx context.Context) { p.Signals.Poll(ctx, p.Log) }

// pushLog sends the log to its destinations.
func (p *Process) pushLog(ctx context.Context) { p.LogDestinations.Run(ctx, p.options.Version) }

// newUpkeep gathers the tasks that recur, each on a schedule of its own.
func (p *Process) newUpkeep() (*upkeep.Service, error) {
	s := p.services
	return upkeep.New(slices.Concat(
		upkeep.CoreTasks(upkeep.CoreDeps{
			Store: p.Store, Challenges: s.challenges, Holds: s.holds, AfterReviews: s.afterReviews, Standing: s.standing, Changes: s.changes, Evaluations: s.evaluations, Keys: p.Signing,
		}),
		upkeep.SubjectTasks(upkeep.SubjectDeps{Store: p.Store, Recoveries: s.recoveries}),
		upkeep.TemplateTasks(s.templates, s.backgrounds),
		upkeep.RetentionTasks(upkeep.RetentionDeps{Store: p.Store, Research: s.research, Retention: p.options.retention()}),
	)...)
}

// relay has a lane for what waits for Temporal, one for events, and one for each system that notices are sent to: none holds up another.
func (p *Process) relay(fanOut *webhook.FanOut, figures *workerFigures) *outbox.Relay {
	s := p.services
	runs := worker.WorkflowTopics(p.Flows, s.challenges, s.holds, s.evaluations)
	maps.Copy(runs, worker.ReviewTopics(hold.NewReviewer(s.holds, p.Flows)))
	maps.Copy(runs, worker.ChangeTopics(p.Flows, s.changes))
	maps.Copy(runs, worker.EnrollmentTopics(p.Flows, s.enrollments))
	maps.Copy(runs, worker.AdaptationTopics(p.Flows, s.templates))
	maps.Copy(runs, worker.BackgroundTopics(p.Flows, s.backgrounds))
	maps.Copy(runs, worker.SubjectTopics(p.Flows, s.recoveries, s.subjects))
	return &outbox.Relay{
		Store: p.Store, Clock: p.Clock, Log: p.Log, Observer: figures,
		Lanes: append([]outbox.Lane{
			{Name: "runs", Handlers: runs, Started: p.options.Startup.Started()}, worker.EventLane(fanOut),
		}, worker.NoticeLanes(s.notices)...),
	}
}
