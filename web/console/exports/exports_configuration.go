package exports

import (
	"context"

	"github.com/countersign-dev/countersign/internal/delivery/listexport"
	"github.com/countersign-dev/countersign/internal/platform/pg"
)

// Paged makes a source of a list that is read by page. A row without values is left out.
func Paged[T any](list func(ctx context.Context, p pg.Page) ([]T, string, error), row func(T) []any) listexport.Source {
	return func(ctx context.Context, cursor string) ([][]any, string, error) {
		rows, next, err := list(ctx, pg.Page{Limit: listexport.Batch, After: cursor})
		out := make([][]any, 0, len(rows))
		for _, r := range rows {
			if values := row(r); values != nil {
				out = append(out, values)
			}
		}
		return out, next, err
	}
}
