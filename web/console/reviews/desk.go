package reviews

import (
	"context"
	"net/http"
	"slices"
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
	"github.com/countersign-dev/countersign/web/console/decisions"
	"github.com/countersign-dev/countersign/web/console/shell"
	"github.com/countersign-dev/countersign/web/console/show"
)

// maxNote is the contract's limit of a review's note, in characters.
const maxNote = 500

// reviewView is one hold with its review form and the queue.
type reviewView struct {
	decisions.CaseView
	Queue    deskView
	Facts    []cell
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
	Notice   *show.Notice
	Related  []relatedRow
	Waiting  []waitingLine // what colleagues are about to do
}

// reviewForm is the form of a review.
type reviewForm struct {
	Action          string
	Note            string
	MaxNote         int
	StoresNotes     bool // the environment's setting
	Given, Required int
	Own             string
	LastOne         bool         // one more approval settles the hold
	Unsignable      bool         // that approval would be refused at present
	By              []show.Actor // who has approved
	Barred          string       // why the user cannot approve; empty if they can
	BarredAll       bool         // the user cannot reject either
	Glass           bool         // the user may approve alone
}

func (c *Pages) reviewPage(v *shell.Visit) error {
	return c.showReview(v, fiber.StatusOK, nil, "")
}

func (c *Pages) showReview(v *shell.Visit, status int, n *show.Notice, note string) error {
	id := v.Param("id")
	seen, err := c.DecisionPages.CaseOf(v, id)
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
	view := reviewView{CaseView: seen, Standing: standing, Notice: n}
	if view.Queue, err = c.queue(v, seen.Case.Hold); err != nil {
		return err
	}
	view.PrevURL, view.NextURL, view.Position = view.Queue.neighbours(*seen.Case.Hold)
	if i := slices.IndexFunc(view.Queue.Rows, func(row heldRow) bool { return row.Here }); i >= 0 {
		view.Facts = fields.in(onPage).cells(view.Queue.Rows[i])
	}
	view.Taken = c.takenBy(v, seen.Case.Hold)
	if view.Waiting, err = c.waitingLines(v, id); err != nil {
		return err
	}
	c.ask(v, &view, approvals, note)
	if n == nil {
		if view.Settled, err = c.settled(v, view.Queue.Given); err != nil {
			return err
		}
	}
	if v.Get(shell.RefreshHeader) == "" { // a refresh replaces the parts that change only
		if view.Related, err = c.related(v, seen); err != nil {
			return err
		}
	}
	if view.Form != nil {
		if err := c.view(v, &view); err != nil {
			return err
		}
	}
	return v.Page(status, "review.html", "Review "+view.Title(), "reviews", view)
}

// ask fills in the review form, or the reason why there is none.
func (c *Pages) ask(v *shell.Visit, view *reviewView, approvals hold.Standing, note string) {
	h := view.Case.Hold
	form := &reviewForm{
		Action: v.At("reviews", h.AuthorizationID) + view.Queue.Suffix, Note: note, MaxNote: maxNote, StoresNotes: v.Grant.Environment.ReviewNotes, Given: approvals.Given, Required: h.ApprovalsRequired,
	}
	for _, r := range view.Reviews {
		if r.Who.Raw == v.Principal().Actor() {
			form.Own = show.Resolved(r.Resolution)
		}
		if r.Resolution == hold.Approve {
			form.By = append(form.By, r.Who)
		}
	}
	form.LastOne = form.Given+1 >= form.Required && approvals.Obstacle == ""
	switch {
	case hold.Effective(*h, c.Clock.Now()) != models.HoldPending:
		view.Closed = "settled"
	case !v.May(shell.Review):
		view.Closed = "role"
	case waits(view.Queue.Given, h.AuthorizationID):
		view.Closed = "given"
	default:
		form.Barred, form.BarredAll, view.Standing.Why = view.Standing.Why, approvals.Obstacle == hold.ObstacleSelf, ""
		form.Unsignable = form.LastOne && c.unsignable(v, models.ActionMode(view.Mode))
		form.Glass = approvals.MayBreakGlass
		view.Form = form
	}
}

// unsignable reports whether an approval that settles a hold of the mode would be refused at present, because no proof can be signed.
func (c *Pages) unsignable(v *shell.Visit, mode models.ActionMode) bool {
	return problem.Is(c.Signing.Signable(v.Context, v.Scope(), mode), problem.Unavailable)
}

// waits reports whether a review of the hold that the user gave waits.
func waits(lines []givenView, id string) bool {
	line := ofHold(lines, id)
	return line != nil && !line.Result
}

// resolve gives the review and opens the next hold, or shows this one again with a notice if it was refused. It is made a little later, so that
// the user can undo it.
func (c *Pages) resolve(v *shell.Visit) error {
	id, resolution, note := v.Param("id"), v.Form("resolution"), strings.TrimSpace(v.Form("note"))
	if resolution != hold.Approve && resolution != hold.Reject && resolution != hold.BreakGlass {
		return problem.New(problem.BadRequest, "resolution must be approve, reject or break_glass.")
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
	done, err := c.Holds.Give(v.Context, v.Principal(), hold.Vote{Resolution: resolution, Note: optional(note), Step: v.Form("step")}, id)
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
	q := filterOf(v).values()
	q.Set("of", id)
	return v.Redirect(v.At("reviews", following)+"?"+q.Encode(), fiber.StatusSeeOther)
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
func (c *Pages) askAgain(v *shell.Visit, resolution, note string) (*show.Notice, error) {
	if n := utf8.RuneCountInString(note); n > maxNote {
		return &show.Notice{Tone: "bad", Text: "The note has " + strconv.Itoa(n) + " characters; the limit is " + strconv.Itoa(maxNote) + "."}, nil
	}
	if fault := noteFault(note); fault != "" && (v.Grant.Environment.ReviewNotes || resolution == hold.BreakGlass) {
		return &show.Notice{Tone: "bad", Text: fault}, nil
	}
	if resolution == hold.Reject {
		if note == "" {
			return &show.Notice{Tone: "bad", Text: "Say in the note why you reject the request."}, nil
		}
		return nil, nil
	}
	if resolution == hold.BreakGlass && note == "" {
		return &show.Notice{Tone: "bad", Text: "Say in the note why you approve the request alone. Those who review it afterwards read it."}, nil
	}
	if resolution == hold.BreakGlass || v.Form("last") != "no" {
		return nil, nil
	}
	s, err := c.Holds.Standing(v.Context, v.Principal(), v.Param("id"))
	if err == nil && s.Obstacle == "" && s.Given < s.Required && s.Given+1 >= s.Required {
		return &show.Notice{Tone: "warn", Text: "A colleague has approved in the meantime: yours is now the last approval and decides the request. Approve again to give it."}, nil
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
func refusedReview(p *problem.Error) *show.Notice {
	switch p.Code {
	case problem.ReviewResolved:
		return &show.Notice{Tone: "warn", Text: "A different reviewer settled this hold first. " + p.Detail + " Your review changed nothing."}
	case problem.ReviewExpired:
		return &show.Notice{Tone: "warn", Text: "The hold has expired and was not approved. Your review changed nothing."}
	case problem.Unavailable:
		return &show.Notice{Tone: "bad", Text: "The service is unavailable. Nothing was changed; try again."}
	default:
		return &show.Notice{Tone: "bad", Text: p.Detail}
	}
}

// stream follows the events of holds, and the changes of who has which. It ends with the session, and with the idle timeout as it was when the stream began; a page that
// is still in use connects again.
func (c *Pages) stream(v *shell.Visit) error {
	session := v.Session // the check outlives the visit
	streams := &sse.Server{Hub: c.Hub}
	return streams.Serve(v.Ctx, sse.Subscription{
		Principal: v.Principal(), Key: session.ID, Filter: stream.Filter{Type: "hold.*", Desk: true}, Life: session.IdleAt.Sub(c.Clock.Now()),
		Check: func(ctx context.Context) (bool, error) { return c.People.StillValid(ctx, session) },
	})
}
