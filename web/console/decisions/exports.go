package decisions

import (
	"context"

	"github.com/countersign-dev/countersign/internal/delivery/listexport"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/web/console/exports"
	"github.com/countersign-dev/countersign/web/console/shell"
)

func (c *Pages) decisionsExport(v *shell.Visit) (listexport.List, error) {
	f := searchOf(v)
	filter, fault := f.filter()
	if fault != "" {
		return listexport.List{}, problem.New(problem.BadRequest, fault)
	}
	decided, err := c.listOf(v, f, filter)
	if err != nil {
		return listexport.List{}, err
	}
	var said exports.Said
	said.Value("q", f.Q)
	said.Value("action", f.Action)
	said.Value("decision", f.Decision, decisionWords...)
	said.Value("mode", f.Mode, modeWords...)
	said.Value("review", f.Review, ReviewWords...)
	said.Time("since", filter.Since)
	said.Time("until", filter.Until)
	return listexport.List{
		Name: "decisions", Filters: said,
		Columns: []string{"id", "decided_at", "requested_at", "decision", "mode", "subject", "action", "reason_codes", "coverage", "policy_version", "review_status",
			"reviewed_at", "reviewed_by", "outcome", "outcome_reported_at", "parent", "latency_ms"},
		Source: func(ctx context.Context, cursor string) ([][]any, string, error) {
			rows, next, err := decided.page(ctx, pg.Page{Limit: listexport.Batch, After: cursor})
			out := make([][]any, len(rows))
			for i, t := range rows {
				out[i] = []any{t.ID, t.DecidedAt, t.RequestedAt, string(t.Decision), string(t.Mode), t.Subject, t.Action, t.ReasonCodes, coverageOf(t), t.PolicyVersion,
					t.ReviewStatus, t.ReviewedAt, t.ReviewedBy, t.Outcome, t.OutcomeReportedAt, t.Parent, t.LatencyMS}
			}
			return out, next, err
		},
	}, nil
}
