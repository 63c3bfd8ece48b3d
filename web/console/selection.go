package console

import (
	"net/http"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/authz/hold"
	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/platform/strictjson"
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
}

type selectedRow struct {
	heldRow
	Result   *notice
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
// be on its page, so that one refusal changes nothing of the others.
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
	for i := range view.Rows {
		view.Rows[i].Result = c.settleOne(v, view, view.Rows[i])
	}
	view.Done = true
	return v.page(fiber.StatusOK, "selection.html", view.Verb, "reviews", view)
}

// settleOne reviews or takes one hold of the selection.
func (c *console) settleOne(v *visit, view selectionView, row selectedRow) *notice {
	var done hold.Reviewed
	var err error
	if view.Resolution == assignHolds {
		_, err = c.Holds.Take(v.ctx, v.principal(), row.ID, row.previous)
	} else {
		var note *string
		if view.Note != "" {
			note = &view.Note
		}
		done, err = c.Reviewer.Review(v.ctx, v.principal(), row.ID, view.Resolution, note)
	}
	if p := problem.As(err); p != nil {
		return refusedReview(p)
	}
	if err != nil {
		c.Log.ErrorContext(v.ctx, "review of a selection failed", "authorization", row.ID, "error", err.Error())
		return &notice{"bad", "The request failed. Open the hold to see its state."}
	}
	return resultOf(view.Resolution, done)
}

// resultOf says what became of one review.
func resultOf(resolution string, done hold.Reviewed) *notice {
	switch {
	case resolution == assignHolds:
		return &notice{"good", "Yours"}
	case done.Pending != nil && done.Pending.Approvals.Given == 0:
		return &notice{"good", "Accepted, being processed"}
	case done.Pending != nil:
		return &notice{"good", "Approved: " + itoa(done.Pending.Approvals.Given) + " of " + itoa(done.Pending.Approvals.Required)}
	case resolution == hold.Reject:
		return &notice{"good", "Rejected"}
	}
	var receipt struct {
		Decision struct {
			Decision policy.Effect `json:"decision"`
		} `json:"decision"`
	}
	if strictjson.Unmarshal(done.Receipt, &receipt) == nil && receipt.Decision.Decision != policy.Allow {
		return &notice{"warn", "Approved; the decision that followed is " + string(receipt.Decision.Decision)}
	}
	return &notice{"good", capital(string(models.HoldApproved))}
}
