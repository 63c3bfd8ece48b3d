package api

import (
	"cmp"
	"encoding/base64"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/api/wire"
	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/authz/change"
	"github.com/countersign-dev/countersign/internal/transport/request"
	"github.com/countersign-dev/countersign/models"
)

// environmentHandlers handles the settings of the caller's environment.
type environmentHandlers struct {
	Tenancy *tenancy.Service
	Changes *change.Service
}

type environmentView struct {
	ID              string                 `json:"id"`
	Tenant          string                 `json:"tenant"`
	Kind            models.EnvironmentKind `json:"kind"`
	RPID            string                 `json:"rp_id"`
	ResearchEnabled bool                   `json:"research_enabled"`
	CreatedAt       wire.Time              `json:"created_at"`

	models.Settings
	Brand    wire.Brand        `json:"brand"`
	Passkeys wire.PasskeyRules `json:"passkeys"`
}

func viewEnvironment(e models.Environment) environmentView {
	for _, list := range []*models.Strings{&e.RPOrigins, &e.ReturnOrigins, &e.FrameAncestors, &e.WorkingHours, &e.Holidays} {
		*list = nonNil(*list)
	}
	return environmentView{
		ID: e.ID, Tenant: e.TenantID, Kind: e.Kind, RPID: e.RPID, ResearchEnabled: e.ResearchEnabled, CreatedAt: wire.Time(e.CreatedAt), Settings: e.Settings,
		Passkeys: wire.PasskeyRules{
			RPIDs: nonNil(e.Passkeys.RPIDs), RelatedOrigins: nonNil(e.Passkeys.RelatedOrigins), Attestation: cmp.Or(e.Passkeys.Attestation, models.AttestationNone),
			AttestationRoots: nonNil(e.Passkeys.AttestationRoots), Aaguids: nonNil(e.Passkeys.AAGUIDs),
		},
		Brand: wire.Brand{Name: e.Brand.Name, Accent: e.Brand.Accent, Language: e.Brand.Language, Logo: base64.StdEncoding.EncodeToString(e.Brand.Logo)},
	}
}

func (h *environmentHandlers) get(c *fiber.Ctx) error {
	e, err := h.Tenancy.Environment(request.Context(c), request.Principal(c).Store())
	return replyView(c, fiber.StatusOK, viewEnvironment, e, err)
}

func (h *environmentHandlers) update(c *fiber.Ctx) error {
	in, err := bind[tenancy.Settings](c)
	if err != nil {
		return err
	}
	made, err := h.Changes.UpdateSettings(request.Context(c), request.Principal(c), in)
	return replyMade(c, fiber.StatusOK, viewEnvironment, made, err)
}
