package decisions

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/authz/authorization"
	"github.com/countersign-dev/countersign/internal/authz/display"
	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/platform/displaytext"
	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/strictjson"
	"github.com/countersign-dev/countersign/models"
	"github.com/countersign-dev/countersign/web/console/exports"
	"github.com/countersign-dev/countersign/web/console/filters"
	"github.com/countersign-dev/countersign/web/console/forms"
	"github.com/countersign-dev/countersign/web/console/shell"
	"github.com/countersign-dev/countersign/web/console/show"
)

// SearchForm is the search form of the decisions. Q is an id of an authorization, a subject's id or any text that a row shows.
type SearchForm struct {
	Q, Action, Decision, Mode, Review, Since, Until string
	Text                                            bool // Q is a text, also if it is a subject's id
}

// searchView is a list of decisions.
type searchView struct {
	Form      SearchForm
	Rows      []DecisionRow
	Next      string
	Absent    bool   // the search was for an authorization id that does not exist
	Subject   string // whose decisions the list has, because the search was for its id
	InText    string // URL of the same search among what requests show; empty unless Subject is set
	Read      int    // not 0 if a search ended before the last decision: how many it read
	Decisions []string
	Modes     []string
	Reviews   []string
	Fault     string
	Export    exports.Links
	Saved     filters.Saved
}

// DecisionRow is one decision in a list.
type DecisionRow struct {
	ID, URL, Subject, SubjectURL string
	Title, Amount                string // that the request shows; empty if it shows none
	Action                       string // its name
	Mode                         string // empty for decisions that are enforced
	Why                          string // the author's reasons, or otherwise the reason codes in words
	Decision                     show.Tag
	Decided                      *show.Stamp
	Altered                      bool   // it was changed outside of the service
	Outcome                      string // of the review, and what the relying party reported
	shown                        []display.Detail
}

const searchPage = 50

func (c *Pages) decisions(v *shell.Visit) error {
	view := searchView{
		Form: searchOf(v), Decisions: decisionWords, Modes: modeWords, Reviews: ReviewWords,
	}
	f := view.Form
	view.Export = exports.Of(v, f.fields(), "decisions")
	var err error
	if view.Saved, err = c.FilterPages.Of(v, "decisions", f.fields()); err != nil {
		return err
	}
	if ids.Has(ids.Authorization, f.Q) {
		if _, err := c.Authorizations.Get(v.Context, v.Scope(), f.Q); err == nil {
			return v.Back("decisions", f.Q)
		} else if !shell.IsAbsent(err) {
			return err
		}
		view.Absent = true
	}
	var filter authorization.TraceFilter
	if filter, view.Fault = f.filter(); view.Fault != "" || view.Absent {
		return v.Page(fiber.StatusOK, "decisions.html", "Decisions", "decisions", view)
	}
	list, err := c.listOf(v, f, filter)
	if err != nil {
		return err
	}
	rows, next, err := list.page(v.Context, pg.Page{Limit: searchPage, After: v.Query("cursor")})
	if err != nil {
		return shell.CursorFault(err)
	}
	if view.Subject = list.subject; view.Subject != "" {
		text := f
		text.Text = true
		view.InText = v.At("decisions") + "?" + text.Values("")
	}
	if view.Rows, err = c.DecisionRows(v, rows); err != nil {
		return err
	}
	if next != "" {
		view.Next = v.At("decisions") + "?" + f.Values(next)
		if list.searched && len(rows) < searchPage {
			view.Read = authorization.SearchLimit
		}
	}
	return v.Page(fiber.StatusOK, "decisions.html", "Decisions", "decisions", view)
}

// list reads the decisions of a search form, page by page.
type list struct {
	page     func(context.Context, pg.Page) ([]authorization.Trace, string, error)
	subject  string // whose id the form asks for
	searched bool
}

// listOf returns the decisions about a subject if the form asks for its id, and otherwise those that show its text.
func (c *Pages) listOf(v *shell.Visit, f SearchForm, filter authorization.TraceFilter) (list, error) {
	ctx, scope := v.Context, v.Scope()
	indexed := func(ctx context.Context, p pg.Page) ([]authorization.Trace, string, error) {
		return c.Authorizations.List(ctx, scope, filter, p)
	}
	if f.Q == "" {
		return list{page: indexed}, nil
	}
	if !f.Text {
		about, _, err := c.Authorizations.List(ctx, scope, authorization.TraceFilter{Subject: f.Q}, pg.Page{Limit: 1})
		if err != nil {
			return list{}, err
		}
		if len(about) > 0 {
			filter.Subject = f.Q
			return list{page: indexed, subject: f.Q}, nil
		}
	}
	names, err := c.Reader.ActionNames(ctx, scope)
	typed := displaytext.Type(f.Q)
	return list{searched: true, page: func(ctx context.Context, p pg.Page) ([]authorization.Trace, string, error) {
		return c.Authorizations.Search(ctx, scope, filter, func(t authorization.Trace) bool { return c.decisionRow(v, t, names).matches(t, typed) }, p)
	}}, err
}

// matches reports whether the row of a decision shows a text, or its request does.
func (row DecisionRow) matches(t authorization.Trace, text displaytext.Typed) bool {
	return text.Begins(row.Subject) || slices.ContainsFunc([]string{t.Action, row.Action, row.Why, row.Outcome}, text.In) ||
		slices.ContainsFunc(row.shown, func(d display.Detail) bool { return text.In(d.Value) })
}

// The values of the filters of decisions.
var (
	decisionWords = []string{"allow", "challenge", "hold", "deny"}
	modeWords     = []string{"enforce", "shadow", "test"}
	ReviewWords   = []string{"pending", "approved", "rejected", "expired", "withdrawn"}
)

func searchOf(v *shell.Visit) SearchForm {
	return SearchForm{
		Q: strings.TrimSpace(v.Query("q")), Action: v.Query("action"), Decision: v.Query("decision"), Mode: v.Query("mode"), Review: v.Query("review"),
		Since: v.Query("since"), Until: v.Query("until"), Text: v.Query("in") == "text",
	}
}

// filter returns the filter of the form but for its text. A fault is a message for the user.
func (f SearchForm) filter() (out authorization.TraceFilter, fault string) {
	out = authorization.TraceFilter{Action: f.Action, Decision: f.Decision, Mode: f.Mode, ReviewStatus: models.HoldStatus(f.Review)}
	out.Since, out.Until, fault = forms.Window(f.Since, f.Until)
	return out, fault
}

// Values returns the query of the form, with a cursor unless it is empty.
func (f SearchForm) Values(cursor string) string {
	q := f.fields()
	if cursor != "" {
		q.Set("cursor", cursor)
	}
	return q.Encode()
}

// fields returns the fields that are not empty.
func (f SearchForm) fields() url.Values {
	q := shell.NonEmpty(map[string]string{"q": f.Q, "action": f.Action, "decision": f.Decision, "mode": f.Mode, "review": f.Review, "since": f.Since, "until": f.Until})
	if f.Text {
		q.Set("in", "text")
	}
	return q
}

// DecisionRows returns decisions as the rows of a list.
func (c *Pages) DecisionRows(v *shell.Visit, decided []authorization.Trace) ([]DecisionRow, error) {
	names, err := c.Reader.ActionNames(v.Context, v.Scope())
	if err != nil {
		return nil, err
	}
	var rows []DecisionRow
	for _, t := range decided {
		rows = append(rows, c.decisionRow(v, t, names))
	}
	return rows, nil
}

// decisionRow returns a decision as a row. names are those of the actions by their keys.
func (c *Pages) decisionRow(v *shell.Visit, t authorization.Trace, names map[string]string) DecisionRow {
	row := DecisionRow{
		ID: t.ID, URL: v.At("decisions", t.ID), Subject: t.Subject, Action: cmp.Or(names[t.Action], t.Action), Why: whyDecided(t), Altered: t.Altered,
		Decision: show.TagOf(string(t.Decision)), Decided: show.Stamps{Now: c.Clock.Now()}.Text(t.DecidedAt),
	}
	if t.Mode != models.ModeEnforce {
		row.Mode = string(t.Mode)
	}
	if t.Display != nil {
		row.shown = t.Display.Details
		outline := display.Outlined(row.shown)
		row.Title, row.Amount = outline.Title, outline.Amount
	}
	if t.Subject != "" {
		row.SubjectURL = v.At("subjects", t.Subject)
	}
	var became []string
	if t.ReviewStatus != nil {
		became = append(became, show.Plain(*t.ReviewStatus))
	}
	if t.Outcome != nil && (t.ReviewStatus == nil || *t.Outcome != "manually_rejected") {
		became = append(became, show.Plain(*t.Outcome))
	}
	row.Outcome = strings.Join(became, ", ")
	return row
}

// whyDecided says in one line why a decision was made: in the words of the policy's author if rules applied.
func whyDecided(t authorization.Trace) string {
	var results []policy.RequirementResult
	if strictjson.Unmarshal(t.Explanation, &results) != nil {
		return WhyOf(t.ReasonCodes)
	}
	var reasons []string
	for _, s := range unmetOf(results, t.Decision).Stated {
		reasons = append(reasons, s.Reason)
	}
	return cmp.Or(strings.Join(reasons, " "), WhyOf(t.ReasonCodes))
}
