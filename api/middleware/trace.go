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
	"go.opentelemetry.io/otel/trace"

	"github.com/countersign-dev/countersign/internal/platform/tracing"
)

// startSpan starts the span of a request as a child of the caller's traceparent and returns its trace id. With tracing off
// there is no span, and the trace id is the caller's or a new one.
func (m *Chain) startSpan(ctx context.Context, c *fiber.Ctx) (context.Context, trace.Span, string) {
	parent := c.Get("traceparent")
	if !validTraceparent(parent) {
		parent = "" // as if it were missing (W3C Trace Context, section 3.2.2)
	}
	if tracing.Off(m.deps.Tracing) {
		return ctx, trace.SpanFromContext(ctx), traceID(parent)
	}
	ctx, span := m.tracer.Start(tracing.Within(ctx, parent), "request", trace.WithSpanKind(trace.SpanKindServer))
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

// validTraceparent reports whether a traceparent header can be read by W3C Trace Context, section 3.2.2: a version that is not ff, a trace
// id and a parent id that are not zero, and flags. Version 00 ends there; what a later version appends begins with a hyphen.
func validTraceparent(header string) bool {
	const whole, version, traceEnd, parentEnd = len("00-") + 32 + len("-") + 16 + len("-00"), 2, 35, 52
	if len(header) < whole || header[version] != '-' || header[traceEnd] != '-' || header[parentEnd] != '-' {
		return false
	}
	for _, part := range []string{header[:version], header[version+1 : traceEnd], header[traceEnd+1 : parentEnd], header[parentEnd+1 : whole]} {
		if !isLowerHex(part) {
			return false
		}
	}
	if header[:version] == "ff" || strings.Trim(header[version+1:traceEnd], "0") == "" || strings.Trim(header[traceEnd+1:parentEnd], "0") == "" {
		return false
	}
	return len(header) == whole || header[:version] != "00" && header[whole] == '-'
}

// traceID returns the trace id of a valid traceparent header; a new one if it is empty.
func traceID(traceparent string) string {
	if traceparent != "" {
		return utils.CopyString(traceparent[len("00-") : len("00-")+32])
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
