package api

import (
	"encoding/json"
	"net/url"
	"reflect"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/models"
)

// send writes v as JSON.
func send(c *fiber.Ctx, status int, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return sendRaw(c, status, body)
}

// sendRaw writes a body that is JSON already.
func sendRaw(c *fiber.Ctx, status int, body []byte) error {
	c.Set(fiber.HeaderContentType, fiber.MIMEApplicationJSON)
	return c.Status(status).Send(body)
}

// sendList writes a JSON array. A non-empty next is the cursor of the following page and is sent as a Link header.
func sendList(c *fiber.Ctx, items any, next string) error {
	if next != "" {
		c.Set(fiber.HeaderLink, nextLink(c, next))
	}
	c.Locals(localListed, reflect.ValueOf(items).Len())
	return send(c, fiber.StatusOK, items)
}

func sendViews[R, V any](c *fiber.Ctx, rows []R, view func(R) V, next string) error {
	views := make([]V, len(rows))
	for i, r := range rows {
		views[i] = view(r)
	}
	return sendList(c, views, next)
}

// counting has the records about people that the list of a route returned counted for the audit log.
func (s *server) counting(r Route, list fiber.Handler) fiber.Handler {
	return func(c *fiber.Ctx) error {
		err := list(c)
		if n, listed := c.Locals(localListed).(int); listed {
			s.tally.Read(principal(c), r.Operation, n)
		}
		return err
	}
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
