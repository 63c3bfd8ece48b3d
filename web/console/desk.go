package console

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/authz/hold"
	"github.com/countersign-dev/countersign/internal/platform/events/stream"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/transport/request"
	"github.com/countersign-dev/countersign/internal/transport/sse"
	"github.com/countersign-dev/countersign/models"
)

// maxNote is the contract's limit of a review's note, in characters.
const maxNote = 500

// reviewView is one hold with its review form and the queue.
type reviewView struct {
	caseView
	Queue    deskView
	NextURL  string // the next hold of the queue
	PrevURL  string
	Position string
	Form     *reviewForm // nil if the user cannot review the hold
	Closed   string      // the reason: settled or role
	Taken    taken
	Standing standingView
	Viewers  []string // names of the other reviewers who have the hold open
	Notice   *notice
}

// reviewForm is the form of a review.
type reviewForm struct {
	Action          string
	Note            string
	MaxNote         int
	StoresNotes     bool // the environment's setting
	Given, Required int
	Own             string
	LastOne         bool // one more approval settles the hold
}

func (c *console) reviewPage(v *visit) error {
	return c.showReview(v, fiber.StatusOK, nil, "")
}

func (c *console) showReview(v *visit, status int, n *notice, note string) error {
	id := v.param("id")
	seen, err := c.caseOf(v, id)
	if err != nil {
		return err
	}
	if seen.Case.Hold == nil {
		return problem.NewNotFound()
	}
	standing, approvals, err := c.standing(v, seen.Case.Hold)
	if err != nil {
		return err
	}
	view := reviewView{caseView: seen, Standing: standing, Notice: n}
	if n == nil {
		view.Notice = v.flash(seen, approvals.Given)
	}
	if view.Queue, err = c.queue(v, id); err != nil {
		return err
	}
	view.PrevURL, view.NextURL, view.Position = view.Queue.neighbours(id)
	if view.Queue.Place == 0 {
		view.Queue.Rows = append([]heldRow{c.openRow(v, view)}, view.Queue.Rows...)
	}
	view.Taken = c.takenBy(v, seen.Case.Hold)
	c.ask(v, &view, approvals, note)
	if view.Form != nil {
		if view.Viewers, err = c.viewers(v, id); err != nil {
			return err
		}
	}
	return v.page(status, "review.html", "Review "+view.Case.Trace.Action, "reviews", view)
}

// ask fills in the review form, or the reason why there is none.
func (c *console) ask(v *visit, view *reviewView, approvals hold.Standing, note string) {
	h := view.Case.Hold
	form := &reviewForm{
		Action: v.at("reviews", h.AuthorizationID) + view.Queue.Suffix, Note: note, MaxNote: maxNote, StoresNotes: v.grant.Environment.ReviewNotes, Given: approvals.Given, Required: h.ApprovalsRequired,
	}
	for _, r := range view.Reviews {
		if r.Who.Raw == v.principal().Actor() {
			form.Own = r.Resolution
		}
	}
	form.LastOne = form.Given+1 >= form.Required && approvals.Obstacle == ""
	switch {
	case hold.Effective(*h, c.Clock.Now()) != models.HoldPending:
		view.Closed = "settled"
	case !v.may(Review):
		view.Closed = "role"
	default:
		view.Form = form
	}
}

// resolve makes the review and shows the hold again, with a notice if it was settled in the meantime.
func (c *console) resolve(v *visit) error {
	resolution, note := v.form("resolution"), strings.TrimSpace(v.form("note"))
	if resolution != hold.Approve && resolution != hold.Reject {
		return problem.New(problem.BadRequest, "resolution must be approve or reject.")
	}
	if n := utf8.RuneCountInString(note); n > maxNote {
		return c.showReview(v, http.StatusUnprocessableEntity, &notice{"bad", "The note has " + strconv.Itoa(n) + " characters; the limit is " + strconv.Itoa(maxNote) + "."}, note)
	}
	var given *string
	if note != "" {
		given = &note
	}
	done, err := c.Reviewer.Review(v.ctx, v.principal(), v.param("id"), resolution, given)
	if p := problem.As(err); p != nil && p.Code != problem.NotFound && p.Code != problem.NotHeld {
		request.SetProblemCode(v.Ctx, p.Code)
		return c.showReview(v, problem.Of(p.Code).Status, refusedReview(p), note)
	}
	if err != nil {
		return err
	}
	said := "resolved"
	switch {
	case done.Pending == nil:
	case done.Pending.Approvals.Given == 0: // the workflow run has accepted the review but not completed it in time
		said = "accepted"
	default:
		said = "counted"
	}
	q := v.deskFilter().values()
	q.Set("done", said)
	return v.Redirect(v.at("reviews", v.param("id"))+"?"+q.Encode(), fiber.StatusSeeOther)
}

// refusedReview returns the notice for a review that was refused.
func refusedReview(p *problem.Error) *notice {
	switch p.Code {
	case problem.ReviewResolved:
		return &notice{"warn", "A different reviewer settled this hold first. " + p.Detail + " Your review changed nothing."}
	case problem.ReviewExpired:
		return &notice{"warn", "The hold has expired and was not approved. Your review changed nothing."}
	case problem.Unavailable:
		return &notice{"bad", "The service is unavailable. Nothing was changed; try again."}
	default:
		return &notice{"bad", p.Detail}
	}
}

// stream follows the events of holds. It ends with the session, and with the idle timeout as it was when the stream began; a page that
// is still in use connects again.
func (c *console) stream(v *visit) error {
	session := v.session // the check outlives the visit
	streams := &sse.Server{Hub: c.Hub}
	return streams.Serve(v.Ctx, sse.Subscription{
		Principal: v.principal(), Key: session.ID, Filter: stream.Filter{Type: "hold.*"}, Life: session.IdleAt.Sub(c.Clock.Now()),
		Check: func(ctx context.Context) (bool, error) { return c.People.StillValid(ctx, session) },
	})
}
