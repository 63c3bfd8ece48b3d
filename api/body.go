package api

import (
	"errors"
	"mime"
	"strings"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/utils"

	"github.com/countersign-dev/countersign/api/openapi"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/platform/strictjson"
)

// maxBody caps every body but an evidence frame's; the largest legitimate one is a WebAuthn registration.
const maxBody = 64 << 10

// bodyCheck holds the body of one route against the contract, cheapest check first: size, content type, JSON text,
// schema. A route that takes no body takes an empty one or {}.
func (s *server) bodyCheck(r Route) fiber.Handler {
	limit := maxBody
	if r.Operation == "submitEvidence" || r.Operation == "legacyIngest" {
		limit = s.config.MaxFrameBytes
	}
	op := s.operations[r.Operation]
	return func(c *fiber.Ctx) error {
		raw := c.Body()
		if len(raw) > limit {
			return problem.Newf(problem.BodyTooLarge, "The body may have %d bytes and has %d.", limit, len(raw))
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
		if !isJSON(c.Get(fiber.HeaderContentType)) {
			return problem.New(problem.UnsupportedMedia, "Send the body as Content-Type: application/json.")
		}
		value, err := strictjson.Decode(raw, strictjson.Limits{AnyFinite: r.Operation == "submitEvidence" || r.Operation == "legacyIngest"})
		if err != nil {
			return malformed(err)
		}
		c.Locals(localBody, value)
		return violations(s.contract.ValidateBody(r.Operation, value))
	}
}

func isJSON(contentType string) bool {
	media, params, err := mime.ParseMediaType(contentType)
	if err != nil || media != fiber.MIMEApplicationJSON {
		return false
	}
	charset, given := params["charset"]
	return !given || strings.EqualFold(charset, "utf-8")
}

func malformed(err error) error {
	var value *strictjson.ValueError
	if errors.As(err, &value) {
		return problem.Invalid(append([]any{"body"}, value.Loc...), value.Msg, value.Type)
	}
	return problem.New(problem.MalformedJSON, err.Error())
}

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

// checkParams holds path and query against the contract.
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

// copied is a header's value that may outlive the request.
func copied(c *fiber.Ctx, header string) string { return utils.CopyString(c.Get(header)) }
