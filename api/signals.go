package api

import (
	"errors"
	"log/slog"
	"net/http"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/api/middleware"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/subject/signal"
	"github.com/countersign-dev/countersign/internal/transport/request"
)

// signalHandlers takes security event tokens that identity providers push, with tokens of their own. Its contract is RFC 8935, not the OpenAPI document.
type signalHandlers struct {
	signals *signal.Service
	chain   *middleware.Chain
	log     *slog.Logger
}

// secEvent is the media type of a security event token (RFC 8417, section 2.3).
const secEvent = "application/secevent+jwt"

func (h *signalHandlers) mount(app *fiber.App) {
	app.Post(signal.Path+":stream", func(c *fiber.Ctx) error {
		request.SetRoute(c, "signals")
		if err := h.push(c); err != nil {
			return h.refuse(c, err)
		}
		c.Status(http.StatusAccepted) // without a body
		return nil
	})
}

func (h *signalHandlers) push(c *fiber.Ctx) error {
	ctx := request.Context(c)
	token, err := middleware.Bearer(c)
	if err != nil {
		return err
	}
	leave, err := h.chain.EnterOutside(ctx, "signals")
	if err != nil {
		return err
	}
	defer leave()
	of, err := h.signals.Authenticate(ctx, string(token))
	if err != nil {
		return err
	}
	if of.ID != c.Params("stream") {
		return problem.NewNotFound()
	}
	media, _, _ := strings.Cut(c.Get(fiber.HeaderContentType), ";")
	body := request.Body(c)
	switch {
	case !strings.EqualFold(strings.TrimSpace(media), secEvent):
		return &signal.Refusal{Code: signal.InvalidRequest, Description: "Content-Type must be " + secEvent + "."}
	case len(body) > signal.MaxToken:
		return &signal.Refusal{Code: signal.InvalidRequest, Description: "The token is longer than 65536 bytes."}
	}
	return h.signals.Push(ctx, of, string(body))
}

// refuse writes the response for an error in the form of RFC 8935, section 2.3.
func (h *signalHandlers) refuse(c *fiber.Ctx, err error) error {
	var refusal *signal.Refusal
	if errors.As(err, &refusal) {
		return c.Status(http.StatusBadRequest).JSON(fiber.Map{"err": refusal.Code, "description": refusal.Description})
	}
	p := request.ProblemOf(err)
	status, code := problem.Of(p.Code).Status, "access_denied"
	switch {
	case p.Code == problem.Unauthenticated:
		code = "authentication_failed"
		c.Set(fiber.HeaderWWWAuthenticate, `Bearer realm="countersign"`)
	case status >= http.StatusInternalServerError:
		code = signal.InvalidRequest
		h.log.LogAttrs(request.Context(c), slog.LevelError, "request failed",
			slog.String("request_id", request.ID(c)), slog.String("route", request.Route(c)), slog.String("error", err.Error()))
	}
	request.SetProblemCode(c, p.Code)
	request.SetRetryAfter(c, p)
	return c.Status(status).JSON(fiber.Map{"err": code, "description": p.Detail})
}
