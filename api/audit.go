package api

import (
	"net/http"

	"github.com/countersign-dev/countersign/internal/transport/request"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/platform/audit"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/pg"
)

// auditHandlers handles the audit log.
type auditHandlers struct {
	Store  *pg.Store
	Clock  clock.Clock
	Signer audit.Signer
}

func (h *auditHandlers) list(c *fiber.Ctx) error {
	paging, err := page(c)
	if err != nil {
		return err
	}
	f := audit.Filter{Actor: query(c, "actor"), Type: query(c, "kind")}
	if f.Since, err = timeQuery(c, "since"); err != nil {
		return err
	}
	if f.Until, err = timeQuery(c, "until"); err != nil {
		return err
	}
	links, next, err := audit.EntriesOf(request.Context(c), h.Store.Q, principal(c).Store(), f, paging)
	if err != nil {
		return err
	}
	out := make([]audit.Entry, len(links))
	for i, l := range links {
		if out[i], err = audit.View(l); err != nil {
			return err
		}
	}
	return sendList(c, out, next)
}

func (h *auditHandlers) head(c *fiber.Ctx) error {
	head, err := audit.SignedHead(request.Context(c), h.Store.Q, principal(c).Store(), h.Signer, h.Clock)
	if err != nil {
		return err
	}
	return send(c, http.StatusOK, head)
}
