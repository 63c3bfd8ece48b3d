package api

import (
	"context"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/platform/problem"
)

// Pages registers what people open in a browser (package web). It is called once, after the chain's observation and before
// the API's own routes; what it registers is no part of the contract.
type Pages func(app *fiber.App)

// RequestContext carries the deadline and the trace of a request that the application observes.
func RequestContext(c *fiber.Ctx) context.Context { return requestContext(c) }

// RequestID is what the person may quote to support.
func RequestID(c *fiber.Ctx) string { return requestID(c) }

// TraceID is the trace that the request belongs to.
func TraceID(c *fiber.Ctx) string {
	id, _ := c.Locals(localTraceID).(string)
	return id
}

// NameRoute names the route for logs and metrics, which never see a path: a path may hold a ticket.
func NameRoute(c *fiber.Ctx, name string) { c.Locals(localRoute, name) }

// ProblemOf is the error as the API would answer it; what is no problem of the domain becomes one that tells nothing.
func ProblemOf(err error) *problem.Error { return toProblem(err) }

// NameProblem puts the code of an answered error into the request's log line.
func NameProblem(c *fiber.Ctx, p *problem.Error) { c.Locals(localCode, string(p.Code)) }
