// Package tracing exports traces and metrics to an OpenTelemetry collector if the operator configures one. The HTTP server, the store and
// the Temporal client create the spans with its tracer provider; the metrics are those that Prometheus reads.
//
// No span may contain the body of a request, a parameter of a statement or other personal data; names, codes and the text of
// statements are sufficient.
package tracing

import (
	"context"
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
	at, err := signalURL("traces", o.Endpoint)
	if err != nil {
		return nil, nil, err
	}
	if !(o.Ratio >= 0 && o.Ratio <= 1) { // also refuses NaN
		return nil, nil, fmt.Errorf("the ratio of traces must be between 0 and 1, not %v", o.Ratio)
	}
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(at))
	if err != nil {
		return nil, nil, err
	}
	p := sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(exporter),
		sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(o.Ratio))),
		sdktrace.WithResource(resourceOf(o.Service, o.Version)),
	)
	return p, func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushWithin)
		defer cancel()
		_ = p.Shutdown(ctx) // spans that cannot be sent are dropped
	}, nil
}

// signalURL returns where a collector takes traces or metrics (OTLP, "OTLP/HTTP Request").
func signalURL(signal, endpoint string) (string, error) {
	u, err := url.Parse(endpoint)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return "", fmt.Errorf("the endpoint of %s must be an http or https URL such as http://collector:4318", signal)
	}
	return u.JoinPath("v1", signal).String(), nil
}

// resourceOf names the process.
func resourceOf(service, version string) *resource.Resource {
	return resource.NewSchemaless(attribute.String("service.name", service), attribute.String("service.version", version))
}

// Parent returns the traceparent of the current span, or "" if its trace is not exported.
func Parent(ctx context.Context) string {
	if !trace.SpanContextFromContext(ctx).IsSampled() {
		return ""
	}
	carrier := propagation.MapCarrier{}
	Propagator.Inject(ctx, carrier)
	return carrier["traceparent"]
}

// Within returns a context whose spans are children of a traceparent; ctx if it is empty.
func Within(ctx context.Context, parent string) context.Context {
	return Propagator.Extract(ctx, propagation.MapCarrier{"traceparent": parent})
}

// Tracer returns the tracer of a part of the service, such as api, which creates no spans if the provider is off.
func Tracer(provider trace.TracerProvider, part string) trace.Tracer {
	if Off(provider) {
		return noop.Tracer{}
	}
	return provider.Tracer("github.com/countersign-dev/countersign/" + part)
}

// Off reports whether the provider creates no spans.
func Off(provider trace.TracerProvider) bool {
	_, off := provider.(noop.TracerProvider)
	return provider == nil || off
}
