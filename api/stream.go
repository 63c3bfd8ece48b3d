package api

import (
	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/account/tally"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/events/stream"
	"github.com/countersign-dev/countersign/internal/transport/request"
	"github.com/countersign-dev/countersign/internal/transport/sse"
)

// streamHandlers handles the event stream.
type streamHandlers struct {
	Streams *sse.Server
	Clock   clock.Clock
	Tally   *tally.Recorder
}

// follow opens a stream that ends with its credential at the latest.
func (h *streamHandlers) follow(c *fiber.Ctx) error {
	if _, err := selectedTypes(c); err != nil {
		return err
	}
	p := request.Principal(c)
	life := sse.MaxLife
	if p.ExpiresAt != nil {
		life = min(life, p.ExpiresAt.Sub(h.Clock.Now()))
	}
	return h.Streams.Serve(c, sse.Subscription{
		Principal: p, Key: p.CredentialID, Life: life,
		Filter: stream.Filter{Type: c.Query("type"), Subject: c.Query("subject"), Action: c.Query("action")},
		Sent:   func() { h.Tally.Read(p, "streamEvents", 1) },
	})
}
