package console

import (
	"context"

	"github.com/countersign-dev/countersign/internal/authz/change"
	"github.com/countersign-dev/countersign/internal/authz/hold"
	"github.com/countersign-dev/countersign/internal/delivery/listexport"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
)

func (c *console) decisionsExport(v *visit) (listexport.List, error) {
	f, scope := v.searchForm(), v.scope()
	filter, fault := f.filter()
	if fault != "" {
		return listexport.List{}, problem.New(problem.BadRequest, fault)
	}
	var said exportFilters
	said.value("q", f.Q)
	said.value("action", f.Action)
	said.value("decision", f.Decision, decisionWords...)
	said.value("mode", f.Mode, modeWords...)
	said.value("review", f.Review, reviewWords...)
	said.time("since", filter.Since)
	said.time("until", filter.Until)
	return listexport.List{
		Name: "decisions", Filters: said,
		Columns: []string{"id", "decided_at", "requested_at", "decision", "mode", "subject", "action", "reason_codes", "coverage", "policy_version", "review_status",
			"reviewed_at", "reviewed_by", "outcome", "outcome_reported_at", "parent", "latency_ms"},
		Source: func(ctx context.Context, cursor string) ([][]any, string, error) {
			rows, next, err := c.Authorizations.List(ctx, scope, filter, pg.Page{Limit: listexport.Batch, After: cursor})
			out := make([][]any, len(rows))
			for i, t := range rows {
				out[i] = []any{t.ID, t.DecidedAt, t.RequestedAt, string(t.Decision), string(t.Mode), t.Subject, t.Action, t.ReasonCodes, coverageOf(t), t.PolicyVersion,
					t.ReviewStatus, t.ReviewedAt, t.ReviewedBy, t.Outcome, t.OutcomeReportedAt, t.Parent, t.LatencyMS}
			}
			return out, next, err
		},
	}, nil
}

// reviewsExport is the queue. It leaves out the details that requests show: they stay sealed.
func (c *console) reviewsExport(v *visit) (listexport.List, error) {
	f, by := v.deskFilter(), v.principal()
	filter, err := c.holds(v, f)
	if err != nil {
		return listexport.List{}, err
	}
	var said exportFilters
	said.value("status", f.Status, viewWords...)
	said.value("risk", f.Risk, riskWords...)
	said.value("sort", f.Sort, byDue, byOpened, byAmount)
	said.value("action", f.Action)
	said.value("q", f.Text)
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
	return listexport.List{
		Name: "reviews", Filters: said,
		Columns: []string{"id", "status", "due_at", "opened_at", "subject", "action", "action_name", "risk_class", "reason_codes", "approvals", "approvals_required",
			"own_resolution", "assigned_to"},
		Source: func(ctx context.Context, cursor string) ([][]any, string, error) {
			rows, next, err := read(ctx, cursor)
			out := make([][]any, len(rows))
			for i, r := range rows {
				out[i] = []any{r.AuthorizationID, string(r.Status), r.DueAt, r.OpenedAt, r.Subject, r.ActionKey, r.ActionName, r.RiskClass, []string(r.ReasonCodes),
					r.Approvals, r.ApprovalsRequired, r.OwnResolution, r.AssignedTo}
			}
			return out, next, err
		},
	}, nil
}

func (c *console) auditExport(v *visit) (listexport.List, error) {
	f, fault, err := v.auditFilter()
	if err != nil {
		return listexport.List{}, err
	}
	if fault != "" {
		return listexport.List{}, problem.New(problem.BadRequest, fault)
	}
	scope := v.scope()
	var said exportFilters
	said.value("actor", f.Actor)
	if _, known := events.Lookup(events.Type(f.Type)); known {
		said.value("type", f.Type, f.Type)
	} else {
		said.value("type", f.Type)
	}
	said.time("since", f.Since)
	said.time("until", f.Until)
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
	if a := actorOf(raw, names); a.Kind == "person" {
		return &a.Name
	}
	return nil
}

func (c *console) changesExport(v *visit) (listexport.List, error) {
	by := v.principal()
	return listexport.List{
		Name:    "changes",
		Columns: []string{"id", "change", "action", "status", "requested_by", "requested_at", "expires_at", "resolved_by", "resolved_at"},
		Source: func(ctx context.Context, cursor string) ([][]any, string, error) {
			rows, next, err := c.Changes.List(ctx, by, change.Filter{}, pg.Page{Limit: listexport.Batch, After: cursor})
			out := make([][]any, len(rows))
			for i, r := range rows {
				out[i] = []any{r.ID, whatChanges(r), r.Action, string(r.Status), r.ProposedBy, r.CreatedAt, r.ExpiresAt, r.ResolvedBy, r.ResolvedAt}
			}
			return out, next, err
		},
	}, nil
}
