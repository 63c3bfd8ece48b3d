package search

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/authz/authorization"
	"github.com/countersign-dev/countersign/internal/authz/display"
	"github.com/countersign-dev/countersign/internal/delivery/consolequery"
	"github.com/countersign-dev/countersign/internal/platform/displaytext"
	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
	"github.com/countersign-dev/countersign/web/console/shell"
	"github.com/countersign-dev/countersign/web/console/show"
)

// foundGroup are the results of one kind.
type foundGroup struct {
	Label string
	Rows  []foundRow
	More  bool
}

type foundRow struct {
	URL, Text, Detail string
	At                *show.Stamp // of a decision or hold: two may show the same
}

// findView is the page of the search of everything.
type findView struct {
	Text   string
	Groups []foundGroup
	Total  int
	Short  bool // the text is too little of an id
	Asked  bool // a text was searched for
}

// findLabels name the kinds of results.
var findLabels = map[string]string{
	ids.Authorization: "Decisions", ids.Challenge: "Challenges", ids.Proof: "Proofs", ids.Session: "Sessions", ids.Enrollment: "Enrollments",
	ids.Subject: "Subjects", ids.Action: "Actions", ids.PolicyVersion: "Policy versions", ids.WebhookEndpoint: "Webhook endpoints", ids.Credential: "API keys",
	ids.Evaluation: "Evaluations", ids.Change: "Changes", ids.Person: "People", ids.Event: "Audit log",
}

// find searches the environment for one text. A complete id opens the page of its record at once, unless the results are shown
// while the user types.
func (c *Pages) find(v *shell.Visit) error {
	view := findView{Text: v.Query("q")}
	hits, short, err := c.Reader.Find(v.Context, v.Scope(), view.Text, func(p models.Permission) bool { return v.May(shell.Right(p)) })
	if err != nil {
		return err
	}
	view.Short, view.Asked = short, view.Text != ""
	if err := c.findShown(v, &view); err != nil {
		return err
	}
	for _, h := range hits {
		group := foundGroup{Label: findLabels[h.Kind], More: h.More}
		for _, f := range h.Found {
			group.Rows = append(group.Rows, rowOf(v, h.Kind, f))
		}
		view.Total += len(group.Rows)
		view.Groups = append(view.Groups, group)
		if len(h.Found) == 1 && h.Found[0].ID == strings.ToLower(view.Text) && v.Query("typed") == "" {
			return v.Redirect(group.Rows[0].URL, fiber.StatusSeeOther)
		}
	}
	return v.Page(fiber.StatusOK, "find.html", "Search", "", view)
}

// findShown adds the decisions whose request shows the text: a payee, an amount, an account. Holds lead to their review.
func (c *Pages) findShown(v *shell.Visit, view *findView) error {
	typed := displaytext.Type(view.Text)
	if !v.May(shell.ReadDecisions) || utf8.RuneCountInString(view.Text) < consolequery.FindMin || typed.Empty() {
		return nil
	}
	held, more, err := c.Holds.Find(v.Context, v.Scope(), view.Text)
	if err != nil {
		return err
	}
	holds, others := foundGroup{Label: "Holds", More: more}, foundGroup{Label: "Decisions"}
	stamps := show.Stamps{Now: c.Clock.Now()}
	for _, h := range held {
		detail := strings.TrimSpace(h.Amount + " " + string(h.Status))
		holds.Rows = append(holds.Rows, foundRow{URL: v.At("reviews", h.Authorization), Text: cmp.Or(h.Title, h.Subject), Detail: detail, At: stamps.Maybe(&h.OpenedAt)})
	}
	if v.Query("typed") != "" { // at each key, and a decision takes longer to open than a hold
		view.add(holds)
		return nil
	}
	decided, next, err := c.Authorizations.Search(v.Context, v.Scope(), authorization.TraceFilter{}, func(t authorization.Trace) bool {
		return t.ReviewStatus == nil && t.Display != nil && slices.ContainsFunc(t.Display.Details, func(d display.Detail) bool { return typed.In(d.Value) })
	}, pg.Page{Limit: consolequery.FindLimit})
	if err != nil {
		return err
	}
	for _, t := range decided {
		shown := display.Outlined(t.Display.Details)
		others.Rows = append(others.Rows, foundRow{URL: v.At("decisions", t.ID), Text: cmp.Or(shown.Title, t.Subject), Detail: strings.TrimSpace(shown.Amount + " " + string(t.Decision)),
			At: stamps.Text(t.DecidedAt)})
	}
	others.More = next != "" && len(decided) == consolequery.FindLimit
	view.add(holds, others)
	return nil
}

// add adds the groups that have results.
func (view *findView) add(groups ...foundGroup) {
	for _, g := range groups {
		if len(g.Rows) > 0 {
			view.Groups, view.Total = append(view.Groups, g), view.Total+len(g.Rows)
		}
	}
}

func rowOf(v *shell.Visit, kind string, f consolequery.Found) foundRow {
	row := foundRow{URL: foundAt(v, kind, f), Text: f.ID, Detail: show.Plain(f.Label)}
	switch kind {
	case ids.Subject, ids.Action, ids.Person, ids.WebhookEndpoint, ids.Evaluation, ids.Credential:
		row.Text, row.Detail = f.Label, f.ID
	case ids.Authorization, ids.PolicyVersion:
		row.Detail = f.Label
	case ids.Session, ids.Enrollment:
		row.Detail = f.Target
	}
	switch kind {
	case ids.Subject:
		row.Detail = "" // the internal id
	case ids.PolicyVersion:
		row.Detail += ", version " + strconv.Itoa(int(f.Number))
	case ids.Event:
		row.Text, row.Detail = "Entry "+strconv.Itoa(int(f.Number)), f.Label
	}
	return row
}

// foundAt returns the URL of the page that shows a record.
func foundAt(v *shell.Visit, kind string, f consolequery.Found) string {
	switch kind {
	case ids.Challenge, ids.Proof, ids.Authorization:
		return v.At("decisions", f.Target)
	case ids.Session, ids.Enrollment, ids.Subject:
		return v.At("subjects", f.Target)
	case ids.Event:
		return v.At("audit") + "?cursor=" + consolequery.AuditFrom(f.Number)
	case ids.PolicyVersion:
		return v.At("policies", f.Target, strconv.Itoa(int(f.Number)))
	case ids.Action:
		return v.At("policies", f.Target)
	case ids.WebhookEndpoint:
		return v.At("webhooks", f.ID)
	case ids.Evaluation:
		return v.At("evaluations", f.ID)
	case ids.Change:
		return v.At("changes", f.ID)
	case ids.Person:
		if v.May(shell.ManageCredentials) && f.ID != v.Session.Person.ID {
			return v.At("people", f.ID)
		}
		return v.At("people")
	default:
		return v.At("keys")
	}
}
