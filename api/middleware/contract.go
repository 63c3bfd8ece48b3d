package middleware

import (
	"errors"
	"mime"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/api/openapi"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/platform/strictjson"
	"github.com/countersign-dev/countersign/internal/transport/request"
)

// MaxBody limits the body, in bytes, of every operation but those that take evidence frames. The largest legitimate one is a
// WebAuthn registration.
const MaxBody = 64 << 10

// Contract checks requests against the OpenAPI document. A violation is a problem that names the fields.
type Contract struct{ *openapi.Contract }

// Decode decodes the body of an operation and checks it.
func (k Contract) Decode(operation string, raw []byte, limits strictjson.Limits) (any, error) {
	value, err := strictjson.Decode(raw, limits)
	if err != nil {
		return nil, Malformed(err)
	}
	return value, k.Check(operation, value)
}

// Check checks the decoded body of an operation.
func (k Contract) Check(operation string, body any) error {
	return violations(k.ValidateBody(operation, body))
}

// Malformed maps an error of strictjson: a value out of range is a 422 that names the field, broken syntax a 400.
func Malformed(err error) error {
	var value *strictjson.ValueError
	if errors.As(err, &value) {
		return problem.Invalid(append([]any{"body"}, value.Loc...), value.Msg, value.Type)
	}
	return problem.New(problem.MalformedJSON, err.Error())
}

// violations returns a 422 with every violation; nil if there are none.
func violations(found []openapi.Violation) error {
	if len(found) == 0 {
		return nil
	}
	fields := make([]problem.Field, len(found))
	for i, v := range found {
		fields[i] = problem.Field(v)
	}
	return problem.InvalidFields(fields)
}

// bodyCheck checks the body of one route against the contract, cheapest check first: size, content type, JSON syntax, schema.
// A route without a body accepts an empty one or {}.
func (m *Chain) bodyCheck(r Route) fiber.Handler {
	limit := MaxBody
	if r.Frames {
		limit = m.config.MaxFrameBytes
	}
	op := m.operations[r.Operation]
	return func(c *fiber.Ctx) error {
		raw := request.Body(c)
		if len(raw) > limit {
			return problem.Newf(problem.BodyTooLarge, "The body has %d bytes; the limit is %d.", len(raw), limit)
		}
		if len(raw) == 0 {
			if op.BodyRequired {
				return problem.Invalid([]any{"body"}, "A body is required.", "missing")
			}
			return nil
		}
		if op.BodySchema == "" {
			return nil
		}
		if media := c.Request().Header.ContentType(); string(media) != fiber.MIMEApplicationJSON && !isJSON(string(media)) {
			return problem.New(problem.UnsupportedMedia, "Content-Type must be application/json.")
		}
		limits, spelling := strictjson.Limits{AnyFinite: r.Frames}, strictjson.Spelling{Name: r.Spelled}
		if r.Spelled != "" {
			limits.Spelling = &spelling
		}
		value, err := m.contract.Decode(r.Operation, raw, limits)
		request.SetDecoded(c, value, spelling.Text)
		return err
	}
}

// isJSON accepts application/json with no charset or utf-8.
func isJSON(contentType string) bool {
	media, params, err := mime.ParseMediaType(contentType)
	if err != nil || media != fiber.MIMEApplicationJSON {
		return false
	}
	charset, given := params["charset"]
	return !given || strings.EqualFold(charset, "utf-8")
}

// paramsCheck checks the path and query parameters of one route against the contract.
func (m *Chain) paramsCheck(r Route) fiber.Handler {
	names := r.params()
	_, known := m.operations[r.Operation]
	return func(c *fiber.Ctx) error {
		args := c.Context().QueryArgs()
		if !known || len(names) == 0 && args.Len() == 0 {
			return nil
		}
		path := make(map[string]string, len(names))
		for _, n := range names {
			path[n] = c.Params(n)
		}
		query := map[string][]string{}
		args.VisitAll(func(k, v []byte) {
			key := string(k)
			query[key] = append(query[key], string(v))
		})
		return violations(m.contract.ValidateParams(r.Operation, path, query))
	}
}
