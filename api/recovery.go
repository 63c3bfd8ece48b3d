package api

import (
	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/platform/apitime"
	"github.com/countersign-dev/countersign/internal/subject/recovery"
	"github.com/countersign-dev/countersign/internal/transport/request"
	"github.com/countersign-dev/countersign/models"
)

// recoveryHandlers handles recoveries.
type recoveryHandlers struct {
	Recoveries *recovery.Service
}

type recoveryView struct {
	ID          string         `json:"id"`
	Subject     string         `json:"subject"`
	Status      string         `json:"status"`
	Anchor      string         `json:"anchor"`
	CreatedAt   string         `json:"created_at"`
	ReadyAt     string         `json:"ready_at"`
	ExpiresAt   string         `json:"expires_at"`
	Limitations models.Strings `json:"limitations"`
}

func viewRecovery(v recovery.View) recoveryView {
	out := recoveryView{
		ID: v.ID, Subject: v.Subject, Status: string(v.Status), Anchor: v.Anchor, CreatedAt: apitime.Time(v.CreatedAt),
		ReadyAt: apitime.Time(v.ReadyAt), ExpiresAt: apitime.Time(v.ExpiresAt), Limitations: v.Limitations,
	}
	if out.Limitations == nil {
		out.Limitations = models.Strings{}
	}
	return out
}

func (h *recoveryHandlers) begin(c *fiber.Ctx) error {
	body, err := bind[recovery.Begin](c)
	if err != nil {
		return err
	}
	v, err := h.Recoveries.Begin(request.Context(c), request.Principal(c), c.Params("subject_id"), body)
	return replyView(c, fiber.StatusCreated, viewRecovery, v, err)
}

func (h *recoveryHandlers) get(c *fiber.Ctx) error {
	v, err := h.Recoveries.Get(request.Context(c), request.Principal(c).Store(), c.Params("subject_id"))
	return replyView(c, fiber.StatusOK, viewRecovery, v, err)
}
