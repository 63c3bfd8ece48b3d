// Package tracing exports traces to an OpenTelemetry collector if the operator configures one. The HTTP server, the store and
// the Temporal client create the spans with its tracer provider.
//
// No span may contain the body of a request, a parameter of a statement or other personal data; names, codes and the text of
// statements are sufficient.
package tracing

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// Propagator reads and writes traceparent (W3C Trace Context). Baggage is not propagated: it could contain personal data.
var Propagator propagation.TextMapPropagator = propagation.TraceContext{}

// Options configure the export of traces.
type Options struct {
	// OTLP over HTTP, such as http://collector:4318; empty: tracing is off.
	Endpoint string
	// Share of traces started here that is exported, 0 to 1; the caller's sampling decision takes precedence.
	Ratio float64
	// Countersign-api, countersign-worker.
	Service string
	Version string // of the build
}

// flushWithin limits how long unsent spans may delay the end of a process.
const flushWithin = 3 * time.Second

// Start returns the tracer provider and a function that flushes the remaining spans. Without an endpoint the provider is a no-op.
// If the collector is unreachable, spans are lost and requests are not affected.
func Start(ctx context.Context, o Options) (provider trace.TracerProvider, stop func(), err error) {
	if o.Endpoint == "" {
		return noop.NewTracerProvider(), func() {}, nil
	}
	u, err := url.Parse(o.Endpoint)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return nil, nil, errors.New("the endpoint of traces must be an http or https URL such as http://collector:4318")
	}
	if !(o.Ratio >= 0 && o.Ratio <= 1) { // also refuses NaN
		return nil, nil, fmt.Errorf("the ratio of traces must be between 0 and 1, not %v", o.Ratio)
	}
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(u.JoinPath("v1", "traces").String()))
	if err != nil {
		return nil, nil, err
	}
	p := sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(exporter),
		sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(o.Ratio))),
		sdktrace.WithResource(resource.NewSchemaless(
			attribute.String("service.name", o.Service), attribute.String("service.version", o.Version))),
	)
	return p, func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushWithin)
		defer cancel()
		_ = p.Shutdown(ctx) // spans that cannot be sent are dropped
	}, nil
}

// Off reports whether the provider creates no spans.
func Off(provider trace.TracerProvider) bool {
	_, off := provider.(noop.TracerProvider)
	return provider == nil || off
}
