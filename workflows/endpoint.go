package workflows

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/countersign-dev/countersign/activities"
	"github.com/countersign-dev/countersign/internal/delivery/webhook"
)

// NameEndpoint and SignalWake are registered names. Histories refer to them: they are never renamed.
const (
	NameEndpoint = "endpoint"
	SignalWake   = "wake"
)

// EndpointID is the id of the run of a webhook endpoint.
func EndpointID(endpoint string) string { return NameEndpoint + "/" + endpoint }

// EndpointInput starts the run of a webhook endpoint. Fields are added, never changed.
type EndpointInput struct {
	Endpoint    string
	Environment string
	Breaker     webhook.Breaker // carried from run to run
}

// EndpointWake tells the run that there is something to send. Reset forgets the failures: the endpoint was changed.
type EndpointWake struct {
	Reset bool
}

const (
	// endpointIdle is how long a run waits with nothing owed before it ends. The next event starts another.
	endpointIdle = 10 * time.Minute
	// endpointBatches bounds the history of one run.
	endpointBatches = 500
)

// The states of a run as operators search for them.
const (
	endpointSending = "sending"
	endpointFailing = "failing"
)

// Endpoint sends what is owed to one webhook endpoint: a batch whenever it is woken, and again when the next delivery or
// the next probe is due. It is the only one to do so, hence a dead endpoint delays no other.
func Endpoint(ctx workflow.Context, in EndpointInput) error {
	r := &endpointRun{in: in, wake: workflow.GetSignalChannel(ctx, SignalWake), state: stateOf(in.Breaker)}
	return r.run(ctx)
}

type endpointRun struct {
	in    EndpointInput
	wake  workflow.ReceiveChannel
	state string
}

func (r *endpointRun) run(ctx workflow.Context) error {
	for range endpointBatches {
		r.heard()
		standing, err := r.deliver(ctx)
		if err != nil || standing.Gone {
			return err
		}
		r.in.Breaker = standing.Breaker
		if err := r.show(ctx); err != nil {
			return err
		}
		if again, err := r.rest(ctx, standing.Next); err != nil || !again {
			return err
		}
		if workflow.GetInfo(ctx).GetContinueAsNewSuggested() {
			break
		}
	}
	r.heard() // a new run begins with a batch, whoever asked for one
	return workflow.NewContinueAsNewError(ctx, NameEndpoint, r.in)
}

func (r *endpointRun) deliver(ctx workflow.Context) (activities.EndpointStanding, error) {
	var out activities.EndpointStanding
	err := workflow.ExecuteActivity(batchStep(ctx), activities.EndpointDeliver,
		activities.EndpointBatch{Endpoint: r.in.Endpoint, Breaker: r.in.Breaker}).Get(ctx, &out)
	return out, err
}

// batchStep is for an activity that goes on for as long as there is something to send, up to its own budget of 30 seconds,
// and tells all the while that it lives. It is tried until it answers.
func batchStep(ctx workflow.Context) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: 90 * time.Second,
		HeartbeatTimeout:    10 * time.Second,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: 30 * time.Second},
		Summary:             activities.EndpointDeliver,
	})
}

// rest waits until there is something to do and reports false where there is nothing any more. While the breaker is open a
// wake-up changes nothing before the probe, unless it resets the breaker.
func (r *endpointRun) rest(ctx workflow.Context, next *time.Time) (bool, error) {
	pause, summary := endpointIdle, "nothing is owed"
	if next != nil {
		pause, summary = max(next.Sub(workflow.Now(ctx)), 0), "the next delivery is due"
	}
	ctx, stop := workflow.WithCancel(ctx)
	defer stop()
	timer := workflow.NewTimerWithOptions(ctx, pause, workflow.TimerOptions{Summary: summary})
	due, woken := false, false
	var failed error
	for !due && !woken {
		workflow.NewSelector(ctx).
			AddFuture(timer, func(f workflow.Future) { due, failed = true, f.Get(ctx, nil) }).
			AddReceive(r.wake, func(c workflow.ReceiveChannel, _ bool) {
				var m EndpointWake
				c.Receive(ctx, &m)
				r.take(m)
				woken = !r.held(ctx)
			}).
			Select(ctx)
	}
	return woken || next != nil || r.heard(), failed
}

// held reports whether the breaker forbids sending now.
func (r *endpointRun) held(ctx workflow.Context) bool {
	return r.in.Breaker.Open && workflow.Now(ctx).Before(r.in.Breaker.ProbeAt)
}

// heard takes every wake-up that has come and reports whether there was one.
func (r *endpointRun) heard() bool {
	any := false
	for m := (EndpointWake{}); r.wake.ReceiveAsync(&m); m = (EndpointWake{}) {
		r.take(m)
		any = true
	}
	return any
}

func (r *endpointRun) take(m EndpointWake) {
	if m.Reset {
		r.in.Breaker = webhook.Breaker{}
	}
}

// show keeps the state that operators search by.
func (r *endpointRun) show(ctx workflow.Context) error {
	state := stateOf(r.in.Breaker)
	if state == r.state {
		return nil
	}
	r.state = state
	return becomes(ctx, state, "")
}

func stateOf(b webhook.Breaker) string {
	if b.Open {
		return endpointFailing
	}
	return endpointSending
}

// wakeWait bounds how long the fan-out waits for Temporal. What could not be woken is found by the sweep.
const wakeWait = 2 * time.Second

// WakeEndpoint wakes the run of a webhook endpoint, starting it where there is none.
func (c *Client) WakeEndpoint(ctx context.Context, environment, endpoint string, reset bool) error {
	ctx, cancel := context.WithTimeout(ctx, wakeWait)
	defer cancel()
	options := startOptions(EndpointID(endpoint), about{
		kind: NameEndpoint, environment: environment, state: endpointSending, summary: fmt.Sprintf("Webhook endpoint %s", endpoint),
	})
	options.WorkflowIDReusePolicy = enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE // one run after the other
	_, err := c.temporal.SignalWithStartWorkflow(ctx, options.ID, SignalWake, EndpointWake{Reset: reset}, options, NameEndpoint,
		EndpointInput{Endpoint: endpoint, Environment: environment})
	return unavailable(err)
}
