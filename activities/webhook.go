package activities

import (
	"context"
	"log/slog"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/countersign-dev/countersign/internal/delivery/webhook"
)

// EndpointDeliver is the registered name of the activity of a webhook endpoint. Histories refer to it: never rename it.
const EndpointDeliver = "endpoint.deliver"

// EndpointSender sends the deliveries of one endpoint that are due (webhook.Sender). It calls beat while it runs.
type EndpointSender interface {
	Deliver(ctx context.Context, job webhook.DeliverJob, beat func()) (webhook.DeliverResult, error)
}

// EndpointBatch is the payload of one batch of deliveries to one endpoint.
type EndpointBatch struct {
	Endpoint string
	Breaker  webhook.Breaker
}

// EndpointStanding is the state of an endpoint after a batch.
type EndpointStanding struct {
	Breaker webhook.Breaker
	Next    *time.Time // when the next delivery or probe is due; nil if none is
	Gone    bool       // the endpoint is deleted or disabled
}

// Endpoints are the activities of webhook endpoints.
type Endpoints struct {
	Sender EndpointSender
	Log    *slog.Logger
}

// Deliver sends the deliveries that are due. While the worker stops, it starts no new delivery and finishes those under way.
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
