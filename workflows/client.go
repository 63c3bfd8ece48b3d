package workflows

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/trace"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/opentelemetry"
	sdklog "go.temporal.io/sdk/log"

	"github.com/countersign-dev/countersign/activities"
	"github.com/countersign-dev/countersign/internal/platform/durable"
	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/platform/tracing"
)

// DialOptions say where Temporal is.
type DialOptions struct {
	Address   string // host:port
	Namespace string // default Namespace
	TLS       *tls.Config
	APIKey    string // of Temporal Cloud
	Keyring   *keyring.Keyring
	Log       *slog.Logger
	Metrics   client.MetricsHandler // may be nil
	Tracing   trace.TracerProvider  // nil: off
}

// Dial makes a client. It does not connect: the service starts, and answers what needs no workflow, while Temporal is
// away.
func Dial(o DialOptions) (client.Client, error) {
	if o.Namespace == "" {
		o.Namespace = Namespace
	}
	data, failure := Converters(o.Keyring)
	opts := client.Options{
		HostPort: o.Address, Namespace: o.Namespace, DataConverter: data, FailureConverter: failure,
		Logger: sdklog.NewStructuredLogger(o.Log), MetricsHandler: o.Metrics,
		ConnectionOptions: client.ConnectionOptions{TLS: o.TLS},
	}
	if !tracing.Off(o.Tracing) {
		spans, err := opentelemetry.NewTracingInterceptor(opentelemetry.TracerOptions{
			Tracer: o.Tracing.Tracer("temporal-sdk-go"), TextMapPropagator: tracing.Propagator,
		})
		if err != nil {
			return nil, err
		}
		opts.Interceptors = append(opts.Interceptors, spans)
	}
	if o.APIKey != "" {
		opts.Credentials = client.NewAPIKeyStaticCredentials(o.APIKey)
	}
	return client.NewLazyClient(opts)
}

// Client is the only door from handlers to Temporal. Its errors are problems: 503 unavailable where Temporal is away or
// slow, the code a run refused with, or internal.
type Client struct {
	temporal client.Client
	space    string
	wait     time.Duration
}

// updateWait bounds how long a caller waits for the answer of a run.
const updateWait = 5 * time.Second

// NewClient wraps a Temporal client of the namespace (empty: Namespace).
func NewClient(c client.Client, namespace string) *Client {
	if namespace == "" {
		namespace = Namespace
	}
	return &Client{temporal: c, space: namespace, wait: updateWait}
}

// Ping reports whether Temporal answers.
func (c *Client) Ping(ctx context.Context) error {
	_, err := c.temporal.CheckHealth(ctx, &client.CheckHealthRequest{})
	return unavailable(err)
}

// start starts a run unless it exists. Where this process works, too, it is handed the first task with the answer, which
// saves Temporal a write and the way over the queue.
func (c *Client) start(ctx context.Context, id, workflow string, a about, input any) error {
	options := startOptions(id, a)
	options.EnableEagerStart = true
	_, err := c.temporal.ExecuteWorkflow(ctx, options, workflow, input)
	var exists *serviceerror.WorkflowExecutionAlreadyStarted
	if errors.As(err, &exists) {
		return nil
	}
	return unavailable(err)
}

// update is one update of one run.
type update struct {
	id   string // over the whole request: the same id gets the same answer
	name string
	arg  any
}

// updateWithStart sends the update to the run, which it starts where the relay has not yet, and waits for the answer.
// A run that has closed answers durable.ErrClosed, unless this very update closed it.
func (c *Client) updateWithStart(ctx context.Context, id, workflow string, a about, input any, u update, out any) error {
	ctx, cancel := context.WithTimeout(ctx, c.wait)
	defer cancel()
	for {
		err := c.tryUpdate(ctx, id, workflow, a, input, u, out)
		// Something else reached the run in the moment in which it would have answered, its deadline for one: the server has
		// the run think again and drops who waited. The same id finds the answer.
		var disturbed *serviceerror.WorkflowNotReady
		if !errors.As(err, &disturbed) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(disturbedPause):
		}
	}
}

// disturbedPause is how long a run that was disturbed is left alone.
const disturbedPause = 20 * time.Millisecond

func (c *Client) tryUpdate(ctx context.Context, id, workflow string, a about, input any, u update, out any) error {
	start := c.temporal.NewWithStartWorkflowOperation(startOptions(id, a), workflow, input)
	handle, err := c.temporal.UpdateWithStartWorkflow(ctx, client.UpdateWithStartWorkflowOptions{
		StartWorkflowOperation: start,
		UpdateOptions: client.UpdateWorkflowOptions{
			UpdateID: u.id, WorkflowID: id, UpdateName: u.name, Args: []any{u.arg},
			// Accepted, not completed: from then on the run sees the request through, and a caller who stops waiting can be
			// told so. An update that completes at once is answered in the same round trip.
			WaitForStage: client.WorkflowUpdateStageAccepted,
		},
	})
	if err != nil {
		return asked(err)
	}
	if err := handle.Get(ctx, out); err != nil {
		return answered(ctx, err)
	}
	return nil
}

// asked maps the error of a request that the run did not accept.
func asked(err error) error {
	var exists *serviceerror.WorkflowExecutionAlreadyStarted
	var missing *serviceerror.NotFound
	if errors.As(err, &exists) || errors.As(err, &missing) {
		return durable.ErrClosed
	}
	return refusedOr(err, unavailable)
}

// answered maps the error of a request that the run accepted.
func answered(ctx context.Context, err error) error {
	return refusedOr(err, func(err error) error {
		if ctx.Err() == nil {
			return unavailable(err)
		}
		return &problem.Error{
			Code: problem.Unavailable, Detail: "The request is accepted and not finished. Ask again for its outcome.",
			Cause: fmt.Errorf("%w: %w", durable.ErrAccepted, err), RetryAfter: time.Second,
		}
	})
}

// refusedOr is the problem a run refused with, or what otherwise makes of the error.
func refusedOr(err error, otherwise func(error) error) error {
	if code, detail, ok := activities.Refusal(err); ok {
		return &problem.Error{Code: code, Detail: detail}
	}
	return otherwise(err)
}

// away says that Temporal could not be reached or did not answer in time. Nothing was changed; and if an answer was lost on
// the way, the same request finds the outcome.
func unavailable(err error) error {
	if err == nil {
		return nil
	}
	return problem.NewUnavailable("The part of the service that settles this does not answer just now. Ask again.", err)
}

// signal sends a signal to a run that may have closed.
func (c *Client) signal(ctx context.Context, id, name string) error {
	err := c.temporal.SignalWorkflow(ctx, id, "", name, nil)
	var missing *serviceerror.NotFound
	if errors.As(err, &missing) {
		return nil
	}
	return unavailable(err)
}

// Forget ends a run and removes its history, for the erasure of a subject. A run that does not exist is forgotten.
func (c *Client) Forget(ctx context.Context, id string) error {
	var missing *serviceerror.NotFound
	err := c.temporal.TerminateWorkflow(ctx, id, "", "the subject is erased")
	if err != nil && !errors.As(err, &missing) {
		return unavailable(err)
	}
	if err := c.deleteRun(ctx, id); err != nil && !errors.As(err, &missing) {
		return unavailable(err)
	}
	return nil
}
