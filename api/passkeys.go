package api

import (
	"encoding/json"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/platform/apitime"
	"github.com/countersign-dev/countersign/internal/subject/passkey"
	"github.com/countersign-dev/countersign/internal/transport/request"
	"github.com/countersign-dev/countersign/models"
)

// passkeyHandlers handles the passkeys of subjects.
type passkeyHandlers struct {
	Passkeys *passkey.Service
}

type passkeyView struct {
	passkeySummary
	AAGUID         *string        `json:"aaguid"`
	BackupEligible bool           `json:"backup_eligible"`
	BackedUp       bool           `json:"backed_up"`
	Transports     models.Strings `json:"transports"`
	RPID           *string        `json:"rp_id"`
	RevokedAt      *string        `json:"revoked_at"`
}

func viewPasskey(p models.Passkey) passkeyView {
	v := passkeyView{
		passkeySummary: summarisePasskey(p), AAGUID: passkey.AAGUID(p), BackupEligible: p.BackupEligible, BackedUp: p.BackupState,
		Transports: p.Transports, RPID: p.RPID, RevokedAt: apitime.OptionalTime(p.RevokedAt),
	}
	if v.Transports == nil {
		v.Transports = models.Strings{}
	}
	return v
}

func (h *passkeyHandlers) grant(c *fiber.Ctx) error {
	g, err := h.Passkeys.Grant(request.Context(c), request.Principal(c), c.Params("subject_id"))
	if err != nil {
		return err
	}
	return c.Status(fiber.StatusCreated).JSON(struct {
		Token     string `json:"token"`
		ExpiresAt string `json:"expires_at"`
	}{g.Token, apitime.Time(g.ExpiresAt)})
}

type registrationBody struct {
	Grant      string          `json:"registration_grant"`
	RPID       string          `json:"rp_id"`
	Credential json.RawMessage `json:"credential"`
}

func (h *passkeyHandlers) options(c *fiber.Ctx) error {
	body, err := bind[registrationBody](c)
	if err != nil {
		return err
	}
	options, err := h.Passkeys.Options(request.Context(c), request.Principal(c), c.Params("subject_id"), body.Grant, body.RPID)
	if err != nil {
		return err
	}
	return c.Status(fiber.StatusOK).JSON(map[string]any{"publicKey": options})
}

func (h *passkeyHandlers) complete(c *fiber.Ctx) error {
	body, err := bind[registrationBody](c)
	if err != nil {
		return err
	}
	p, err := h.Passkeys.Complete(request.Context(c), request.Principal(c), c.Params("subject_id"), body.Grant, body.Credential)
	return sendRegistered(c, p, err)
}

// imported stores a passkey that a different server registered.
func (h *passkeyHandlers) imported(c *fiber.Ctx) error {
	body, err := bind[passkey.Import](c)
	if err != nil {
		return err
	}
	p, err := h.Passkeys.Import(request.Context(c), request.Principal(c), c.Params("subject_id"), body)
	return sendRegistered(c, p, err)
}

// related lists the sites that may use the passkeys of the host that the request names (WebAuthn Level 3, section 5.11).
func (h *passkeyHandlers) related(c *fiber.Ctx) error {
	found, err := h.Passkeys.RelatedOrigins(request.Context(c), request.Host(c))
	if err != nil {
		return err
	}
	return c.Status(fiber.StatusOK).JSON(struct {
		Origins []string `json:"origins"`
	}{found})
}

func sendRegistered(c *fiber.Ctx, p models.Passkey, err error) error {
	if err != nil {
		return err
	}
	return c.Status(fiber.StatusCreated).JSON(struct {
		ID        string `json:"id"`
		CreatedAt string `json:"created_at"`
	}{p.ID, apitime.Time(p.CreatedAt)})
}

func (h *passkeyHandlers) list(c *fiber.Ctx) error {
	rows, next, err := h.Passkeys.List(request.Context(c), request.Principal(c).Store(), c.Params("subject_id"), page(c))
	return replyList(c, viewPasskey, rows, next, err)
}

func (h *passkeyHandlers) revoke(c *fiber.Ctx) error {
	return replyNothing(c, h.Passkeys.Revoke(request.Context(c), request.Principal(c), c.Params("subject_id"), c.Params("passkey_id")))
}
