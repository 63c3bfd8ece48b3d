package wiring

import (
	"github.com/exaring/otelpgx"
	"github.com/jackc/pgx/v5"

	"github.com/countersign-dev/countersign/internal/platform/tracing"
)

// statementTracer makes a span of every statement, without its parameters, unless another tracer is set. It is nil if tracing is off.
func (s Settings) statementTracer() pgx.QueryTracer {
	if s.Statements != nil || tracing.Off(s.Tracing) {
		return s.Statements
	}
	return otelpgx.NewTracer(otelpgx.WithTracerProvider(s.Tracing), otelpgx.WithDisableConnectionDetailsInAttributes())
}
