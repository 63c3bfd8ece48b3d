package api

import (
	"context"
	"net/http"

	"github.com/gofiber/fiber/v2"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/countersign-dev/countersign/internal/platform/tracing"
)

// traced begins the span of a request and answers its trace id. The caller's traceparent is continued. With tracing off
// the caller's trace id is kept, or a fresh one made.
func (s *server) traced(ctx context.Context, c *fiber.Ctx) (context.Context, trace.Span, string) {
	parent := c.Get("traceparent")
	if tracing.Off(s.tracing) {
		return ctx, trace.SpanFromContext(ctx), traceID(parent)
	}
	ctx = tracing.Propagator.Extract(ctx, propagation.MapCarrier{"traceparent": parent})
	ctx, span := s.tracer.Start(ctx, "request", trace.WithSpanKind(trace.SpanKindServer))
	return ctx, span, span.SpanContext().TraceID().String()
}

// finish names the span by the operation and ends it. Paths, which may hold a subject's id, are not told.
func finish(span trace.Span, route, method, code string, status int) {
	if span.IsRecording() {
		if route != "" {
			span.SetName(route)
		}
		span.SetAttributes(attribute.String("http.request.method", method), attribute.Int("http.response.status_code", status))
		if code != "" {
			span.SetAttributes(attribute.String("error.type", code))
		}
		if status >= http.StatusInternalServerError {
			span.SetStatus(codes.Error, code)
		}
	}
	span.End()
}
