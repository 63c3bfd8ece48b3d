package console

import (
	"cmp"
	"strings"
	"unicode/utf8"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/delivery/consolequery"
	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/models"
)

// foundGroup are the results of one kind.
type foundGroup struct {
	Label string
	Rows  []foundRow
	More  bool
}

type foundRow struct {
	URL, Text, Detail string
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
func (c *console) find(v *visit) error {
	view := findView{Text: v.query("q")}
	hits, short, err := c.Reader.Find(v.ctx, v.scope(), view.Text, func(p models.Permission) bool { return v.may(Right(p)) })
	if err != nil {
		return err
	}
	view.Short, view.Asked = short, view.Text != ""
	if err := c.findHolds(v, &view); err != nil {
		return err
	}
	for _, h := range hits {
		group := foundGroup{Label: findLabels[h.Kind], More: h.More}
		for _, f := range h.Found {
			group.Rows = append(group.Rows, v.foundRow(h.Kind, f))
		}
		view.Total += len(group.Rows)
		view.Groups = append(view.Groups, group)
		if len(h.Found) == 1 && h.Found[0].ID == strings.ToLower(view.Text) && v.query("typed") == "" {
			return v.Redirect(group.Rows[0].URL, fiber.StatusSeeOther)
		}
	}
	return v.page(fiber.StatusOK, "find.html", "Search", "", view)
}

// findHolds adds the holds that show the text: a payee, an amount, an account.
func (c *console) findHolds(v *visit, view *findView) error {
	if !v.may(SeeReviews) || utf8.RuneCountInString(view.Text) < consolequery.FindMin {
		return nil
	}
	found, more, err := c.Holds.Find(v.ctx, v.scope(), view.Text)
	if err != nil || len(found) == 0 {
		return err
	}
	group := foundGroup{Label: "Holds", More: more}
	for _, h := range found {
		detail := strings.TrimSpace(h.Amount + " " + string(h.Status))
		group.Rows = append(group.Rows, foundRow{URL: v.at("reviews", h.Authorization), Text: cmp.Or(h.Title, h.Subject), Detail: detail})
	}
	view.Groups, view.Total = append(view.Groups, group), view.Total+len(group.Rows)
	return nil
}

func (v *visit) foundRow(kind string, f consolequery.Found) foundRow {
	row := foundRow{URL: v.foundAt(kind, f), Text: f.ID, Detail: plain(f.Label)}
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
		row.Detail += ", version " + itoa(int(f.Number))
	case ids.Event:
		row.Text, row.Detail = "Entry "+itoa(int(f.Number)), f.Label
	}
	return row
}

// foundAt returns the URL of the page that shows a record.
func (v *visit) foundAt(kind string, f consolequery.Found) string {
	switch kind {
	case ids.Challenge, ids.Proof, ids.Authorization:
		return v.at("decisions", f.Target)
	case ids.Session, ids.Enrollment, ids.Subject:
		return v.at("subjects", f.Target)
	case ids.Event:
		return v.at("audit") + "?cursor=" + consolequery.AuditFrom(f.Number)
	case ids.PolicyVersion:
		return v.at("policies", f.Target, itoa(int(f.Number)))
	case ids.Action:
		return v.at("policies", f.Target)
	case ids.WebhookEndpoint:
		return v.at("webhooks", f.ID)
	case ids.Evaluation:
		return v.at("evaluations", f.ID)
	case ids.Change:
		return v.at("changes", f.ID)
	case ids.Person:
		if v.may(ChangePeople) && f.ID != v.session.Person.ID {
			return v.at("people", f.ID)
		}
		return v.at("people")
	default:
		return v.at("keys")
	}
}
