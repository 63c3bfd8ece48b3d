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

// EventTopics returns the handler of the outbox rows that fan events out to webhook endpoints.
func EventTopics(f *webhook.FanOut) map[string]outbox.Handler {
	return map[string]outbox.Handler{outbox.TopicEvent: f.Handle}
}
