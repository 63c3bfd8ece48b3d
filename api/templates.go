package api

import (
	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/api/wire"
	"github.com/countersign-dev/countersign/internal/subject/template"
	"github.com/countersign-dev/countersign/internal/transport/request"
	"github.com/countersign-dev/countersign/models"
)

// templateHandlers handles the versions of a subject's behavioral templates.
type templateHandlers struct {
	Templates *template.Service
}

func viewTemplate(t models.Template) wire.Template {
	return wire.Template{
		ID: t.ID, Modality: t.Modality, DeviceClass: t.DeviceClass, Version: t.Version, Status: string(t.Status), Origin: string(t.Origin),
		ModelVersion: t.ModelVersion, Provisional: t.Provisional, Limitations: nonNil(t.Limitations),
		CreatedAt: wire.Time(t.CreatedAt), UpdatedAt: wire.Time(t.UpdatedAt),
	}
}

func (h *templateHandlers) list(c *fiber.Ctx) error {
	rows, next, err := h.Templates.List(request.Context(c), request.Principal(c).Store(), c.Params("subject_id"), page(c))
	return replyList(c, viewTemplate, rows, next, err)
}

func (h *templateHandlers) rollback(c *fiber.Ctx) error {
	in, err := bind[wire.TemplateRollback](c)
	if err != nil {
		return err
	}
	t, err := h.Templates.Rollback(request.Context(c), request.Principal(c), c.Params("subject_id"),
		template.Rollback{Modality: in.Modality, Device: in.DeviceClass, Version: in.Version})
	return replyView(c, fiber.StatusOK, viewTemplate, t, err)
}
