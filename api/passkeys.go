package api

import (
	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/api/wire"
	"github.com/countersign-dev/countersign/internal/subject/passkey"
	"github.com/countersign-dev/countersign/internal/transport/request"
	"github.com/countersign-dev/countersign/models"
)

// passkeyHandlers handles the passkeys of subjects.
type passkeyHandlers struct {
	Passkeys *passkey.Service
}

func viewPasskey(p models.Passkey) wire.Passkey {
	return wire.Passkey{
		PasskeySummary: summarisePasskey(p), AAGUID: passkey.AAGUID(p), BackupEligible: p.BackupEligible, BackedUp: p.BackupState,
		Transports: nonNil(p.Transports), RPID: p.RPID, RevokedAt: (*wire.Time)(p.RevokedAt),
	}
}

func (h *passkeyHandlers) grant(c *fiber.Ctx) error {
	g, err := h.Passkeys.Grant(request.Context(c), request.Principal(c), c.Params("subject_id"))
	if err != nil {
		return err
	}
	return c.Status(fiber.StatusCreated).JSON(wire.PasskeyRegistrationGrant{Token: g.Token, ExpiresAt: wire.Time(g.ExpiresAt)})
}

func (h *passkeyHandlers) options(c *fiber.Ctx) error {
	body, err := bind[wire.PasskeyRegistrationOptionsRequest](c)
	if err != nil {
		return err
	}
	options, err := h.Passkeys.Options(request.Context(c), request.Principal(c), c.Params("subject_id"), body.RegistrationGrant, body.RPID)
	if err != nil {
		return err
	}
	return c.Status(fiber.StatusOK).JSON(map[string]any{"publicKey": options})
}

func (h *passkeyHandlers) complete(c *fiber.Ctx) error {
	body, err := bind[wire.PasskeyRegistrationComplete](c)
	if err != nil {
		return err
	}
	p, err := h.Passkeys.Complete(request.Context(c), request.Principal(c), c.Params("subject_id"), body.RegistrationGrant, body.Credential)
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
	return c.Status(fiber.StatusOK).JSON(wire.RelatedOrigins{Origins: found})
}

func sendRegistered(c *fiber.Ctx, p models.Passkey, err error) error {
	if err != nil {
		return err
	}
	return c.Status(fiber.StatusCreated).JSON(wire.PasskeyRegistered{ID: p.ID, CreatedAt: wire.Time(p.CreatedAt)})
}

func (h *passkeyHandlers) list(c *fiber.Ctx) error {
	rows, next, err := h.Passkeys.List(request.Context(c), request.Principal(c).Store(), c.Params("subject_id"), page(c))
	return replyList(c, viewPasskey, rows, next, err)
}

func (h *passkeyHandlers) revoke(c *fiber.Ctx) error {
	return replyNothing(c, h.Passkeys.Revoke(request.Context(c), request.Principal(c), c.Params("subject_id"), c.Params("passkey_id")))
}
