package reviews

import (
	"cmp"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/internal/authz/authorization"
	"github.com/countersign-dev/countersign/internal/authz/display"
	"github.com/countersign-dev/countersign/internal/authz/hold"
	"github.com/countersign-dev/countersign/internal/delivery/consolequery"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/web/console/decisions"
	"github.com/countersign-dev/countersign/web/console/shell"
	"github.com/countersign-dev/countersign/web/console/show"
)

// relatedRow is an earlier case that shares values with the open one: its tags name them.
type relatedRow struct {
	URL, Text, Amount, Outcome string
	Tags                       []string
	Result                     show.Tag
	At                         *show.Stamp
}

// relatedLimit is the number of related cases.
const relatedLimit = 2 * hold.RelatedLimit

// related returns the last cases of the subject, and those of the same payee or account, as one list, newest first: a case that shares several
// values is one row.
func (c *Pages) related(v *shell.Visit, seen decisions.CaseView) ([]relatedRow, error) {
	rows := map[string]*relatedRow{}
	add := func(id, tag string, row relatedRow) {
		if rows[id] == nil {
			rows[id] = &row
		}
		if !slices.Contains(rows[id].Tags, tag) {
			rows[id].Tags = append(rows[id].Tags, tag)
		}
	}
	now, t := show.Stamps{Now: c.Clock.Now()}, seen.Case.Trace
	shared, err := c.Holds.Related(v.Context, v.Scope(), t.ID, seen.Case.Outline)
	if err != nil {
		return nil, err
	}
	for _, d := range shared {
		for _, h := range d.Holds {
			at := now.At(h.OpenedAt)
			add(h.Authorization, "same "+strings.ToLower(d.Label), relatedRow{URL: v.At("reviews", h.Authorization), Text: cmp.Or(h.Title, h.Subject), Amount: h.Amount,
				Outcome: show.Plain(h.Outcome), Result: show.TagOf(string(h.Status)), At: &at})
		}
	}
	if err := c.ofSubject(v, seen, add); err != nil {
		return nil, err
	}
	out := make([]relatedRow, 0, len(rows))
	for _, row := range rows {
		out = append(out, *row)
	}
	slices.SortFunc(out, func(a, b relatedRow) int {
		if a.At == nil || b.At == nil {
			return cmp.Compare(a.URL, b.URL)
		}
		return cmp.Or(b.At.Compare(a.At.Time), cmp.Compare(a.URL, b.URL))
	})
	return out[:min(len(out), relatedLimit)], nil
}

// ofSubject adds the last cases of the subject but those of the open case.
func (c *Pages) ofSubject(v *shell.Visit, seen decisions.CaseView, add func(id, tag string, row relatedRow)) error {
	now, t := show.Stamps{Now: c.Clock.Now()}, seen.Case.Trace
	if t.Subject == "" {
		return nil
	}
	rows, _, err := c.Authorizations.List(v.Context, v.Scope(), authorization.TraceFilter{Subject: t.Subject}, pg.Page{Limit: hold.RelatedLimit + len(seen.Case.Chain)})
	if err != nil {
		return err
	}
	for _, r := range rows {
		if slices.ContainsFunc(seen.Case.Chain, func(l consolequery.ChainLink) bool { return l.ID == r.ID }) {
			continue
		}
		row := relatedRow{URL: v.At("decisions", r.ID), Text: r.Action, Result: show.TagOf(string(r.Decision)), At: now.Text(r.DecidedAt)}
		if r.Display != nil {
			outline := display.Outlined(r.Display.Details)
			row.Text, row.Amount = cmp.Or(outline.Title, r.Action), outline.Amount
		}
		if r.ReviewStatus != nil {
			row.URL, row.Result = v.At("reviews", r.ID), show.TagOf(*r.ReviewStatus)
		}
		if r.Outcome != nil {
			row.Outcome = show.Plain(*r.Outcome)
		}
		add(r.ID, "same subject", row)
	}
	return nil
}
