package worker

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"go.temporal.io/sdk/client"
	sdkworker "go.temporal.io/sdk/worker"

	"github.com/countersign-dev/countersign/internal/platform/outbox"
	"github.com/countersign-dev/countersign/workflows"
)

// Deps are the parts of a worker process.
type Deps struct {
	Temporal client.Client
	Services Services
	Relay    *outbox.Relay // nil: this process does not relay
	Log      *slog.Logger
	Options  sdkworker.Options // zero: DefaultTuning().Options()
	Build    Build             // zero: every worker receives tasks of every workflow run
	// Background are further loops of the process; each must return soon after its context ends.
	Background []func(context.Context)
	// Started is closed once Temporal takes requests; the worker does not begin before. Nil: it begins at once.
	Started <-chan struct{}
	// Polling is called when the worker begins to poll for tasks and when it has stopped; it may be nil.
	Polling func(bool)
}

// stopTimeout is how long activities under way may take when the process stops.
const stopTimeout = 10 * time.Second

// New returns a worker on the task queue with everything registered.
func New(d Deps) sdkworker.Worker {
	options := d.Options
	if options.WorkerStopTimeout == 0 {
		options = DefaultTuning().Options()
	}
	d.Build.apply(&options)
	w := sdkworker.New(d.Temporal, workflows.TaskQueue, options)
	Register(w, d.Services)
	return w
}

// Run runs the worker, the relay and the background loops until ctx ends. It then takes no new tasks, finishes those under way,
// and stops the relay last. While Temporal is unavailable the relay and the loops run, and the worker starts once it is back.
func Run(ctx context.Context, d Deps) error {
	loops, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var running sync.WaitGroup
	for _, f := range d.Background {
		running.Go(func() { f(loops) })
	}
	if d.Build.Deployment != "" {
		running.Go(func() { d.Build.announce(loops, d) })
	}
	if d.Relay != nil {
		running.Go(func() { d.Relay.Run(loops) })
	}
	err := work(ctx, d)
	stop()
	running.Wait()
	return err
}

// work runs the Temporal worker until ctx ends.
func work(ctx context.Context, d Deps) error {
	if d.Started != nil {
		select {
		case <-ctx.Done():
			return nil
		case <-d.Started:
		}
	}
	for {
		w, fatal := watched(d)
		err := w.Start()
		if err == nil {
			d.polling(true)
			select {
			case <-ctx.Done():
				d.polling(false)
				w.Stop()
				return nil
			case err = <-fatal:
				d.polling(false)
				w.Stop()
			}
		}
		d.Log.Warn("the Temporal worker is not running; retrying", "error", err)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(time.Second):
		}
	}
}

func (d Deps) polling(on bool) {
	if d.Polling != nil {
		d.Polling(on)
	}
}

// watched returns a worker and a channel that receives the error after which it cannot continue.
func watched(d Deps) (sdkworker.Worker, <-chan error) {
	fatal := make(chan error, 1)
	options := d.Options
	if options.WorkerStopTimeout == 0 {
		options = DefaultTuning().Options()
	}
	options.OnFatalError = func(err error) {
		select {
		case fatal <- fmt.Errorf("worker: %w", err):
		default:
		}
	}
	d.Options = options
	return New(d), fatal
}
