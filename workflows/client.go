package workflows

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/opentelemetry"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/grpc"

	"github.com/countersign-dev/countersign/activities"
	"github.com/countersign-dev/countersign/internal/platform/durable"
	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/platform/tracing"
)

// DialOptions configures the connection to Temporal.
type DialOptions struct {
	Address   string // host:port
	Namespace string // default Namespace
	TLS       *tls.Config
	APIKey    string // for Temporal Cloud; empty for none
	Keyring   *keyring.Keyring
	Log       *slog.Logger
	Metrics   client.MetricsHandler // may be nil
	Tracing   trace.TracerProvider  // nil: off
	Polls     *Polls                // follows the worker's requests for tasks; may be nil
}

// Dial returns a client. It does not connect: while Temporal is unavailable the service starts and serves the requests that
// need no workflow.
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
	if o.Polls != nil {
		opts.ConnectionOptions.DialOptions = []grpc.DialOption{grpc.WithStatsHandler(o.Polls)}
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

// Client is the only way from request handlers to Temporal. Its errors are problems: unavailable (503) if Temporal is
// unavailable or slow, or the code with which a workflow refused. A closed workflow run is durable.ErrClosed.
type Client struct {
	temporal client.Client
	space    string
	wait     time.Duration
	startup  *durable.Startup // nil: Temporal is not started by this machine
	console  string           // URL of the console that new workflows link to; empty for no links
	lazy     bool             // no eager start
}

// StartLazily makes Temporal choose the worker of a first task, and not this process's own. Workers with builds need it: an eager
// start would begin workflow runs on a build that no rollout has chosen. It must be called before the first start.
func (c *Client) StartLazily() { c.lazy = true }

// LinkTo makes the workflows that the client starts link to the pages of their records in the console at the URL. It must be called
// before the first start.
func (c *Client) LinkTo(console string) { c.console = console }

// updateWait bounds how long a caller waits for an update.
const updateWait = 5 * time.Second

// NewClient returns a Client on a Temporal client of the namespace; empty is Namespace.
func NewClient(c client.Client, namespace string) *Client {
	return NewStartingClient(c, namespace, nil)
}

// NewStartingClient returns a Client that refuses requests at once, and makes no connection, until Temporal has started.
func NewStartingClient(c client.Client, namespace string, s *durable.Startup) *Client {
	if namespace == "" {
		namespace = Namespace
	}
	return &Client{temporal: c, space: namespace, wait: updateWait, startup: s}
}

// startingRetry is when a caller may repeat a request that Temporal's start refused.
const startingRetry = 5 * time.Second

// started returns the problem unavailable while Temporal is being started on this machine.
func (c *Client) started() error {
	err := c.startup.Err()
	if err == nil {
		return nil
	}
	return &problem.Error{
		Code: problem.Unavailable, Cause: err, RetryAfter: startingRetry,
		Detail: "T" + strings.TrimPrefix(err.Error(), "t") + ". Decisions do not wait for it. Retry after the Retry-After header.",
	}
}

// Ping returns an error if Temporal is unavailable.
func (c *Client) Ping(ctx context.Context) error {
	if err := c.started(); err != nil {
		return err
	}
	_, err := c.temporal.CheckHealth(ctx, &client.CheckHealthRequest{})
	return unavailable(err)
}

// start starts a workflow unless it exists. It is eager: if this process also runs a worker, it receives the first task with
// the response, which saves a write and a trip through the task queue.
func (c *Client) start(ctx context.Context, r startRequest) error {
	if err := c.started(); err != nil {
		return err
	}
	options := c.startOptions(r)
	options.EnableEagerStart = !c.lazy
	_, err := c.temporal.ExecuteWorkflow(ctx, options, r.kind, r.input)
	var exists *serviceerror.WorkflowExecutionAlreadyStarted
	if errors.As(err, &exists) {
		return nil
	}
	return unavailable(err)
}

// restart starts a workflow although a run of it has closed, unless it is running.
func (c *Client) restart(ctx context.Context, r startRequest) error {
	if err := c.started(); err != nil {
		return err
	}
	options := c.startOptions(r)
	options.EnableEagerStart, options.WorkflowIDReusePolicy = !c.lazy, enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE
	_, err := c.temporal.ExecuteWorkflow(ctx, options, r.kind, r.input)
	return unavailable(err)
}

// update is one update of a workflow.
type update struct {
	id   string // derived from the whole request: Temporal returns the same result for the same id
	name string
	arg  any
}

// updateWithStart sends the update, starting the workflow if the outbox relay has not done so yet, and waits for the result.
// It returns durable.ErrClosed if the workflow run has closed, unless this very update closed it.
func (c *Client) updateWithStart(ctx context.Context, r startRequest, u update, out any) error {
	if err := c.started(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, c.wait)
	defer cancel()
	for {
		err := c.tryUpdate(ctx, r, u, out)
		// Another event, such as a timer, arrived while the workflow task was under way. The server discards the task and drops
		// the callers that wait on it. The same update id returns the result.
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

// disturbedPause is the pause before an update is sent again after such an interruption.
const disturbedPause = 20 * time.Millisecond

// tryUpdate sends the update once.
func (c *Client) tryUpdate(ctx context.Context, r startRequest, u update, out any) error {
	start := c.temporal.NewWithStartWorkflowOperation(c.startOptions(r), r.kind, r.input)
	handle, err := c.temporal.UpdateWithStartWorkflow(ctx, client.UpdateWithStartWorkflowOptions{
		StartWorkflowOperation: start,
		UpdateOptions: client.UpdateWorkflowOptions{
			UpdateID: u.id, WorkflowID: r.id, UpdateName: u.name, Args: []any{u.arg},
			// Wait for acceptance, not completion: an accepted request will be finished, and a caller whose time is up learns
			// that. An update that completes at once still takes one round trip only.
			WaitForStage: client.WorkflowUpdateStageAccepted,
		},
	})
	if err != nil {
		return notAccepted(err)
	}
	if err := handle.Get(ctx, out); err != nil {
		return notFinished(ctx, err)
	}
	return nil
}

// notAccepted maps the error of an update that the workflow did not accept.
func notAccepted(err error) error {
	var exists *serviceerror.WorkflowExecutionAlreadyStarted
	var missing *serviceerror.NotFound
	if errors.As(err, &exists) || errors.As(err, &missing) {
		return durable.ErrClosed
	}
	return refusedOr(err, func(err error) error {
		// The call waits for a worker, and the connection is tried until then too: which of them is missing the caller cannot know.
		if timeout := (*client.WorkflowUpdateServiceTimeoutOrCanceledError)(nil); errors.As(err, &timeout) || errors.Is(err, context.DeadlineExceeded) {
			return problem.NewUnavailable("No worker took the request in time, or Temporal is unavailable. Retry after the Retry-After header.", err)
		}
		return unavailable(err)
	})
}

// runEnded is the type of the error that Temporal gives those who wait for an accepted update whose run ends.
const runEnded = "AcceptedUpdateCompletedWorkflow"

// notFinished maps the error of an update that the workflow accepted. The server ends a call at the same deadline as the caller, and may
// be a moment earlier: the context is then not over yet, and the error says so.
//
// If the run ended before it finished the update, because an operator or an erasure terminated it, the record decides.
func notFinished(ctx context.Context, err error) error {
	var app *temporal.ApplicationError
	if errors.As(err, &app) && app.Type() == runEnded {
		return durable.ErrClosed
	}
	return refusedOr(err, func(err error) error {
		var timeout *client.WorkflowUpdateServiceTimeoutOrCanceledError
		if ctx.Err() == nil && !errors.As(err, &timeout) {
			return unavailable(err)
		}
		return &problem.Error{
			Code: problem.Unavailable, Detail: "The request is accepted but not finished yet. Repeat it to get the outcome.",
			Cause: fmt.Errorf("%w: %w", durable.ErrAccepted, err), RetryAfter: time.Second,
		}
	})
}

// refusedOr returns the problem with which the workflow refused, or else otherwise(err).
func refusedOr(err error, otherwise func(error) error) error {
	if code, detail, ok := activities.Refusal(err); ok {
		return &problem.Error{Code: code, Detail: detail}
	}
	return otherwise(err)
}

// unavailable maps an error of the connection to Temporal, or a timeout, to a problem; nil to nil. Repeating the request is
// safe: if it was processed and only the response was lost, the same request returns the outcome.
func unavailable(err error) error {
	if err == nil {
		return nil
	}
	return problem.NewUnavailable("Temporal is unavailable. Retry after the Retry-After header.", err)
}

// signal sends a signal to a workflow. It is no error if no run is open.
func (c *Client) signal(ctx context.Context, id, name string) error {
	if err := c.started(); err != nil {
		return err
	}
	return unavailable(present(c.temporal.SignalWorkflow(ctx, id, "", name, nil)))
}
