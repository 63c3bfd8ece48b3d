package pg

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/countersign-dev/countersign/internal/platform/tracing"
)

// queueTrace sets the trace that a transaction is part of, which the rows that it adds to the outbox store by default, so that the trace
// goes on when their work is done. It adds no statement unless the trace is exported.
func queueTrace(ctx context.Context, b *pgx.Batch) {
	if parent := tracing.Parent(ctx); parent != "" {
		b.Queue("select set_config('countersign.trace', $1, true)", parent)
	}
}
