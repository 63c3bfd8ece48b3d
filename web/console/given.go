package console

import (
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/authz/hold"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/transport/request"
	"github.com/countersign-dev/countersign/models"
)

// givenView is a review that the user gave and can undo, or several that they gave together, or one whose result they have to read.
type givenView struct {
	notice
	Title, URL string   // of the hold; empty for several
	Holds      []string // of the form
	Undo       string   // URL of the form; empty while the review is being made
	At         string   // when it is made
	Left       int      // seconds until then
	Late       string   // until when the service tries to make it; empty unless that has failed
	Result     bool     // there is nothing to undo any more
}

// lateAfter is how long a worker needs at most to make a review, unless it fails.
const lateAfter = 5 * time.Second

// givenWords name a review that was given.
var givenWords = map[string]string{hold.Approve: "Approved", hold.Reject: "Rejected"}

// given returns the reviews that the user gave and that wait or have a result that they did not expect, newest first.
func (c *console) given(v *visit) ([]givenView, error) {
	rows, err := c.Holds.Given(v.ctx, v.principal())
	if err != nil {
		return nil, err
	}
	var out []givenView
	for len(rows) > 0 {
		n := 1
		for n < len(rows) && together(rows[0], rows[n]) {
			n++
		}
		line, err := c.givenLine(v, rows[:n])
		if err != nil {
			return nil, err
		}
		out, rows = append(out, line), rows[n:]
	}
	return out, nil
}

// together reports whether two reviews are undone as one.
func together(a, b models.GivenReview) bool {
	return a.RequestID == b.RequestID && a.Remark == nil && b.Remark == nil && (a.TakenAt == nil) == (b.TakenAt == nil)
}

// givenLine describes reviews that were given together.
func (c *console) givenLine(v *visit, rows []models.GivenReview) (givenView, error) {
	first := rows[0]
	line := givenView{notice: notice{"good", givenWords[first.Resolution]}, At: first.DueAt.UTC().Format("15:04:05 UTC"), Result: first.Remark != nil}
	line.Left = max(0, int(math.Ceil(first.DueAt.Sub(c.Clock.Now()).Seconds())))
	for _, r := range rows {
		line.Holds = append(line.Holds, r.AuthorizationID)
	}
	if first.TakenAt != nil && c.Clock.Now().Sub(*first.TakenAt) > lateAfter {
		line.Late = first.DueAt.Add(hold.GivenLife).UTC().Format("15:04 UTC")
	}
	if v.may(Review) && (first.TakenAt == nil || line.Result) {
		line.Undo = v.at("reviews", "undo") + v.deskFilter().suffix()
	}
	if len(rows) > 1 {
		line.Text += " " + itoa(len(rows)) + " holds"
		return line, nil
	}
	if line.Undo != "" && !line.Result {
		line.Undo = v.at("reviews", first.AuthorizationID, "undo") + v.deskFilter().suffix()
	}
	seen, err := c.caseOf(v, first.AuthorizationID)
	if err != nil {
		return line, err
	}
	line.Title, line.URL = strings.TrimSpace(seen.Title()+" "+seen.Case.Outline.Amount), v.at("reviews", first.AuthorizationID)+v.deskFilter().suffix()
	switch {
	case first.Remark == nil:
	case *first.Remark == "":
		line.notice = flash(seen, 0)
	default:
		line.notice = notice{"warn", "Your review was not made. " + *first.Remark}
	}
	return line, nil
}

// ofHold returns the line of a hold; nil if there is none.
func ofHold(lines []givenView, id string) *givenView {
	if n := slices.IndexFunc(lines, func(l givenView) bool { return slices.Contains(l.Holds, id) }); n >= 0 {
		return &lines[n]
	}
	return nil
}

// undo takes back the reviews of the form that are not made yet. The page of the only one has its note again.
func (c *console) undo(v *visit) error {
	id, chosen := v.param("id"), v.all("hold")
	if id != "" {
		chosen = []string{id}
	}
	if len(chosen) == 0 || len(chosen) > deskPage {
		return problem.Newf(problem.BadRequest, "Name 1 to %d holds.", deskPage)
	}
	undone, err := c.Holds.Undo(v.ctx, v.principal(), chosen...)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(undone, func(u hold.Undone) bool { return u.Remark != nil }) {
		return v.Redirect(v.at("reviews")+v.deskFilter().suffix(), fiber.StatusSeeOther)
	}
	status, n := fiber.StatusOK, undoneNotice(len(undone), len(chosen))
	if len(undone) == 0 {
		status = http.StatusConflict
		request.SetProblemCode(v.Ctx, problem.Conflict)
	}
	if id == "" {
		return c.showDesk(v, status, n)
	}
	note := ""
	if len(undone) > 0 {
		note = undone[0].Text
	}
	return c.showReview(v, status, n, note)
}

func undoneNotice(undone, of int) *notice {
	switch {
	case undone == 0 && of == 1:
		return &notice{"warn", "Too late to undo: your review is made."}
	case undone == 0:
		return &notice{"warn", "Too late to undo: your reviews are made."}
	case undone < of:
		return &notice{"warn", "Undone for " + itoa(undone) + " of " + itoa(of) + " holds. It was too late for the others."}
	case of == 1:
		return &notice{"good", "Undone: your review was not made."}
	default:
		return &notice{"good", "Undone: your " + itoa(of) + " reviews were not made."}
	}
}
