package activities

import (
	"context"
	"log/slog"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/countersign-dev/countersign/internal/delivery/webhook"
)

// EndpointDeliver is the name under which the activity of a webhook endpoint is registered.
const EndpointDeliver = "endpoint.deliver"

// EndpointSender sends what is due to one endpoint (internal/delivery/webhook).
type EndpointSender interface {
	Deliver(ctx context.Context, job webhook.DeliverJob, beat func()) (webhook.DeliverResult, error)
}

// EndpointBatch asks for one batch of deliveries to one endpoint.
type EndpointBatch struct {
	Endpoint string
	Breaker  webhook.Breaker
}

// EndpointStanding is where an endpoint stands after a batch.
type EndpointStanding struct {
	Breaker webhook.Breaker
	Next    *time.Time // when there is something to do again; nil where nothing is owed
	Gone    bool       // the endpoint is deleted or disabled
}

// Endpoints are the activities of webhook endpoints.
type Endpoints struct {
	Sender EndpointSender
	Log    *slog.Logger
}

// Deliver sends what is due. A worker that is told to stop begins nothing more and lets what is under way finish.
func (a *Endpoints) Deliver(ctx context.Context, in EndpointBatch) (EndpointStanding, error) {
	out, err := a.Sender.Deliver(ctx, webhook.DeliverJob{
		Endpoint: in.Endpoint, Workflow: activity.GetInfo(ctx).WorkflowExecution.ID, Breaker: in.Breaker,
		Stop: activity.GetWorkerStopChannel(ctx),
	}, func() { activity.RecordHeartbeat(ctx) })
	if err != nil {
		return EndpointStanding{}, report(ctx, a.Log, err)
	}
	return EndpointStanding{Breaker: out.Breaker, Next: out.Next, Gone: out.Gone}, nil
}
