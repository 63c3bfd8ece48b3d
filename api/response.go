package api

import (
	"net/url"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/authz/change"
	"github.com/countersign-dev/countersign/internal/transport/request"
	"github.com/countersign-dev/countersign/models"
)

// The functions named reply end a handler with the result of a service: they send it, or return the error of the service.

func reply[T any](c *fiber.Ctx, status int, result T, err error) error {
	if err != nil {
		return err
	}
	return c.Status(status).JSON(result)
}

// replyView sends the contract's form of the result.
func replyView[T, V any](c *fiber.Ctx, status int, view func(T) V, result T, err error) error {
	if err != nil {
		return err
	}
	return c.Status(status).JSON(view(result))
}

// replyNothing sends no body.
func replyNothing(c *fiber.Ctx, err error) error {
	if err != nil {
		return err
	}
	return c.SendStatus(fiber.StatusNoContent)
}

// replyMade sends what was changed, or with 202 the change request that waits for a second approver.
func replyMade[T, V any](c *fiber.Ctx, status int, view func(T) V, made change.Made[T], err error) error {
	if err == nil && made.Requested != nil {
		return c.Status(fiber.StatusAccepted).JSON(viewChange(made.Requested))
	}
	return replyView(c, status, view, made.Applied, err)
}

// replyRemoved is replyMade for what is removed.
func replyRemoved[T any](c *fiber.Ctx, made change.Made[T], err error) error {
	if err == nil && made.Requested != nil {
		return c.Status(fiber.StatusAccepted).JSON(viewChange(made.Requested))
	}
	return replyNothing(c, err)
}

// replyList sends a JSON array. A non-empty next is the cursor of the following page and is sent as a Link header.
func replyList[R, V any](c *fiber.Ctx, view func(R) V, rows []R, next string, err error) error {
	if err != nil {
		return err
	}
	if next != "" {
		c.Set(fiber.HeaderLink, nextLink(c, next))
	}
	request.SetListed(c, len(rows))
	views := make([]V, len(rows))
	for i, r := range rows {
		views[i] = view(r)
	}
	return c.JSON(views)
}

// asStored is the view of values that already have the contract's form.
func asStored[T any](v T) T { return v }

// sendRaw writes a body that is JSON already.
func sendRaw(c *fiber.Ctx, status int, body []byte) error {
	c.Set(fiber.HeaderContentType, fiber.MIMEApplicationJSON)
	return c.Status(status).Send(body)
}

// nextLink returns the request's path and query with the cursor replaced, as a Link header (RFC 8288).
func nextLink(c *fiber.Ctx, cursor string) string {
	var b strings.Builder
	b.WriteString("<" + c.Path() + "?")
	c.Context().QueryArgs().VisitAll(func(k, v []byte) {
		if string(k) != "cursor" {
			b.WriteString(url.QueryEscape(string(k)) + "=" + url.QueryEscape(string(v)) + "&")
		}
	})
	b.WriteString("cursor=" + url.QueryEscape(cursor) + `>; rel="next"`)
	return b.String()
}

// nonNil returns an empty list for nil: the contract has no null lists.
func nonNil(s models.Strings) []string {
	if s == nil {
		return []string{}
	}
	return s
}
