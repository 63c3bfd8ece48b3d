package console

import (
	"cmp"
	"context"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/authz/hold"
	"github.com/countersign-dev/countersign/internal/platform/displaytext"
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
	Closed   string      // the reason: settled, given or role
	Taken    taken
	Standing standingView
	Viewers  []string // names of the other reviewers who have the hold open
	Leave    string   // URL that the page calls when it is closed
	Settled  *settled // the user's last review, of the hold before this one
	Notice   *notice
	Related  []related
}

// reviewForm is the form of a review.
type reviewForm struct {
	Action          string
	Note            string
	MaxNote         int
	StoresNotes     bool // the environment's setting
	Given, Required int
	Own             string
	LastOne         bool    // one more approval settles the hold
	Unsignable      bool    // that approval would be refused at present
	By              []actor // who has approved
}

// Title names the request: what the schema of the action marks as its title, or otherwise the subject.
func (view caseView) Title() string {
	return cmp.Or(view.Case.Outline.Title, view.Case.Trace.Subject, view.Case.Display.Action)
}

// Urgency is the CSS class of the due time.
func (view caseView) Urgency() string {
	if view.Due == nil {
		return ""
	}
	return urgency(*view.Due)
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
	if view.Queue, err = c.queue(v, id); err != nil {
		return err
	}
	view.PrevURL, view.NextURL, view.Position = view.Queue.neighbours(*seen.Case.Hold)
	if view.Queue.Place == 0 {
		view.Queue.Rows = append([]heldRow{c.openRow(v, view)}, view.Queue.Rows...)
	}
	view.Taken = c.takenBy(v, seen.Case.Hold)
	c.ask(v, &view, approvals, note)
	if n == nil {
		if view.Settled, err = c.settled(v, view.Queue.Given); err != nil {
			return err
		}
	}
	if v.Get(refreshHeader) == "" { // a refresh replaces the parts that change only
		if view.Related, err = c.related(v, seen); err != nil {
			return err
		}
	}
	if view.Form != nil {
		if err := c.view(v, &view); err != nil {
			return err
		}
	}
	return v.page(status, "review.html", "Review "+view.Title(), "reviews", view)
}

// ask fills in the review form, or the reason why there is none.
func (c *console) ask(v *visit, view *reviewView, approvals hold.Standing, note string) {
	h := view.Case.Hold
	form := &reviewForm{
		Action: v.at("reviews", h.AuthorizationID) + view.Queue.Suffix, Note: note, MaxNote: maxNote, StoresNotes: v.grant.Environment.ReviewNotes, Given: approvals.Given, Required: h.ApprovalsRequired,
	}
	for _, r := range view.Reviews {
		if r.Who.Raw == v.principal().Actor() {
			form.Own = resolved(r.Resolution)
		}
		if r.Resolution == hold.Approve {
			form.By = append(form.By, r.Who)
		}
	}
	form.LastOne = form.Given+1 >= form.Required && approvals.Obstacle == ""
	switch {
	case hold.Effective(*h, c.Clock.Now()) != models.HoldPending:
		view.Closed = "settled"
	case !v.may(Review):
		view.Closed = "role"
	case waits(view.Queue.Given, h.AuthorizationID):
		view.Closed = "given"
	default:
		form.Unsignable = form.LastOne && c.unsignable(v, models.ActionMode(view.Mode))
		view.Form = form
	}
}

// unsignable reports whether an approval that settles a hold of the mode would be refused at present, because no proof can be signed.
func (c *console) unsignable(v *visit, mode models.ActionMode) bool {
	return problem.Is(c.Signing.Signable(v.ctx, v.scope(), mode), problem.Unavailable)
}

// waits reports whether a review of the hold that the user gave waits.
func waits(lines []givenView, id string) bool {
	line := ofHold(lines, id)
	return line != nil && !line.Result
}

// resolve gives the review and opens the next hold, or shows this one again with a notice if it was refused. It is made a little later, so that
// the user can undo it.
func (c *console) resolve(v *visit) error {
	id, resolution, note := v.param("id"), v.form("resolution"), strings.TrimSpace(v.form("note"))
	if resolution != hold.Approve && resolution != hold.Reject {
		return problem.New(problem.BadRequest, "resolution must be approve or reject.")
	}
	again, err := c.askAgain(v, resolution, note)
	if err != nil {
		return err
	}
	if again != nil {
		return c.showReview(v, http.StatusUnprocessableEntity, again, note)
	}
	following, err := c.following(v, id)
	if err != nil {
		return err
	}
	done, err := c.Holds.Give(v.ctx, v.principal(), resolution, optional(note), id)
	if err == nil {
		err = done[0].Err
	}
	if p := problem.As(err); p != nil && p.Code != problem.NotFound && p.Code != problem.NotHeld {
		request.SetProblemCode(v.Ctx, p.Code)
		return c.showReview(v, problem.Of(p.Code).Status, refusedReview(p), note)
	}
	if err != nil {
		return err
	}
	q := v.deskFilter().values()
	q.Set("of", id)
	return v.Redirect(v.at("reviews", following)+"?"+q.Encode(), fiber.StatusSeeOther)
}

// optional returns nil for an empty text.
func optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// askAgain returns what a reviewer has to do before a review is made; nil for nothing. A rejection needs a reason here, although the API
// requires none, and an approval that has become the last one since the page was opened is asked for once more.
func (c *console) askAgain(v *visit, resolution, note string) (*notice, error) {
	if n := utf8.RuneCountInString(note); n > maxNote {
		return &notice{"bad", "The note has " + strconv.Itoa(n) + " characters; the limit is " + strconv.Itoa(maxNote) + "."}, nil
	}
	if fault := noteFault(note); fault != "" && v.grant.Environment.ReviewNotes {
		return &notice{"bad", fault}, nil
	}
	if resolution == hold.Reject {
		if note == "" {
			return &notice{"bad", "Say in the note why you reject the request."}, nil
		}
		return nil, nil
	}
	if v.form("last") != "no" {
		return nil, nil
	}
	s, err := c.Holds.Standing(v.ctx, v.principal(), v.param("id"))
	if err == nil && s.Obstacle == "" && s.Given < s.Required && s.Given+1 >= s.Required {
		return &notice{"warn", "A colleague has approved in the meantime: yours is now the last approval and decides the request. Approve again to give it."}, nil
	}
	return nil, err
}

// noteFault says why colleagues could misread a note; empty for one that they could not.
func noteFault(note string) string {
	if p := problem.As(displaytext.CheckLines("The note", note)); p != nil {
		return p.Detail
	}
	return ""
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

// stream follows the events of holds, and the changes of who has which. It ends with the session, and with the idle timeout as it was when the stream began; a page that
// is still in use connects again.
func (c *console) stream(v *visit) error {
	session := v.session // the check outlives the visit
	streams := &sse.Server{Hub: c.Hub}
	return streams.Serve(v.Ctx, sse.Subscription{
		Principal: v.principal(), Key: session.ID, Filter: stream.Filter{Type: "hold.*", Desk: true}, Life: session.IdleAt.Sub(c.Clock.Now()),
		Check: func(ctx context.Context) (bool, error) { return c.People.StillValid(ctx, session) },
	})
}
