// Package tracing sends traces to an OpenTelemetry collector where the operator names one. It knows no domain: the HTTP
// face, the store and the Temporal client take the tracer provider and make the spans. No span may carry the content of
// a request, a parameter of a statement or anything else of a person; names, codes and statement texts are enough.
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

// Propagator reads and writes traceparent (W3C Trace Context). Baggage is not carried: it could hold anything.
var Propagator propagation.TextMapPropagator = propagation.TraceContext{}

// Options say where traces go.
type Options struct {
	Endpoint string  // OTLP over HTTP, such as http://collector:4318; empty: tracing is off
	Ratio    float64 // share of traces begun here that is sent, 0 to 1; a caller's own choice is kept
	Service  string  // countersign-api, countersign-worker
	Version  string  // of the build
}

// flushWithin bounds how long spans that wait to be sent may hold up the end of a process.
const flushWithin = 3 * time.Second

// Start makes the provider; stop sends what is left. With tracing off the provider makes nothing and costs nothing. An
// unreachable collector loses spans and disturbs nobody.
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
		_ = p.Shutdown(ctx) // what could not be sent is lost, and the collector's absence shows there
	}, nil
}

// Off reports whether provider makes nothing.
func Off(provider trace.TracerProvider) bool {
	_, off := provider.(noop.TracerProvider)
	return provider == nil || off
}
