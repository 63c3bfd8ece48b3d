package reviews

import (
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/authz/hold"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/transport/request"
	"github.com/countersign-dev/countersign/models"
	"github.com/countersign-dev/countersign/web/console/shell"
	"github.com/countersign-dev/countersign/web/console/show"
)

// givenView is a review that the user gave and can undo, or several that they gave together, or one whose result they have to read.
type givenView struct {
	show.Notice
	Title, URL string   // of the hold; empty for several
	Holds      []string // of the form
	Undo       string   // URL of the form; empty while the review is being made
	At         string   // when it is made
	Left       int      // seconds until then
	Late       string   // until when the service tries to make it; empty unless that has failed
	Result     bool     // there is nothing to undo any more
}

// givenWords name a review that was given.
var givenWords = map[string]string{hold.Approve: "Approved", hold.Reject: "Rejected", hold.BreakGlass: "The glass is broken"}

// given returns the reviews that the user gave and that wait or have a result that they did not expect, newest first.
func (c *Pages) given(v *shell.Visit) ([]givenView, error) {
	rows, err := c.Holds.Given(v.Context, v.Principal())
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
func (c *Pages) givenLine(v *shell.Visit, rows []models.GivenReview) (givenView, error) {
	first := rows[0]
	line := givenView{Notice: show.Notice{Tone: "good", Text: givenWords[first.Resolution]}, At: first.DueAt.UTC().Format("15:04:05 UTC"), Result: first.Remark != nil}
	line.Left = max(0, int(math.Ceil(first.DueAt.Sub(c.Clock.Now()).Seconds())))
	for _, r := range rows {
		line.Holds = append(line.Holds, r.AuthorizationID)
	}
	if first.TakenAt != nil && c.Clock.Now().Sub(*first.TakenAt) > hold.LateAfter {
		line.Late = first.DueAt.Add(hold.GivenLife).UTC().Format("15:04 UTC")
		line.Notice = show.Notice{Tone: "warn", Text: "Not yet made: " + map[string]string{hold.Approve: "your approval", hold.Reject: "your rejection", hold.BreakGlass: "your break-glass"}[first.Resolution]}
	}
	if v.May(shell.Review) && (first.TakenAt == nil || line.Result || line.Late != "") {
		line.Undo = v.At("reviews", "undo") + filterOf(v).suffix()
	}
	if len(rows) > 1 {
		of := " "
		if line.Late != "" {
			of = " of "
		}
		line.Text += of + strconv.Itoa(len(rows)) + " holds"
		return line, nil
	}
	if line.Undo != "" && !line.Result {
		line.Undo = v.At("reviews", first.AuthorizationID, "undo") + filterOf(v).suffix()
	}
	seen, err := c.DecisionPages.CaseOf(v, first.AuthorizationID)
	if err != nil {
		return line, err
	}
	line.Title, line.URL = strings.TrimSpace(seen.Title()+" "+seen.Case.Outline.Amount), v.At("reviews", first.AuthorizationID)+filterOf(v).suffix()
	switch {
	case first.Remark == nil:
	case *first.Remark == "":
		line.Notice = flash(seen, 0)
	default:
		line.Notice = show.Notice{Tone: "warn", Text: "Your review was not made. " + *first.Remark}
	}
	return line, nil
}

// waitingLine is a review that a colleague gave and can still undo, or that the service could not make yet.
type waitingLine struct {
	Who  show.Actor
	Verb string
	Left int  // seconds until it is made
	Late bool // the service could not make it when it was due
}

// waitingLines returns the reviews of a hold that colleagues gave and that are not made yet.
func (c *Pages) waitingLines(v *shell.Visit, id string) ([]waitingLine, error) {
	rows, err := c.Holds.GivenByOthers(v.Context, v.Principal(), id)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	actors := make([]string, len(rows))
	for i, r := range rows {
		actors[i] = r.Reviewer
	}
	names, err := c.Reader.Names(v.Context, v.Principal().TenantID, actors)
	now, out := c.Clock.Now(), make([]waitingLine, len(rows))
	for i, r := range rows {
		out[i] = waitingLine{
			Who: show.ActorOf(r.Reviewer, names), Verb: r.Resolution, Left: max(0, int(math.Ceil(r.DueAt.Sub(now).Seconds()))), Late: now.Sub(r.DueAt) > hold.LateAfter,
		}
	}
	return out, err
}

// ofHold returns the line of a hold; nil if there is none.
func ofHold(lines []givenView, id string) *givenView {
	if n := slices.IndexFunc(lines, func(l givenView) bool { return slices.Contains(l.Holds, id) }); n >= 0 {
		return &lines[n]
	}
	return nil
}

// undo takes back the reviews of the form that are not made yet. The page of the only one has its note again.
func (c *Pages) undo(v *shell.Visit) error {
	id, chosen := v.Param("id"), v.All("hold")
	if id != "" {
		chosen = []string{id}
	}
	if len(chosen) == 0 || len(chosen) > deskPage {
		return problem.Newf(problem.BadRequest, "Name 1 to %d holds.", deskPage)
	}
	undone, err := c.Holds.Undo(v.Context, v.Principal(), chosen...)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(undone, func(u hold.Undone) bool { return u.Remark != nil }) {
		return v.Redirect(v.At("reviews")+filterOf(v).suffix(), fiber.StatusSeeOther)
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

func undoneNotice(undone, of int) *show.Notice {
	switch {
	case undone == 0 && of == 1:
		return &show.Notice{Tone: "warn", Text: "Too late to undo: your review is made."}
	case undone == 0:
		return &show.Notice{Tone: "warn", Text: "Too late to undo: your reviews are made."}
	case undone < of:
		return &show.Notice{Tone: "warn", Text: "Undone for " + strconv.Itoa(undone) + " of " + strconv.Itoa(of) + " holds. It was too late for the others."}
	case of == 1:
		return &show.Notice{Tone: "good", Text: "Undone: your review was not made."}
	default:
		return &show.Notice{Tone: "good", Text: "Undone: your " + strconv.Itoa(of) + " reviews were not made."}
	}
}
