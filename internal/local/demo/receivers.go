package demo

import (
	"context"
	"net"
	"net/http"
	"time"

	countersign "github.com/countersign-dev/countersign/sdk/go"
)

// described begins the descriptions of the demonstration's webhook endpoints.
const described = "Demonstration: "

// unreachable is a URL at which no one listens: port 9 is the discard service's (RFC 863).
const unreachable = "http://127.0.0.1:9/holds"

// deliverWithin bounds the wait for the last delivery to the receiver.
const deliverWithin = 20 * time.Second

// receiver accepts webhooks until the demonstration ends.
type receiver struct {
	server   *http.Server
	endpoint string
}

// endpoints creates two webhook endpoints: one whose receiver is this process, and one that fails.
func (s *show) endpoints(ctx context.Context) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s.receiver.server = &http.Server{ReadHeaderTimeout: requestTimeout, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNoContent)
	})}
	go func() { _ = s.receiver.server.Serve(listener) }() // it ends with stop
	for description, e := range map[string]countersign.WebhookEndpointCreate{
		"case system":   {URL: "http://" + listener.Addr().String() + "/events", Events: []string{"authorization.*", "hold.*", "challenge.*"}},
		"chat, offline": {URL: unreachable, Events: []string{"hold.*"}},
	} {
		e.Description = described + description
		made, err := s.admin.CreateWebhookEndpoint(ctx, e)
		if err != nil {
			return err
		}
		if e.URL != unreachable {
			s.receiver.endpoint = made.ID
		}
	}
	return nil
}

// stop waits until a test event has arrived at the receiver, after those of the demonstration, and disables its endpoint: no one
// listens there afterwards.
func (s *show) stop(ctx context.Context) error {
	if s.receiver.endpoint == "" {
		return nil
	}
	defer func() { _ = s.receiver.server.Close() }()
	ctx, cancel := context.WithTimeout(ctx, deliverWithin)
	defer cancel()
	if _, err := s.admin.TestWebhookEndpoint(ctx, s.receiver.endpoint); err != nil {
		return err
	}
	_, err := s.admin.UpdateWebhookEndpoint(ctx, s.receiver.endpoint, countersign.WebhookEndpointUpdate{Status: "disabled"})
	return err
}
