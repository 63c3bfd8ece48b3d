package api

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/platform/apitime"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/platform/strictjson"
	"github.com/countersign-dev/countersign/internal/transport/request"
)

// The keys of the values that the chain passes to the handlers. Package request has those that web pages share.
const (
	localPrincipal = "principal"
	localBody      = "body"
	localSpelling  = "spelling"
	localListed    = "listed"
)

// The number of items on a page of a list.
const (
	defaultLimit = 50
	maxLimit     = 200
)

// principal returns the caller; the zero value on routes that need no credential.
func principal(c *fiber.Ctx) identity.Principal {
	p, _ := c.Locals(localPrincipal).(identity.Principal)
	return p
}

// param returns a path parameter, which may outlive the request: the application is immutable. The router has decoded it.
func param(c *fiber.Ctx, name string) string { return c.Params(name) }

// query returns a query parameter, which may outlive the request; empty if it is missing.
func query(c *fiber.Ctx, name string) string { return c.Query(name) }

// header returns a request header, which may outlive the request.
func header(c *fiber.Ctx, name string) string { return c.Get(name) }

// decoded returns the body as the chain has parsed and validated it; nil if there is none. Evidence, which is most of the
// traffic, is built from it so that it is parsed only once.
func decoded(c *fiber.Ctx) map[string]any {
	body, _ := c.Locals(localBody).(map[string]any)
	return body
}

// spelled returns the text of the field that the route names in Spelled; empty if it is missing.
func spelled(c *fiber.Ctx) string {
	if s, ok := c.Locals(localSpelling).(*strictjson.Spelling); ok {
		return s.Text
	}
	return ""
}

// bind decodes a body that the chain has validated. It returns the zero value if there is no body.
func bind[T any](c *fiber.Ctx) (T, error) {
	var v T
	raw := request.Body(c)
	if len(raw) == 0 {
		return v, nil
	}
	if err := strictjson.CheckNames(c.Locals(localBody), reflect.TypeFor[T]()); err != nil {
		return v, malformed(err)
	}
	if json.Unmarshal(raw, &v) == nil {
		return v, nil
	}
	// JSON Schema accepts 1.0 and 1e0 as integers, encoding/json does not. Re-encoding the parsed body writes them as plain
	// integers; only bodies that contain one pay for the second pass.
	var normalized T
	tree, err := strictjson.Decode(raw, strictjson.Limits{AnyFinite: true})
	if err == nil {
		raw, err = json.Marshal(tree)
	}
	if err == nil {
		err = json.Unmarshal(raw, &normalized)
	}
	if err != nil {
		return normalized, problem.Invalid([]any{"body"}, "The body does not match the contract.", "model_type")
	}
	return normalized, nil
}

// page reads the query parameters limit (1 to 200, default 50) and cursor.
func page(c *fiber.Ctx) (pg.Page, error) {
	p := pg.Page{Limit: defaultLimit, After: query(c, "cursor")}
	if s := query(c, "limit"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 || n > maxLimit {
			return p, problem.Invalid([]any{"query", "limit"}, "limit must be an integer from 1 to 200.", "int_range")
		}
		p.Limit = n
	}
	if p.After != "" {
		if _, _, err := pg.ParseCursor(p.After); err != nil {
			return p, err
		}
	}
	return p, nil
}

// timeQuery reads an RFC 3339 time from a query parameter; nil if it is missing.
func timeQuery(c *fiber.Ctx, name string) (*time.Time, error) {
	s := query(c, name)
	if s == "" {
		return nil, nil
	}
	t, err := apitime.Parse(s)
	if err != nil {
		return nil, problem.Invalid([]any{"query", name}, name+" "+err.Error()+".", "datetime_parsing")
	}
	return &t, nil
}

// bodyTime parses an optional RFC 3339 time of a body, truncated to the millisecond precision of responses.
func bodyTime(s *string, path ...any) (*time.Time, error) {
	if s == nil {
		return nil, nil
	}
	t, err := apitime.Parse(*s)
	if err != nil {
		return nil, problem.Invalid(append([]any{"body"}, path...), fmt.Sprintf("%v %v.", path[len(path)-1], err), "datetime_parsing")
	}
	t = t.Truncate(time.Millisecond)
	return &t, nil
}

// versionParam returns the {version} of a path. A value that cannot be a version number is not found.
func versionParam(c *fiber.Ctx) (int, error) {
	n, err := strconv.Atoi(param(c, "version"))
	if err != nil || n < 1 {
		return 0, problem.NotFoundBy("version")
	}
	return n, nil
}
