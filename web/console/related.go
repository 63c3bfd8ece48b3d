package console

import (
	"cmp"
	"slices"

	"github.com/countersign-dev/countersign/internal/authz/authorization"
	"github.com/countersign-dev/countersign/internal/authz/hold"
	"github.com/countersign-dev/countersign/internal/delivery/consolequery"
	"github.com/countersign-dev/countersign/internal/platform/pg"
)

// related are earlier cases that share a value with the open one.
type related struct {
	Label, Value string
	Rows         []relatedRow
}

type relatedRow struct {
	URL, Text, Amount, Outcome string
	Result                     tag
	At                         *stamp
}

// related returns the last cases of the subject, and those of the same payee and account.
func (c *console) related(v *visit, seen caseView) ([]related, error) {
	var out []related
	now, t := stamps{c.Clock.Now()}, seen.Case.Trace
	if t.Subject != "" {
		rows, _, err := c.Authorizations.List(v.ctx, v.scope(), authorization.TraceFilter{Subject: t.Subject}, pg.Page{Limit: hold.RelatedLimit + len(seen.Case.Chain)})
		if err != nil {
			return nil, err
		}
		of := related{Label: "Subject", Value: t.Subject}
		for _, r := range rows {
			own := slices.ContainsFunc(seen.Case.Chain, func(l consolequery.ChainLink) bool { return l.ID == r.ID })
			if own || len(of.Rows) == hold.RelatedLimit {
				continue
			}
			row := relatedRow{URL: v.at("decisions", r.ID), Text: r.Action, Result: tagOf(string(r.Decision)), At: now.text(r.DecidedAt)}
			if r.ReviewStatus != nil {
				row.URL, row.Result = v.at("reviews", r.ID), tagOf(*r.ReviewStatus)
			}
			if r.Outcome != nil {
				row.Outcome = plain(*r.Outcome)
			}
			of.Rows = append(of.Rows, row)
		}
		if len(of.Rows) > 0 {
			out = append(out, of)
		}
	}
	shared, err := c.Holds.Related(v.ctx, v.scope(), t.ID, seen.Case.Outline)
	for _, d := range shared {
		of := related{Label: d.Label, Value: d.Value}
		for _, h := range d.Holds {
			at := now.at(h.OpenedAt)
			text := cmp.Or(h.Title, h.Subject)
			if text == d.Value {
				text = h.Subject
			}
			of.Rows = append(of.Rows, relatedRow{URL: v.at("reviews", h.Authorization), Text: text, Amount: h.Amount,
				Outcome: plain(h.Outcome), Result: tagOf(string(h.Status)), At: &at})
		}
		out = append(out, of)
	}
	return out, err
}
