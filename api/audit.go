package api

import (
	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/platform/audit"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/transport/request"
)

// auditHandlers handles the audit log.
type auditHandlers struct {
	Store  *pg.Store
	Clock  clock.Clock
	Signer audit.Signer
}

func (h *auditHandlers) list(c *fiber.Ctx) error {
	f := audit.Filter{Actor: c.Query("actor"), Since: queryTime(c, "since"), Until: queryTime(c, "until")}
	if kind := c.Query("kind"); kind != "" {
		f.Types = []string{kind}
	}
	links, next, err := audit.EntriesOf(request.Context(c), h.Store.Q, request.Principal(c).Store(), f, page(c))
	if err != nil {
		return err
	}
	out := make([]audit.Entry, len(links))
	for i, l := range links {
		if out[i], err = audit.View(l); err != nil {
			return err
		}
	}
	return replyList(c, asStored, out, next, nil)
}

func (h *auditHandlers) head(c *fiber.Ctx) error {
	head, err := audit.SignedHead(request.Context(c), h.Store.Q, request.Principal(c).Store(), h.Signer, h.Clock)
	return reply(c, fiber.StatusOK, head, err)
}
