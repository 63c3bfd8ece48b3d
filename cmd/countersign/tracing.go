package main

import (
	"context"
	"strconv"

	"go.opentelemetry.io/otel/trace"

	"github.com/countersign-dev/countersign/internal/platform/tracing"
)

// traces are the settings of tracing, which is off unless an endpoint is named.
func (s *settings) traces() []setting {
	return []setting{
		{"traces-endpoint", "COUNTERSIGN_TRACES_ENDPOINT", "", "OpenTelemetry collector (OTLP over HTTP) that gets traces, such as http://collector:4318", &s.tracesEndpoint},
		{"traces-ratio", "COUNTERSIGN_TRACES_RATIO", "1", "share of the traces begun here that is sent, 0 to 1", &s.tracesRatio},
	}
}

func (s *settings) startTracing(ctx context.Context) (trace.TracerProvider, func(), error) {
	ratio, err := strconv.ParseFloat(s.tracesRatio, 64)
	if s.tracesRatio == "" {
		ratio, err = 1, nil
	}
	if err != nil {
		return nil, nil, usage("COUNTERSIGN_TRACES_RATIO is %q: want a number from 0 to 1", s.tracesRatio)
	}
	provider, stop, err := tracing.Start(ctx, tracing.Options{Endpoint: s.tracesEndpoint, Ratio: ratio, Service: "countersign-" + s.role, Version: version})
	if err != nil {
		return nil, nil, usage("COUNTERSIGN_TRACES_ENDPOINT: %v", err)
	}
	return provider, stop, nil
}
