package settle

import (
	"context"
	"errors"
	"slices"

	"github.com/countersign-dev/countersign/internal/platform/durable"
	"github.com/countersign-dev/countersign/internal/platform/problem"
)

// Resolution finds out what became of a move that was sent to the workflow of its record.
type Resolution[T any] struct {
	// Decides lists ambiguous refusals: the move may have succeeded and its result been lost, so read the record.
	Decides []problem.Code
	// Record reads the outcome from the record. It is the problem unavailable while the record waits, however late: a step that began in
	// time may still commit, unless the run of the workflow has closed.
	Record func(ctx context.Context, closed bool) (T, error)
	// Restart starts another run of the workflow.
	Restart func(ctx context.Context) error
}

// After returns the outcome of a move with this result. The record and not the workflow's refusal is returned. A record that waits although its
// run has closed was restored to a point before that: it receives a new run, which is as if none had been started yet, and the caller
// repeats the request.
func (r Resolution[T]) After(ctx context.Context, result error) (out T, err error) {
	decides := errors.Is(result, durable.ErrClosed) || slices.ContainsFunc(r.Decides, func(code problem.Code) bool { return problem.Is(result, code) })
	if result != nil && !decides {
		return out, result
	}
	closed := durable.HasClosed(result)
	out, err = r.Record(ctx, closed)
	if closed && problem.Is(err, problem.Unavailable) {
		if err := r.Restart(ctx); err != nil {
			return out, err
		}
	}
	return out, err
}
