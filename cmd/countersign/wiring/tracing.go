package wiring

import (
	"github.com/exaring/otelpgx"
	"github.com/jackc/pgx/v5"
	"go.opentelemetry.io/otel/trace"

	"github.com/countersign-dev/countersign/internal/platform/tracing"
)

// statementTracer makes a span of every statement, without its parameters. It is nil if tracing is off.
func statementTracer(provider trace.TracerProvider) pgx.QueryTracer {
	if tracing.Off(provider) {
		return nil
	}
	return otelpgx.NewTracer(otelpgx.WithTracerProvider(provider), otelpgx.WithDisableConnectionDetailsInAttributes())
}
