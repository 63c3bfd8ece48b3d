package middleware

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"net/http"
	"strings"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/utils"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/countersign-dev/countersign/internal/platform/tracing"
)

// startSpan starts the span of a request as a child of the caller's traceparent and returns its trace id. With tracing off
// there is no span, and the trace id is the caller's or a new one.
func (m *Chain) startSpan(ctx context.Context, c *fiber.Ctx) (context.Context, trace.Span, string) {
	parent := c.Get("traceparent")
	if tracing.Off(m.deps.Tracing) {
		return ctx, trace.SpanFromContext(ctx), traceID(parent)
	}
	ctx = tracing.Propagator.Extract(ctx, propagation.MapCarrier{"traceparent": parent})
	ctx, span := m.tracer.Start(ctx, "request", trace.WithSpanKind(trace.SpanKindServer))
	return ctx, span, span.SpanContext().TraceID().String()
}

// endSpan names the span by the operation and ends it. The path is not recorded: it may contain a subject's id.
func endSpan(span trace.Span, route, method, code string, status int) {
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

// traceID returns the trace id of a W3C traceparent header; a new one if the header is missing or invalid.
func traceID(traceparent string) string {
	if traceparent != "" {
		parts := strings.Split(traceparent, "-")
		if len(parts) == 4 && len(parts[1]) == 32 && isLowerHex(parts[1]) && strings.Trim(parts[1], "0") != "" {
			return utils.CopyString(parts[1])
		}
	}
	var b [16]byte
	_, _ = rand.Read(b[:]) // never returns an error
	var digits [2 * len(b)]byte
	hex.Encode(digits[:], b[:])
	return string(digits[:])
}

func isLowerHex(s string) bool {
	for i := range len(s) {
		c := s[i]
		if hex := c >= '0' && c <= '9' || c >= 'a' && c <= 'f'; !hex {
			return false
		}
	}
	return true
}
