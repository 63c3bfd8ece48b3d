// Package afterreviews has the page of break-glasses, on which others say whether each was justified.
package afterreviews

import (
	"embed"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/authz/afterreview"
	reads "github.com/countersign-dev/countersign/internal/delivery/consolequery"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/transport/request"
	"github.com/countersign-dev/countersign/models"
	"github.com/countersign-dev/countersign/web/console/shell"
	"github.com/countersign-dev/countersign/web/console/show"
)

//go:embed all:templates
var templates embed.FS

// Pages is the page of after-reviews. The queue of reviews and the health page lead to it.
type Pages struct {
	*shell.Shell
	After  *afterreview.Service
	Reader *reads.Reader
}

// Record declares the page: its routes and template.
func (c *Pages) Record() shell.Record {
	return shell.Record{
		Templates: templates,
		Lines: []shell.Line{
			shell.See("/:environment/after-reviews", "after_reviews", shell.ReadDecisions, c.list),
			shell.Confirmed("/:environment/after-reviews/:id", "after_review_verdict", shell.Review, c.give),
		},
	}
}

// row is one break-glass.
type row struct {
	afterreview.View
	URL, Action string // of its hold; of the form, empty for one that the user does not review
	Who         show.Actor
	State       show.Tag
	Opened, Due *show.Stamp
	Verdicts    []verdict
}

type verdict struct {
	Who  show.Actor
	Text string
	Note *string
}

type listView struct {
	Rows   []row
	Next   string
	Notice *show.Notice
}

// states are the statuses in words.
var states = map[models.AfterReviewStatus]show.Tag{
	models.AfterReviewOpen: {Text: "open", Tone: "warn"}, models.AfterReviewJustified: {Text: "justified", Tone: "good"},
	models.AfterReviewNotJustified: {Text: "not justified", Tone: "bad"},
}

func (c *Pages) list(v *shell.Visit) error { return c.show(v, fiber.StatusOK, nil) }

func (c *Pages) show(v *shell.Visit, status int, n *show.Notice) error {
	views, next, err := c.After.List(v.Context, v.Scope(), "", pg.Page{Limit: shell.ListPage, After: v.Query("cursor")})
	if err != nil {
		return shell.CursorFault(err)
	}
	var actors []string
	for _, r := range views {
		actors = append(actors, r.BrokenBy)
		for _, g := range r.Verdicts {
			actors = append(actors, g.Reviewer)
		}
	}
	names, err := c.Reader.Names(v.Context, v.Principal().TenantID, actors)
	if err != nil {
		return err
	}
	view := listView{Notice: n}
	for _, r := range views {
		view.Rows = append(view.Rows, c.rowOf(v, r, names))
	}
	if next != "" {
		view.Next = v.At("after-reviews") + "?cursor=" + next
	}
	return v.Page(status, "after-reviews.html", "After-reviews", "reviews", view)
}

func (c *Pages) rowOf(v *shell.Visit, r afterreview.View, names map[string]string) row {
	now := show.Stamps{Now: c.Clock.Now()}
	out := row{
		View: r, URL: v.At("reviews", r.Authorization), Who: show.ActorOf(r.BrokenBy, names), State: states[models.AfterReviewStatus(r.Status)],
		Opened: now.Text(r.OpenedAt), Due: now.Text(r.DueAt),
	}
	if r.Overdue {
		out.State = show.Tag{Text: "overdue", Tone: "bad"}
	}
	own := r.BrokenBy == v.Principal().Actor()
	for _, g := range r.Verdicts {
		own = own || g.Reviewer == v.Principal().Actor()
		out.Verdicts = append(out.Verdicts, verdict{show.ActorOf(g.Reviewer, names), states[models.AfterReviewStatus(g.Verdict)].Text, g.Note})
	}
	if r.Status == string(models.AfterReviewOpen) && v.May(shell.Review) && !own {
		out.Action = v.At("after-reviews", r.Authorization)
	}
	return out
}

// give records the verdict of the form.
func (c *Pages) give(v *shell.Visit) error {
	said := models.AfterReviewStatus(v.Form("verdict"))
	if said != models.AfterReviewJustified && said != models.AfterReviewNotJustified {
		return problem.New(problem.BadRequest, "verdict must be justified or not_justified.")
	}
	_, err := c.After.Review(v.Context, v.Principal(), v.Param("id"), said, strings.TrimSpace(v.Form("note")))
	if p := problem.As(err); p != nil && p.Code != problem.NotFound {
		request.SetProblemCode(v.Ctx, p.Code)
		text := p.Detail
		if len(p.Fields) > 0 {
			text = show.Capital(p.Fields[0].Msg) + "."
		}
		return c.show(v, problem.Of(p.Code).Status, &show.Notice{Tone: "bad", Text: text})
	}
	if err != nil {
		return err
	}
	return v.Redirect(v.At("after-reviews"), fiber.StatusSeeOther)
}
