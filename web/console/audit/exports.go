package audit

import (
	"context"
	"slices"

	"github.com/countersign-dev/countersign/internal/delivery/listexport"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/web/console/exports"
	"github.com/countersign-dev/countersign/web/console/shell"
	"github.com/countersign-dev/countersign/web/console/show"
)

func (c *Pages) auditExport(v *shell.Visit) (listexport.List, error) {
	f, fault, err := c.auditFilter(v)
	if err != nil {
		return listexport.List{}, err
	}
	if fault != "" {
		return listexport.List{}, problem.New(problem.BadRequest, fault)
	}
	scope := v.Scope()
	var said exports.Said
	said.Value("actor", f.Actor)
	if kind := v.Query("type"); slices.Contains(f.Types, kind) {
		said.Value("type", kind, kind)
	} else {
		said.Value("type", kind)
	}
	said.Time("since", f.Since)
	said.Time("until", f.Until)
	return listexport.List{
		Name: "audit", Filters: said,
		Columns: []string{"number", "at", "type", "actor", "actor_name", "authorization", "action", "decision", "event", "request_id", "sealed_at", "erased"},
		Source: func(ctx context.Context, cursor string) ([][]any, string, error) {
			links, _, next, err := c.Reader.AuditEntries(ctx, scope, f, pg.Page{Limit: listexport.Batch, After: cursor})
			if err != nil {
				return nil, "", err
			}
			names, err := c.Reader.Names(ctx, scope.Tenant, actorsOf(links))
			out := make([][]any, len(links))
			for i, l := range links {
				e := l.Event
				out[i] = []any{l.Seq, e.At, e.Type, e.Actor, nameOf(e.Actor, names), e.AuthorizationID, e.Action, e.Decision, e.ID, e.RequestID, l.SealedAt, e.ErasedAt != nil}
			}
			return out, next, err
		},
	}, nil
}

// nameOf is the name of a member of staff; nil for other actors.
func nameOf(raw string, names map[string]string) *string {
	if a := show.ActorOf(raw, names); a.Kind == "person" {
		return &a.Name
	}
	return nil
}
