package console

import (
	"net/http"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/authz/hold"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// assignHolds is the choice of the form of a selection that takes the holds, beside approve and reject.
const assignHolds = "assign"

// selectionVerbs name the choices for a selection.
var selectionVerbs = map[string]string{hold.Approve: "Approve", hold.Reject: "Reject", assignHolds: "Assign to me"}

// selectionView is a selection of holds: the question before something is done with them, or what became of each.
type selectionView struct {
	Resolution, Verb string
	Rows             []selectedRow
	Gone             int // holds of the selection that are not pending any more
	Action           string
	Back             string
	Note             string
	MaxNote          int
	Notice           *notice
	Done             bool
	Given            []givenView
	Unsignable       bool // approvals that need a proof would be refused at present
	Again            int  // holds that can be sent again, because the service could not review them
}

type selectedRow struct {
	heldRow
	Result   *notice
	Again    bool
	previous string // the reviewer who has the hold; empty for none
}

// selected asks once more before something is done with the selected holds, and lists them.
func (c *console) selected(v *visit) error {
	view, err := c.selection(v)
	if err != nil {
		return err
	}
	if len(view.Rows) == 0 {
		return v.Redirect(view.Back, fiber.StatusSeeOther)
	}
	view.Unsignable = view.Resolution == hold.Approve && c.unsignable(v, models.ModeEnforce)
	return v.page(fiber.StatusOK, "selection.html", view.Verb, "reviews", view)
}

// selection reads the holds of the form.
func (c *console) selection(v *visit) (selectionView, error) {
	f, chosen := v.deskFilter(), v.all("hold")
	view := selectionView{
		Resolution: v.form("resolution"), Action: v.at("reviews", "settle") + f.suffix(), Back: v.at("reviews") + f.suffix(),
		Note: strings.TrimSpace(v.form("note")), MaxNote: maxNote,
	}
	view.Verb = selectionVerbs[view.Resolution]
	if view.Verb == "" || len(chosen) > deskPage {
		return view, problem.Newf(problem.BadRequest, "Select at most %d holds to approve, reject or assign.", deskPage)
	}
	if len(chosen) == 0 {
		return view, nil
	}
	rows, _, err := c.Holds.Queue(v.ctx, v.principal(), hold.Filter{Only: chosen, MostUrgent: true}, pg.Page{Limit: deskPage})
	for _, r := range rows {
		row := c.heldRow(v, r, f, "")
		row.Outside = !r.Approvable && view.Resolution == hold.Approve
		selected := selectedRow{heldRow: row}
		if r.AssignedTo != nil {
			selected.previous = *r.AssignedTo
		}
		view.Rows = append(view.Rows, selected)
	}
	view.Gone = len(chosen) - len(rows)
	return view, err
}

// settle does with each of the selected holds what the user has confirmed, and shows what became of it. Each is reviewed on its own, as it would
// be on its page, so that one refusal changes nothing of the others. The form is shown again for those that the service could not review.
func (c *console) settle(v *visit) error {
	view, err := c.selection(v)
	if err != nil {
		return err
	}
	if view.Notice, err = c.askAgain(v, view.Resolution, view.Note); err != nil {
		return err
	}
	if view.Notice != nil {
		return v.page(http.StatusUnprocessableEntity, "selection.html", view.Verb, "reviews", view)
	}
	if err := c.settleAll(v, &view); err != nil {
		return err
	}
	view.Done = true
	if view.Given, err = c.given(v); err != nil {
		return err
	}
	return v.page(fiber.StatusOK, "selection.html", view.Verb, "reviews", view)
}

// settleAll reviews or takes the holds of the selection, and sets the results.
func (c *console) settleAll(v *visit, view *selectionView) error {
	ids := make([]string, len(view.Rows))
	for i, row := range view.Rows {
		ids[i] = row.ID
	}
	given := make([]hold.Given, len(ids))
	var err error
	if view.Resolution == assignHolds {
		for i, row := range view.Rows {
			_, given[i].Err = c.Holds.Take(v.ctx, v.principal(), row.ID, row.previous)
		}
	} else if given, err = c.Holds.Give(v.ctx, v.principal(), view.Resolution, optional(view.Note), ids...); err != nil {
		return err
	}
	for i, g := range given {
		if g.Err != nil && problem.As(g.Err) == nil {
			c.Log.ErrorContext(v.ctx, "review of a selection failed", "authorization", ids[i], "error", g.Err.Error())
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
func resultOf(resolution string, g hold.Given) *notice {
	switch p := problem.As(g.Err); {
	case p != nil:
		return refusedReview(p)
	case g.Err != nil:
		return &notice{"bad", "The request failed. Open the hold to see its state."}
	case resolution == assignHolds:
		return &notice{"good", "Yours"}
	case g.Done.Pending != nil:
		return &notice{"good", "Approved: " + itoa(g.Done.Pending.Approvals.Given) + " of " + itoa(g.Done.Pending.Approvals.Required)}
	default:
		return &notice{"good", givenWords[resolution]}
	}
}
