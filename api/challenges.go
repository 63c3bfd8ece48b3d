package api

import (
	"encoding/json"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/authz/challenge"
	"github.com/countersign-dev/countersign/internal/platform/apitime"
	"github.com/countersign-dev/countersign/internal/transport/request"
)

// challengeHandlers handles challenges.
type challengeHandlers struct {
	Challenges *challenge.Service
	Resolver   *challenge.Resolver
}

type challengeView struct {
	ID        string          `json:"id"`
	Status    string          `json:"status"`
	Methods   []string        `json:"methods"`
	ExpiresAt string          `json:"expires_at"`
	Display   json.RawMessage `json:"display"`
	Child     *string         `json:"child_authorization"`
}

func viewChallenge(v challenge.View) challengeView {
	return challengeView{
		ID: v.ID, Status: string(v.Status), Methods: v.Methods, ExpiresAt: apitime.Time(v.ExpiresAt), Display: v.Display,
		Child: v.Child,
	}
}

func (h *challengeHandlers) get(c *fiber.Ctx) error {
	v, err := h.Challenges.Get(request.Context(c), request.Principal(c).Store(), c.Params("challenge_id"))
	return replyView(c, fiber.StatusOK, viewChallenge, v, err)
}

func (h *challengeHandlers) passkeyOptions(c *fiber.Ctx) error {
	body, err := bind[struct {
		RPID string `json:"rp_id"`
	}](c)
	if err != nil {
		return err
	}
	options, err := h.Challenges.Options(request.Context(c), request.Principal(c).Store(), c.Params("challenge_id"), body.RPID)
	return reply(c, fiber.StatusOK, options, err)
}

func (h *challengeHandlers) complete(c *fiber.Ctx) error {
	body, err := bind[struct {
		Method    string          `json:"method"`
		Assertion json.RawMessage `json:"assertion"`
	}](c)
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
	return c.Status(fiber.StatusOK).JSON(map[string]string{"id": id, "status": string(status)})
}

func (h *challengeHandlers) link(c *fiber.Ctx) error {
	body, err := bind[struct {
		ReturnURL string `json:"return_url"`
		For       string `json:"for"`
	}](c)
	if err != nil {
		return err
	}
	l, err := h.Challenges.CreateLink(request.Context(c), request.Principal(c), c.Params("challenge_id"), challenge.LinkOptions{
		ReturnURL: body.ReturnURL, ForClient: body.For == "client",
	})
	if err != nil {
		return err
	}
	return c.Status(fiber.StatusCreated).JSON(map[string]string{"url": l.URL, "expires_at": apitime.Time(l.ExpiresAt)})
}
