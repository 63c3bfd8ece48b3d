package reviews

import (
	"context"

	"github.com/countersign-dev/countersign/internal/authz/hold"
	"github.com/countersign-dev/countersign/internal/delivery/listexport"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/web/console/exports"
	"github.com/countersign-dev/countersign/web/console/shell"
)

// reviewsExport is the queue. It leaves out the details that requests show: they stay sealed.
func (c *Pages) reviewsExport(v *shell.Visit) (listexport.List, error) {
	f, by := filterOf(v), v.Principal()
	filter, err := c.holds(v, f)
	if err != nil {
		return listexport.List{}, err
	}
	var said exports.Said
	said.Value("status", f.Status, viewWords...)
	said.Value("risk", f.Risk, riskWords...)
	said.Value("sort", f.Sort, byDue, byOpened, byAmount)
	said.Value("action", f.Action)
	said.Value("q", f.Text)
	if f.Mine {
		said = append(said, "mine")
	}
	read := func(ctx context.Context, cursor string) ([]hold.Queued, string, error) {
		return c.Holds.Queue(ctx, by, filter, pg.Page{Limit: listexport.Batch, After: cursor})
	}
	if f.searches() {
		read = func(ctx context.Context, _ string) ([]hold.Queued, string, error) {
			rows, complete, err := c.Holds.Search(ctx, by, filter, f.search())
			if err == nil && !complete {
				err = problem.Newf(problem.BadRequest, "This filter has more than %d holds, of which a search or an order by amount reads no more. Narrow it by action or risk.", hold.SearchLimit)
			}
			return rows, "", err
		}
	}
	exported := fields.exported()
	return listexport.List{
		Name: "reviews", Filters: said, Columns: exported.columns(),
		Source: func(ctx context.Context, cursor string) ([][]any, string, error) {
			rows, next, err := read(ctx, cursor)
			out := make([][]any, len(rows))
			for i, r := range rows {
				out[i] = exported.values(r)
			}
			return out, next, err
		},
	}, nil
}
