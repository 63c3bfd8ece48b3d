package api

import (
	"fmt"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/api/wire"
	"github.com/countersign-dev/countersign/internal/authz/signing"
	"github.com/countersign-dev/countersign/internal/platform/canonical"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/transport/request"
)

// proofHandlers handles proofs and the keys that verify them.
type proofHandlers struct{ Proofs *signing.Service }

// keys returns the JSON Web Key Set. Its max-age is at most the time for which a key is published before its first use.
func (h *proofHandlers) keys(c *fiber.Ctx) error {
	set, err := h.Proofs.Published(request.Context(c), c.Query("issuer"))
	if err != nil {
		return err
	}
	c.Set(fiber.HeaderCacheControl, fmt.Sprintf("public, max-age=%d", int(set.MaxAge.Seconds())))
	c.Set(fiber.HeaderETag, set.ETag)
	if c.Fresh() { // also handles lists and weak tags in If-None-Match
		return c.SendStatus(fiber.StatusNotModified)
	}
	return sendRaw(c, fiber.StatusOK, set.Body)
}

func (h *proofHandlers) status(c *fiber.Ctx) error {
	s, err := h.Proofs.Status(request.Context(c), request.Principal(c).Store(), c.Params("jti"))
	if err != nil {
		return err
	}
	return c.Status(fiber.StatusOK).JSON(wire.ProofStatus{
		JTI: s.JTI, Status: string(s.Status), ExpiresAt: (*wire.Time)(s.ExpiresAt), RevokedAt: (*wire.Time)(s.RevokedAt),
	})
}

func (h *proofHandlers) verify(c *fiber.Ctx) error {
	in, err := bind[wire.ProofVerifyRequest](c)
	if err != nil {
		return err
	}
	q := signing.Question{
		Proof: in.Proof, Audience: in.Audience, Action: in.Action, Nonce: in.Nonce, Subject: in.Subject, Consume: in.Consume,
	}
	if in.Resource != nil {
		q.ResourceType, q.ResourceID = in.Resource.Type, in.Resource.ID
	}
	if in.Context != nil { // {} is the context of a request without one; an omitted one is not checked
		if q.ContextDigest, err = canonical.ContextDigest(in.Context); err != nil {
			return problem.Invalid([]any{"body", "context"}, "The context has no canonical form: "+err.Error(), "value_error")
		}
	}
	v, err := h.Proofs.Verify(request.Context(c), request.Principal(c), q)
	if err != nil {
		return err
	}
	if v.ReasonCodes == nil {
		v.ReasonCodes = []string{}
	}
	return c.Status(fiber.StatusOK).JSON(v)
}
