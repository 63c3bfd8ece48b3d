package api

import (
	"context"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/utils"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/platform/store"
	"github.com/countersign-dev/countersign/internal/platform/strictjson"
)

// The keys of what the chain leaves for the handlers.
const (
	localPrincipal = "principal"
	localContext   = "context"
	localRequestID = "request_id"
	localTraceID   = "trace_id"
	localRoute     = "route"
	localBody      = "body"
)

// The size of a list's page.
const (
	defaultLimit = 50
	maxLimit     = 200
)

// principal is the caller; the zero value on routes that take no credential.
func principal(c *fiber.Ctx) identity.Principal {
	p, _ := c.Locals(localPrincipal).(identity.Principal)
	return p
}

// requestContext carries the request's deadline and trace. Fiber's own contexts know neither.
func requestContext(c *fiber.Ctx) context.Context {
	if ctx, ok := c.Locals(localContext).(context.Context); ok {
		return ctx
	}
	return context.Background()
}

// param is a path parameter, copied and decoded by the router.
func param(c *fiber.Ctx, name string) string { return utils.CopyString(c.Params(name)) }

// query is a query parameter, copied; empty where it is missing.
func query(c *fiber.Ctx, name string) string { return utils.CopyString(c.Query(name)) }

// decoded is the body as the chain has read it and held against the contract; nil where there is none. Evidence is built from
// it and not decoded again: it is most of what the service is sent.
func decoded(c *fiber.Ctx) map[string]any {
	body, _ := c.Locals(localBody).(map[string]any)
	return body
}

// bind decodes a body that the chain has already held against the contract. No body is the zero value.
func bind[T any](c *fiber.Ctx) (T, error) {
	var v T
	raw := c.Body()
	if len(raw) == 0 {
		return v, nil
	}
	if json.Unmarshal(raw, &v) == nil {
		return v, nil
	}
	// JSON Schema takes 1.0 and 1e0 for an integer, and encoding/json does not. Written plainly, they bind; only a body
	// that holds one pays for it.
	var again T
	tree, err := strictjson.Decode(raw, strictjson.Limits{AnyFinite: true})
	if err == nil {
		raw, err = json.Marshal(tree)
	}
	if err == nil {
		err = json.Unmarshal(raw, &again)
	}
	if err != nil {
		return again, problem.Invalid([]any{"body"}, "The body does not have the shape of the contract.", "model_type")
	}
	return again, nil
}

// page reads limit (1..200, default 50) and cursor.
func page(c *fiber.Ctx) (store.Page, error) {
	p := store.Page{Limit: defaultLimit, After: query(c, "cursor")}
	if s := query(c, "limit"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 || n > maxLimit {
			return p, problem.Invalid([]any{"query", "limit"}, "limit must be an integer from 1 to 200.", "int_range")
		}
		p.Limit = n
	}
	if p.After != "" {
		if _, _, err := store.ParseCursor(p.After); err != nil {
			return p, problem.Invalid([]any{"query", "cursor"}, "cursor is not one that this service gave out.", "cursor_invalid")
		}
	}
	return p, nil
}

// send answers v as JSON.
func send(c *fiber.Ctx, status int, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return sendRaw(c, status, body)
}

// sendRaw answers bytes that are JSON already.
func sendRaw(c *fiber.Ctx, status int, body []byte) error {
	c.Set(fiber.HeaderContentType, fiber.MIMEApplicationJSON)
	return c.Status(status).Send(body)
}

// sendList answers a plain array; next, where not empty, is the cursor of the page after and goes into Link.
func sendList(c *fiber.Ctx, items any, next string) error {
	if next != "" {
		c.Set(fiber.HeaderLink, nextLink(c, next))
	}
	return send(c, fiber.StatusOK, items)
}

// nextLink is the request's own path and query with the cursor replaced (RFC 8288).
func nextLink(c *fiber.Ctx, cursor string) string {
	var b strings.Builder
	b.WriteString("<" + c.Path() + "?")
	c.Context().QueryArgs().VisitAll(func(k, v []byte) {
		if string(k) != "cursor" {
			b.WriteString(escape(string(k)) + "=" + escape(string(v)) + "&")
		}
	})
	b.WriteString("cursor=" + escape(cursor) + `>; rel="next"`)
	return b.String()
}

func escape(s string) string { return url.QueryEscape(s) }
