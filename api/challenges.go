package api

import (
	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/api/wire"
	"github.com/countersign-dev/countersign/internal/authz/challenge"
	"github.com/countersign-dev/countersign/internal/transport/request"
)

// challengeHandlers handles challenges.
type challengeHandlers struct {
	Challenges *challenge.Service
	Resolver   *challenge.Resolver
}

func viewChallenge(v challenge.View) wire.ChallengePublicView {
	return wire.ChallengePublicView{
		ID: v.ID, Status: string(v.Status), Methods: v.Methods, ExpiresAt: wire.Time(v.ExpiresAt), Display: v.Display,
		ChildAuthorization: v.Child,
	}
}

func (h *challengeHandlers) get(c *fiber.Ctx) error {
	v, err := h.Challenges.Get(request.Context(c), request.Principal(c).Store(), c.Params("challenge_id"))
	return replyView(c, fiber.StatusOK, viewChallenge, v, err)
}

func (h *challengeHandlers) passkeyOptions(c *fiber.Ctx) error {
	body, err := bind[wire.PasskeyAssertionOptionsRequest](c)
	if err != nil {
		return err
	}
	options, err := h.Challenges.Options(request.Context(c), request.Principal(c).Store(), c.Params("challenge_id"), body.RPID)
	return reply(c, fiber.StatusOK, options, err)
}

func (h *challengeHandlers) complete(c *fiber.Ctx) error {
	body, err := bind[wire.ChallengeCompleteRequest](c)
	if err != nil {
		return err
	}
	receipt, err := h.Resolver.Complete(request.Context(c), request.Principal(c), c.Params("challenge_id"), body.Method, body.Assertion)
	return reply(c, fiber.StatusOK, receipt, err)
}

func (h *challengeHandlers) cancel(c *fiber.Ctx) error {
	id := c.Params("challenge_id")
	status, err := h.Resolver.Cancel(request.Context(c), request.Principal(c), id)
	if err != nil {
		return err
	}
	return c.Status(fiber.StatusOK).JSON(wire.ChallengeCancelled{ID: id, Status: string(status)})
}

func (h *challengeHandlers) link(c *fiber.Ctx) error {
	body, err := bind[wire.ChallengeLinkRequest](c)
	if err != nil {
		return err
	}
	l, err := h.Challenges.CreateLink(request.Context(c), request.Principal(c), c.Params("challenge_id"), challenge.LinkOptions{
		ReturnURL: body.ReturnURL, ForClient: body.For == "client",
	})
	if err != nil {
		return err
	}
	return c.Status(fiber.StatusCreated).JSON(wire.ChallengeLink{URL: l.URL, ExpiresAt: wire.Time(l.ExpiresAt)})
}
