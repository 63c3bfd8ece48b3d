package api

import (
	"encoding/json"
	"reflect"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/api/middleware"
	"github.com/countersign-dev/countersign/api/wire"
	"github.com/countersign-dev/countersign/internal/platform/apitime"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/platform/strictjson"
	"github.com/countersign-dev/countersign/internal/transport/request"
)

// The number of items on a page of a list.
const (
	defaultLimit = 50
	maxLimit     = 200
)

// bind decodes a body that the middleware has validated. It returns the contract's defaults if there is no body.
func bind[T any](c *fiber.Ctx) (T, error) {
	v := wire.New[T]()
	raw := request.Body(c)
	if len(raw) == 0 {
		return v, nil
	}
	if err := strictjson.CheckNames(request.Decoded(c), reflect.TypeFor[T]()); err != nil {
		return v, middleware.Malformed(err)
	}
	if json.Unmarshal(raw, &v) == nil {
		return v, nil
	}
	// JSON Schema accepts 1.0 and 1e0 as integers, encoding/json does not. Re-encoding the parsed body writes them as plain
	// integers; only bodies that contain one pay for the second pass.
	normalized := wire.New[T]()
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

// page returns the page of a list that a request asks for. The middleware has checked the limit; the query checks the cursor.
func page(c *fiber.Ctx) pg.Page {
	return pg.Page{Limit: c.QueryInt("limit", defaultLimit), After: c.Query("cursor")}
}

// queryTime returns the time of a query parameter; nil if it is missing. The middleware has refused every other text.
func queryTime(c *fiber.Ctx, name string) *time.Time {
	t, err := apitime.Parse(c.Query(name))
	if err != nil {
		return nil
	}
	return &t
}

// version returns the {version} of a path, which the middleware has checked.
func version(c *fiber.Ctx) int {
	n, _ := c.ParamsInt("version") // not a number only without the middleware; no version is 0
	return n
}
