package reviews

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/authz/hold"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
	"github.com/countersign-dev/countersign/web/console/shell"
	"github.com/countersign-dev/countersign/web/console/show"
)

// assignHolds is the choice of the form of a selection that takes the holds, beside approve and reject.
const assignHolds = "assign"

// selectionVerbs name the choices for a selection.
var selectionVerbs = map[string]string{hold.Approve: "Approve", hold.Reject: "Reject", assignHolds: "Assign to me"}

// selectionView is a selection of holds: the question before something is done with them, or what became of each.
type selectionView struct {
	Resolution, Verb string
	Columns          fieldSet
	Rows             []selectedRow
	Skipped          []selectedRow // holds that the user cannot approve or reject
	Differing        int           // rows that differ from the first
	Gone             int           // holds of the selection that are not pending any more
	Action           string
	Back             string
	Note             string
	MaxNote          int
	Notice           *show.Notice
	Done             bool
	Given            []givenView
	Unsignable       bool // approvals that need a proof would be refused at present
	Again            int  // holds that can be sent again, because the service could not review them
}

type selectedRow struct {
	heldRow
	Account  []comparedValue // payee's account and what else identifies the request
	Payer    comparedValue   // the subject
	Others   []comparedValue // further details that differ from those of the first hold
	Differs  bool
	Result   *show.Notice
	Again    bool
	previous string // the reviewer who has the hold; empty for none
}

// selected asks once more before something is done with the selected holds, and lists them.
func (c *Pages) selected(v *shell.Visit) error {
	view, err := c.selection(v)
	if err != nil {
		return err
	}
	if len(view.Rows)+len(view.Skipped) == 0 {
		return v.Redirect(view.Back, fiber.StatusSeeOther)
	}
	view.Unsignable = view.Resolution == hold.Approve && c.unsignable(v, models.ModeEnforce)
	return v.Page(fiber.StatusOK, "selection.html", view.Verb, "reviews", view)
}

// selection reads the holds of the form.
func (c *Pages) selection(v *shell.Visit) (selectionView, error) {
	f, chosen := filterOf(v), v.All("hold")
	view := selectionView{
		Resolution: v.Form("resolution"), Action: v.At("reviews", "settle") + f.suffix(), Back: v.At("reviews") + f.suffix(),
		Note: strings.TrimSpace(v.Form("note")), MaxNote: maxNote, Columns: fields.in(inSelection),
	}
	view.Verb = selectionVerbs[view.Resolution]
	if view.Verb == "" || len(chosen) > deskPage {
		return view, problem.Newf(problem.BadRequest, "Select at most %d holds to approve, reject or assign.", deskPage)
	}
	if len(chosen) == 0 {
		return view, nil
	}
	rows, _, err := c.Holds.Queue(v.Context, v.Principal(), hold.Filter{Only: chosen, MostUrgent: true}, pg.Page{Limit: deskPage})
	var first *hold.Queued
	for _, r := range rows {
		selected := selectedRow{heldRow: c.heldRow(v, r, f)}
		if r.AssignedTo != nil {
			selected.previous = *r.AssignedTo
		}
		if obstacle := r.Obstacle(); view.Resolution == hold.Approve && obstacle != "" || view.Resolution == hold.Reject && obstacle == hold.ObstacleSelf {
			selected.Unable = obstacles[obstacle]
			view.Skipped = append(view.Skipped, selected)
			continue
		}
		if first == nil {
			first = &r
		}
		selected.compare(*first, r)
		if selected.Differs {
			view.Differing++
		}
		selected.Cells = view.Columns.cells(selected.heldRow)
		view.Rows = append(view.Rows, selected)
	}
	view.Gone = len(chosen) - len(rows)
	return view, err
}

// settle does with each of the selected holds what the user has confirmed, and shows what became of it. Each is reviewed on its own, as it would
// be on its page, so that one refusal changes nothing of the others. The form is shown again for those that the service could not review.
func (c *Pages) settle(v *shell.Visit) error {
	view, err := c.selection(v)
	if err != nil {
		return err
	}
	if view.Notice, err = c.askAgain(v, view.Resolution, view.Note); err != nil {
		return err
	}
	if view.Notice != nil {
		return v.Page(http.StatusUnprocessableEntity, "selection.html", view.Verb, "reviews", view)
	}
	if err := c.settleAll(v, &view); err != nil {
		return err
	}
	view.Done, view.Columns = true, fields.in(inResult)
	for i, row := range view.Rows {
		view.Rows[i].Cells = view.Columns.cells(row.heldRow)
	}
	if view.Given, err = c.given(v); err != nil {
		return err
	}
	return v.Page(fiber.StatusOK, "selection.html", view.Verb, "reviews", view)
}

// settleAll reviews or takes the holds of the selection, and sets the results.
func (c *Pages) settleAll(v *shell.Visit, view *selectionView) error {
	ids := make([]string, len(view.Rows))
	for i, row := range view.Rows {
		ids[i] = row.AuthorizationID
	}
	given := make([]hold.Given, len(ids))
	var err error
	if view.Resolution == assignHolds {
		for i, row := range view.Rows {
			_, given[i].Err = c.Holds.Take(v.Context, v.Principal(), row.AuthorizationID, row.previous)
		}
	} else if given, err = c.Holds.Give(v.Context, v.Principal(), hold.Vote{Resolution: view.Resolution, Note: optional(view.Note)}, ids...); err != nil {
		return err
	}
	for i, g := range given {
		if g.Err != nil && problem.As(g.Err) == nil {
			c.Log.ErrorContext(v.Context, "review of a selection failed", "authorization", ids[i], "error", g.Err.Error())
		}
		view.Rows[i].Result = resultOf(view.Resolution, g)
		if problem.Is(g.Err, problem.Unavailable) {
			view.Rows[i].Again = true
			view.Again++
		}
	}
	return nil
}

// resultOf says what became of one hold of a selection.
func resultOf(resolution string, g hold.Given) *show.Notice {
	switch p := problem.As(g.Err); {
	case p != nil:
		return refusedReview(p)
	case g.Err != nil:
		return &show.Notice{Tone: "bad", Text: "The request failed. Open the hold to see its state."}
	case resolution == assignHolds:
		return &show.Notice{Tone: "good", Text: "Yours"}
	case g.Done.Pending != nil:
		return &show.Notice{Tone: "good", Text: "Approved: " + strconv.Itoa(g.Done.Pending.Approvals.Given) + " of " + strconv.Itoa(g.Done.Pending.Approvals.Required)}
	default:
		return &show.Notice{Tone: "good", Text: givenWords[resolution]}
	}
}
