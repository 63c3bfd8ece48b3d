package worker

import (
	"go.temporal.io/sdk/activity"

	"github.com/countersign-dev/countersign/activities"
	"github.com/countersign-dev/countersign/internal/delivery/webhook"
	"github.com/countersign-dev/countersign/internal/platform/outbox"
)

func registerEndpoints(r Registry, s Services) {
	endpoints := &activities.Endpoints{Sender: s.Endpoints, Log: s.Log}
	r.RegisterActivityWithOptions(endpoints.Deliver, activity.RegisterOptions{Name: activities.EndpointDeliver})
}

// EventLane fans events out to webhook endpoints, those of a busy environment together.
func EventLane(f *webhook.FanOut) outbox.Lane {
	return outbox.Lane{Name: "events", Handlers: map[string]outbox.Handler{outbox.TopicEvent: f.Handle}, Together: f.HandleTogether}
}
