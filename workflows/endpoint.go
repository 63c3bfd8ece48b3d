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

// NameEndpoint and SignalWake are registered names. Histories refer to them: never rename them.
const (
	NameEndpoint = "endpoint"
	SignalWake   = "wake"
)

// EndpointID returns the workflow id of a webhook endpoint.
func EndpointID(endpoint string) string { return NameEndpoint + "/" + endpoint }

// EndpointInput is the input of the workflow of a webhook endpoint. Histories contain it: fields are added, never renamed.
type EndpointInput struct {
	Endpoint    string
	Environment string
	Breaker     webhook.Breaker // carried over when the workflow continues as new
}

// EndpointWake is the signal that there is something to send. Reset clears the circuit breaker: the endpoint was changed.
type EndpointWake struct {
	Reset bool
}

const (
	// endpointIdle is how long a workflow run waits with nothing to send before it ends. The next event starts a new run.
	endpointIdle = 10 * time.Minute
	// endpointRests is the longest that a run with deliveries waits for the next: a clock that was ahead may have set its time.
	endpointRests = 15 * time.Minute
	// endpointBatches bounds the history of one workflow run.
	endpointBatches = 500
)

// Values of the state attribute.
const (
	endpointSending = "sending"
	endpointFailing = "failing"
)

// Endpoint delivers events to one webhook endpoint: a batch on every signal, and again when the next delivery or the next
// probe is due. Each endpoint has a workflow of its own, so an endpoint that does not respond delays no other.
func Endpoint(ctx workflow.Context, in EndpointInput) error {
	r := &endpointRun{in: in, wake: workflow.GetSignalChannel(ctx, SignalWake), state: stateOf(in.Breaker)}
	return r.run(ctx)
}

// endpointRun is the state of one workflow run.
type endpointRun struct {
	in    EndpointInput
	wake  workflow.ReceiveChannel
	state string
}

// run delivers batches until the endpoint is gone, idle, or the history is long enough to continue as new.
func (r *endpointRun) run(ctx workflow.Context) error {
	for range endpointBatches {
		r.drainSignals()
		standing, err := r.deliver(ctx)
		if err != nil || standing.Gone {
			return err
		}
		r.in.Breaker = standing.Breaker
		if err := r.updateState(ctx); err != nil {
			return err
		}
		if again, err := r.rest(ctx, standing.Next); err != nil || !again {
			return err
		}
		if workflow.GetInfo(ctx).GetContinueAsNewSuggested() {
			break
		}
	}
	r.drainSignals() // the new run begins with a batch in any case
	return workflow.NewContinueAsNewError(ctx, NameEndpoint, r.in)
}

// deliver sends one batch.
func (r *endpointRun) deliver(ctx workflow.Context) (activities.EndpointStanding, error) {
	var out activities.EndpointStanding
	err := workflow.ExecuteActivity(batchStep(ctx), activities.EndpointDeliver,
		activities.EndpointBatch{Endpoint: r.in.Endpoint, Breaker: r.in.Breaker}).Get(ctx, &out)
	return out, err
}

// batchStep is for an activity that runs as long as there is something to send, up to its own budget of 30 seconds, and sends
// heartbeats meanwhile. It is retried until it returns.
func batchStep(ctx workflow.Context) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: 90 * time.Second,
		HeartbeatTimeout:    10 * time.Second,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: 30 * time.Second},
		Summary:             activities.EndpointDeliver,
	})
}

// rest waits until there is something to send and reports false if the workflow may end. While the breaker is open, a signal
// has no effect before the probe is due, unless it resets the breaker.
func (r *endpointRun) rest(ctx workflow.Context, next *time.Time) (bool, error) {
	pause, summary := endpointIdle, "nothing to send"
	if next != nil {
		pause, summary = min(max(next.Sub(workflow.Now(ctx)), 0), endpointRests), "the next delivery is due"
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
				r.handleWake(m)
				woken = !r.breakerOpen(ctx)
			}).
			Select(ctx)
	}
	return woken || next != nil || r.drainSignals(), failed
}

// breakerOpen reports whether the breaker forbids sending now.
func (r *endpointRun) breakerOpen(ctx workflow.Context) bool {
	return r.in.Breaker.Open && !r.in.Breaker.ProbeDue(workflow.Now(ctx))
}

// drainSignals handles every signal that has arrived and reports whether there was one.
func (r *endpointRun) drainSignals() bool {
	any := false
	for m := (EndpointWake{}); r.wake.ReceiveAsync(&m); m = (EndpointWake{}) {
		r.handleWake(m)
		any = true
	}
	return any
}

// handleWake resets the breaker if the signal asks for it.
func (r *endpointRun) handleWake(m EndpointWake) {
	if m.Reset {
		r.in.Breaker = webhook.Breaker{}
	}
}

// updateState sets the state attribute if the state has changed.
func (r *endpointRun) updateState(ctx workflow.Context) error {
	state := stateOf(r.in.Breaker)
	if state == r.state {
		return nil
	}
	r.state = state
	return upsertState(ctx, state, "")
}

func stateOf(b webhook.Breaker) string {
	if b.Open {
		return endpointFailing
	}
	return endpointSending
}

// wakeWait bounds how long the fan-out waits for Temporal. The sweep finds endpoints that could not be signaled.
const wakeWait = 2 * time.Second

// WakeEndpoint signals the workflow of a webhook endpoint and starts it if it does not run.
func (c *Client) WakeEndpoint(ctx context.Context, environment, endpoint string, reset bool) error {
	if err := c.started(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, wakeWait)
	defer cancel()
	options := c.startOptions(startRequest{
		id: EndpointID(endpoint), kind: NameEndpoint, environment: environment, state: endpointSending, summary: fmt.Sprintf("Webhook endpoint %s", endpoint), page: "webhooks/" + endpoint,
	})
	options.WorkflowIDReusePolicy = enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE // one workflow run after the other
	_, err := c.temporal.SignalWithStartWorkflow(ctx, options.ID, SignalWake, EndpointWake{Reset: reset}, options, NameEndpoint,
		EndpointInput{Endpoint: endpoint, Environment: environment})
	return unavailable(err)
}
