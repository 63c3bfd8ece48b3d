package main

import (
	"context"

	"go.opentelemetry.io/otel/trace"

	"github.com/countersign-dev/countersign/cmd/countersign/wiring"
	"github.com/countersign-dev/countersign/internal/platform/tracing"
)

// startTracing starts the tracer of this process. The caller runs flush before the process ends, which sends the last spans.
func (s *settings) startTracing(ctx context.Context) (provider trace.TracerProvider, flush func(), err error) {
	provider, flush, err = tracing.Start(ctx, tracing.Options{Endpoint: s.tracesEndpoint, Ratio: s.tracesRatio, Service: "countersign-" + s.role, Version: version})
	if err != nil {
		return nil, nil, usage("COUNTERSIGN_TRACES_ENDPOINT: %v", err)
	}
	return provider, flush, nil
}

// startMetrics sends the metrics of this process to the collector. The caller runs flush before the process ends, which sends the last values.
func (s *settings) startMetrics(ctx context.Context, p *wiring.Process) (flush func(), err error) {
	flush, err = tracing.StartMetrics(ctx, tracing.MetricOptions{Endpoint: s.metricsEndpoint, Service: "countersign-" + s.role, Version: version, Metrics: p.Ops.Registry})
	if err != nil {
		return nil, usage("COUNTERSIGN_METRICS_ENDPOINT: %v", err)
	}
	return flush, nil
}
