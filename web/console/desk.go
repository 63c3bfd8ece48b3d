package console

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/authz/display"
	"github.com/countersign-dev/countersign/internal/authz/hold"
	"github.com/countersign-dev/countersign/internal/platform/events/stream"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/platform/store"
	"github.com/countersign-dev/countersign/internal/transport/request"
	"github.com/countersign-dev/countersign/internal/transport/sse"
	"github.com/countersign-dev/countersign/models"
)

// deskPage is the page size of the queue.
const deskPage = 50

// rowDetails is the number of details that a row of the queue shows. The page of the hold shows all.
const rowDetails = 3

// maxNote is the contract's limit of a review's note, in characters.
const maxNote = 500

// deskFilter is the filter of the queue.
type deskFilter struct {
	Status, Action, Risk, Subject string
}

func (v *visit) deskFilter() deskFilter {
	f := deskFilter{Status: v.query("status"), Action: v.query("action"), Risk: v.query("risk"), Subject: v.query("subject")}
	if !slices.Contains([]string{"pending", "approved", "rejected", "expired"}, f.Status) {
		f.Status = string(models.HoldPending)
	}
	return f
}

func (f deskFilter) values() url.Values {
	q := url.Values{}
	for name, value := range map[string]string{"status": f.Status, "action": f.Action, "risk": f.Risk, "subject": f.Subject} {
		if value != "" && (name != "status" || value != string(models.HoldPending)) {
			q.Set(name, value)
		}
	}
	return q
}

// suffix returns the filter as a query string with "?"; empty for the default filter.
func (f deskFilter) suffix() string {
	if q := f.values().Encode(); q != "" {
		return "?" + q
	}
	return ""
}

// heldRow is one hold of the queue.
type heldRow struct {
	ID, URL, Short  string
	Subject, Action string
	Risk            tag
	Reasons         []code
	Shown           []display.Detail // the first of them
	Opened, Due     stamp
	Urgency         string // over, hour, day or none
	Status          tag
	Pending         bool
	Given, Required int
	Own             string // the user's own resolution
	Here            bool   // the hold that is open next to the queue
}

// deskView is the queue.
type deskView struct {
	Filter      deskFilter
	Suffix      string
	Rows        []heldRow
	Next        string
	Counts      hold.Counts
	Later       int64
	Oldest      *stamp
	Statuses    []item
	Review      bool
	Risks       []string
	ClearFilter string

	BarsSelfReview bool // the environment's setting, which overrides policies
}

func (c *console) desk(v *visit) error {
	view, err := c.queue(v, "")
	if err != nil {
		return err
	}
	return v.page(fiber.StatusOK, "desk.html", "Reviews", "reviews", view)
}

// queue reads the queue with the filter of the URL. open is the id of the hold that is open next to it.
func (c *console) queue(v *visit, open string) (deskView, error) {
	f := v.deskFilter()
	view := deskView{Filter: f, Suffix: f.suffix(), Review: v.may(Review), Risks: []string{"critical", "high", "elevated", "low"}, ClearFilter: v.at("reviews"),
		BarsSelfReview: v.grant.Environment.BarSelfReview}
	filter := store.HoldFilter{
		Status: models.HoldStatus(f.Status), Action: f.Action, RiskClass: f.Risk, Subject: f.Subject,
		MostUrgent: f.Status == string(models.HoldPending),
	}
	page := store.Page{Limit: deskPage, After: v.query("cursor")}
	rows, next, err := c.Holds.Queue(v.ctx, v.principal(), filter, page)
	if err != nil {
		return view, cursorFault(err)
	}
	for _, r := range rows {
		view.Rows = append(view.Rows, c.heldRow(v, r, f, open))
	}
	if next != "" {
		q := f.values()
		q.Set("cursor", next)
		view.Next = v.at("reviews") + "?" + q.Encode()
	}
	if view.Counts, err = c.Holds.Counts(v.ctx, v.scope(), "", ""); err != nil {
		return view, err
	}
	view.Later = view.Counts.Pending - view.Counts.WithinDay
	view.Oldest = stamps{c.Clock.Now()}.maybe(view.Counts.OldestOpenedAt)
	for _, s := range []string{"pending", "approved", "rejected", "expired"} {
		q := f
		q.Status = s
		view.Statuses = append(view.Statuses, item{Label: s, URL: v.at("reviews") + q.suffix(), Current: s == f.Status})
	}
	return view, nil
}

func (c *console) heldRow(v *visit, r hold.Queued, f deskFilter, open string) heldRow {
	now := stamps{c.Clock.Now()}
	row := heldRow{
		ID: r.AuthorizationID, URL: v.at("reviews", r.AuthorizationID) + f.suffix(), Short: short(r.AuthorizationID),
		Subject: r.Subject, Action: r.ActionKey, Risk: tagOf(r.RiskClass), Reasons: codes(r.ReasonCodes), Opened: now.at(r.OpenedAt),
		Due: now.at(r.DueAt), Status: tagOf(string(r.Status)), Pending: r.Status == models.HoldPending, Given: r.Approvals,
		Required: r.ApprovalsRequired, Here: r.AuthorizationID == open,
	}
	if r.OwnResolution != nil {
		row.Own = *r.OwnResolution
	}
	row.Shown = r.Shown[:min(len(r.Shown), rowDetails)]
	if row.Pending {
		row.Urgency = urgency(row.Due)
	}
	return row
}

func urgency(due stamp) string {
	switch left := due.Sub(due.now).Hours(); {
	case left < 1:
		return "hour"
	case left < 24:
		return "day"
	default:
		return "none"
	}
}

// cursorFault turns an invalid cursor into a bad request.
func cursorFault(err error) error {
	if strings.Contains(err.Error(), store.ErrCursor.Error()) {
		return problem.New(problem.BadRequest, "cursor is not valid. Start at the first page of the list.")
	}
	return err
}

// reviewView is one hold with its review form and the queue.
type reviewView struct {
	caseView
	Queue    deskView
	NextURL  string // the next hold of the queue
	PrevURL  string
	Position string
	Form     *reviewForm // nil if the user cannot review the hold
	Closed   string      // the reason: settled or role
	Notice   *notice
}

// reviewForm is the form of a review.
type reviewForm struct {
	Action          string
	Note            string
	MaxNote         int
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
	view := reviewView{caseView: seen, Notice: n}
	if n == nil {
		view.Notice = v.flash(seen)
	}
	if view.Queue, err = c.queue(v, id); err != nil {
		return err
	}
	view.neighbours(id)
	c.ask(v, &view, note)
	return v.page(status, "review.html", "Review "+view.Case.Trace.Action, "reviews", view)
}

// neighbours finds the previous and the next hold of the queue.
func (r *reviewView) neighbours(id string) {
	rows := r.Queue.Rows
	here := slices.IndexFunc(rows, func(row heldRow) bool { return row.ID == id })
	if here < 0 {
		if len(rows) > 0 {
			r.NextURL = rows[0].URL
		}
		return
	}
	r.Position = strconv.Itoa(here+1) + " of " + strconv.Itoa(len(rows))
	if here > 0 {
		r.PrevURL = rows[here-1].URL
	}
	if here+1 < len(rows) {
		r.NextURL = rows[here+1].URL
	}
}

// ask fills in the review form, or the reason why there is none.
func (c *console) ask(v *visit, view *reviewView, note string) {
	h := view.Case.Hold
	form := &reviewForm{
		Action: v.at("reviews", h.AuthorizationID) + view.Queue.Suffix, Note: note, MaxNote: maxNote, Given: view.given(), Required: h.ApprovalsRequired,
	}
	for _, r := range view.Reviews {
		if r.Who.Raw == v.principal().Actor() {
			form.Own = r.Resolution
		}
	}
	form.LastOne = form.Given+1 >= form.Required && form.Own != hold.Approve
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

// stream follows the events of holds. It ends with the session's idle timeout; a page that is still in use connects again.
func (c *console) stream(v *visit) error {
	life := v.session.IdleAt.Sub(c.Clock.Now())
	streams := &sse.Server{Hub: c.Hub}
	return streams.Serve(v.Ctx, sse.Subscription{Principal: v.principal(), Key: v.session.ID, Filter: stream.Filter{Type: "hold.*"}, Life: life})
}
