package api

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

// maxBody limits the body, in bytes, of every operation but those that take evidence frames. The largest legitimate one is a
// WebAuthn registration.
const maxBody = 64 << 10

// bodyCheck checks the body of one route against the contract, cheapest check first: size, content type, JSON syntax, schema.
// A route without a body accepts an empty one or {}.
func (s *server) bodyCheck(r Route) fiber.Handler {
	limit := maxBody
	if r.Frames {
		limit = s.config.MaxFrameBytes
	}
	op := s.operations[r.Operation]
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
		var spelling *strictjson.Spelling
		if r.Spelled != "" {
			spelling = &strictjson.Spelling{Name: r.Spelled}
			c.Locals(localSpelling, spelling)
		}
		value, found, err := s.checkJSON(r, raw, spelling)
		if err != nil {
			return malformed(err)
		}
		c.Locals(localBody, value)
		return violations(found)
	}
}

// checkJSON decodes a body and validates it against the contract.
func (s *server) checkJSON(r Route, raw []byte, spelling *strictjson.Spelling) (value any, found []openapi.Violation, err error) {
	value, err = strictjson.Decode(raw, strictjson.Limits{AnyFinite: r.Frames, Spelling: spelling})
	if err != nil {
		return nil, nil, err
	}
	return value, s.contract.ValidateBody(r.Operation, value), nil
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

// malformed maps an error of strictjson: a value out of range is a 422 that names the field, broken syntax a 400.
func malformed(err error) error {
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

// checkParams checks the path and query parameters against the contract.
func (s *server) checkParams(c *fiber.Ctx, r Route) error {
	names := r.pathParams
	args := c.Context().QueryArgs()
	if len(names) == 0 && args.Len() == 0 {
		return nil
	}
	if _, known := s.operations[r.Operation]; !known {
		return nil
	}
	path := make(map[string]string, len(names))
	for _, n := range names {
		path[n] = param(c, n)
	}
	query := map[string][]string{}
	args.VisitAll(func(k, v []byte) {
		key := string(k)
		query[key] = append(query[key], string(v))
	})
	return violations(s.contract.ValidateParams(r.Operation, path, query))
}
