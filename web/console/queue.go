package console

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/authz/hold"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// deskPage is the page size of the queue. The list next to an open hold has as many rows, deskBefore of them before the hold.
const (
	deskPage   = 50
	deskBefore = 20
)

// The orders of the queue.
const (
	byDue    = "due"    // soonest due first
	byOpened = "opened" // newest first
	byAmount = "amount" // by currency, the largest amount of each first
)

// needsYou is the view of the queue with the pending holds that need the user, which reviewers see first.
const needsYou = "needs"

// viewWords are the views of the queue, and viewLabels their names.
var (
	viewWords  = append([]string{needsYou}, reviewWords...)
	viewLabels = map[string]string{needsYou: "Needs you", "pending": "All pending", "approved": "Approved", "rejected": "Rejected", "expired": "Expired"}
)

// deskFilter is the filter of the queue.
type deskFilter struct {
	Status, Action, Risk, Text, Sort string
	Mine                             bool
	usual                            string // the view without a choice
}

func (v *visit) deskFilter() deskFilter {
	f := deskFilter{
		Status: v.query("status"), Action: v.query("action"), Risk: v.query("risk"), Text: v.query("q"), Sort: v.query("sort"), Mine: v.query("mine") != "",
		usual: string(models.HoldPending),
	}
	if v.may(Review) {
		f.usual = needsYou
	}
	if !slices.Contains(viewWords, f.Status) || f.Status == needsYou && f.usual != needsYou {
		f.Status = f.usual
	}
	if !slices.Contains([]string{byDue, byOpened, byAmount}, f.Sort) {
		f.Sort = f.usualSort()
	}
	return f
}

// usualSort is the order of a status without a choice: what waits by its due time, what is settled newest first.
func (f deskFilter) usualSort() string {
	if f.Pending() {
		return byDue
	}
	return byOpened
}

// Usual is the view without a choice.
func (f deskFilter) Usual() string { return f.usual }

// Pending reports whether the view has holds that are pending.
func (f deskFilter) Pending() bool {
	return f.Status == needsYou || f.Status == string(models.HoldPending)
}

func (f deskFilter) values() url.Values {
	q := url.Values{}
	for name, value := range map[string]string{"status": f.Status, "action": f.Action, "risk": f.Risk, "q": f.Text, "sort": f.Sort} {
		if value != "" && (name != "status" || value != f.usual) && (name != "sort" || value != f.usualSort()) {
			q.Set(name, value)
		}
	}
	if f.Mine {
		q.Set("mine", "1")
	}
	return q
}

// riskWords are the risk classes, the highest first.
var riskWords = []string{"critical", "high", "elevated", "low"}

// holds returns the filter of the store for the user.
func (c *console) holds(v *visit, f deskFilter) (hold.Filter, error) {
	filter := hold.Filter{Status: models.HoldStatus(f.Status), Action: f.Action, RiskClass: f.Risk, MostUrgent: f.Sort != byOpened}
	if f.Mine {
		filter.Assignee = v.principal().Actor()
	}
	if f.Status != needsYou {
		return filter, nil
	}
	filter.Status = models.HoldPending
	var err error
	filter.Need, err = c.Holds.Need(v.ctx, v.principal())
	return filter, err
}

// searches reports whether the filter needs a search, for which the details of each hold are opened.
func (f deskFilter) searches() bool { return f.Text != "" || f.Sort == byAmount }

func (f deskFilter) search() hold.Search {
	return hold.Search{Text: f.Text, ByAmount: f.Sort == byAmount}
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
	Name            string // of the action
	Risk            tag
	Title, Amount   string // empty if the request shows none
	Why             string // the author's reason, or otherwise the reason codes in words
	Opened, Due     stamp
	Urgency         string // over, hour, day or none
	Status          tag
	Pending         bool
	Given, Required int
	Own             string   // the user's own resolution
	Taken           string   // the reviewer who has the hold; "you" for the user
	Viewers         []string // the other reviewers who have it open
	Here            bool     // the hold that is open next to the queue
	Teams           []string // what it requires of teams, in words
	Outside         bool     // an approval by the user would not count
}

// deskView is the queue.
type deskView struct {
	Filter      deskFilter
	Suffix      string
	Rows        []heldRow
	Next        string
	Place       int64 // the position of the open hold, from 1; 0 if it is not in the queue
	Total       int64 // holds of the filter
	Partial     int   // if not 0, the search read only so many holds
	Counts      hold.Counts
	Later       int64
	Oldest      *stamp
	Statuses    []item
	Review      bool
	Risks       []string
	ClearFilter string
	Export      exportLinks
	Saved       savedFilters
	Given       []givenView
	Notice      *notice
	Selection   string // URL of the form with the selected holds; empty if the user cannot review or the holds are settled
}

func (c *console) desk(v *visit) error { return c.showDesk(v, fiber.StatusOK, nil) }

func (c *console) showDesk(v *visit, status int, n *notice) error {
	view, err := c.queue(v, "")
	if err != nil {
		return err
	}
	view.Notice = n
	return v.page(status, "desk.html", "Reviews", "reviews", view)
}

// queue reads the queue with the filter of the URL. open is the id of the hold that is open next to it.
func (c *console) queue(v *visit, open string) (deskView, error) {
	f := v.deskFilter()
	view := deskView{Filter: f, Suffix: f.suffix(), Review: v.may(Review), Risks: riskWords, ClearFilter: v.at("reviews"),
		Export: v.exports(f.values(), "reviews")}
	if view.Review && f.Pending() {
		view.Selection = v.at("reviews", "selected") + f.suffix()
	}
	rows, err := c.rows(v, &view, open)
	if err != nil {
		return view, err
	}
	viewers, names, err := c.takers(v, rows)
	if err != nil {
		return view, err
	}
	teams, err := c.Teams.Names(v.ctx, v.scope())
	if err != nil {
		return view, err
	}
	for _, r := range rows {
		row := c.heldRow(v, r, f, open)
		row.Taken, row.Teams = takerOf(v, r.AssignedTo, names), teamsOf(r.Teams, teams)
		row.Outside = row.Pending && view.Review && !r.Approvable
		for _, by := range viewers[row.ID] {
			row.Viewers = append(row.Viewers, actorOf(by, names).Name)
		}
		view.Rows = append(view.Rows, row)
	}
	if view.Given, err = c.given(v); err != nil {
		return view, err
	}
	if view.Saved, err = c.saved(v, "reviews", f.values()); err != nil {
		return view, err
	}
	if view.Counts, err = c.Holds.Counts(v.ctx, v.scope(), "", ""); err != nil {
		return view, err
	}
	view.Later = view.Counts.Pending - view.Counts.WithinDay
	view.Oldest = stamps{c.Clock.Now()}.maybe(view.Counts.OldestOpenedAt)
	for _, s := range viewWords {
		if s == needsYou && !view.Review {
			continue
		}
		q := f
		q.Status, q.Sort = s, ""
		view.Statuses = append(view.Statuses, item{Label: viewLabels[s], URL: v.at("reviews") + q.suffix(), Current: s == f.Status})
	}
	return view, nil
}

// rows reads the part of the queue that the page shows.
func (c *console) rows(v *visit, view *deskView, open string) ([]hold.Queued, error) {
	read := c.listed
	if view.Filter.searches() {
		read = c.searched
	}
	filter, err := c.holds(v, view.Filter)
	if err != nil {
		return nil, err
	}
	rows, err := read(v, view, filter, open)
	if err != nil {
		return nil, cursorFault(err)
	}
	return rows, nil
}

// listed reads one page of the queue: the one behind the cursor, or the one around the open hold.
func (c *console) listed(v *visit, view *deskView, filter hold.Filter, open string) ([]hold.Queued, error) {
	before, total, err := c.Holds.Position(v.ctx, v.scope(), filter, open)
	if err != nil {
		return nil, err
	}
	view.Place, view.Total = before+1, total
	page := pg.Page{Limit: deskPage, After: v.query("cursor")}
	if open != "" {
		page.After, filter.Skip = "", max(0, int(before)-deskBefore)
	}
	rows, next, err := c.Holds.Queue(v.ctx, v.principal(), filter, page)
	if next != "" {
		q := view.Filter.values()
		q.Set("cursor", next)
		view.Next = v.at("reviews") + "?" + q.Encode()
	}
	return rows, err
}

// searched searches the queue and returns the first page of what it found, or the part around the open hold.
func (c *console) searched(v *visit, view *deskView, filter hold.Filter, open string) ([]hold.Queued, error) {
	rows, complete, err := c.Holds.Search(v.ctx, v.principal(), filter, view.Filter.search())
	if err != nil {
		return nil, err
	}
	if !complete {
		view.Partial = hold.SearchLimit
	}
	here := slices.IndexFunc(rows, func(q hold.Queued) bool { return q.AuthorizationID == open })
	view.Place, view.Total = int64(here)+1, int64(len(rows))
	from := max(0, min(here-deskBefore, len(rows)-deskPage))
	if skip, err := strconv.Atoi(v.query("from")); err == nil && open == "" {
		from = max(0, min(skip, len(rows)))
	}
	to := min(from+deskPage, len(rows))
	if to < len(rows) {
		q := view.Filter.values()
		q.Set("from", strconv.Itoa(to))
		view.Next = v.at("reviews") + "?" + q.Encode()
	}
	return rows[from:to], nil
}

// neighbours returns the pages of the holds before and after the open one, and its position in words.
func (d deskView) neighbours(open models.Hold) (previous, next, position string) {
	here := slices.IndexFunc(d.Rows, func(row heldRow) bool { return row.ID == open.AuthorizationID })
	after := here + 1
	if here < 0 { // it has left the queue: its neighbours are those of the place that it had
		after = slices.IndexFunc(d.Rows, func(row heldRow) bool { return d.Filter.precedes(open, row) })
		if after < 0 {
			after = len(d.Rows)
		}
		here = after
	}
	if here > 0 {
		previous = d.Rows[here-1].URL
	}
	if after < len(d.Rows) {
		next = d.Rows[after].URL
	}
	if d.Place > 0 {
		position = strconv.FormatInt(d.Place, 10) + " of " + strconv.FormatInt(d.Total, 10)
	}
	return previous, next, position
}

// precedes reports whether a hold that has left the queue stood before a row of it.
func (f deskFilter) precedes(open models.Hold, row heldRow) bool {
	switch f.Sort {
	case byDue:
		return open.DueAt.Before(row.Due.Time)
	case byOpened:
		return open.OpenedAt.After(row.Opened.Time)
	default:
		return true
	}
}

// following returns the hold to open after a review: the next one of the queue, the previous one if there is no next, or
// the hold itself if it is the only one.
func (c *console) following(v *visit, id string) (string, error) {
	rows, err := c.rows(v, &deskView{Filter: v.deskFilter()}, id)
	here := slices.IndexFunc(rows, func(q hold.Queued) bool { return q.AuthorizationID == id })
	switch {
	case err != nil || here < 0:
		return id, err
	case here+1 < len(rows):
		return rows[here+1].AuthorizationID, nil
	case here > 0:
		return rows[here-1].AuthorizationID, nil
	default:
		return id, nil
	}
}

func (c *console) heldRow(v *visit, r hold.Queued, f deskFilter, open string) heldRow {
	now := stamps{c.Clock.Now()}
	row := heldRow{
		ID: r.AuthorizationID, URL: v.at("reviews", r.AuthorizationID) + f.suffix(), Short: short(r.AuthorizationID),
		Subject: r.Subject, Action: r.ActionKey, Name: r.ActionName, Risk: tagOf(r.RiskClass), Opened: now.at(r.OpenedAt),
		Due: now.at(r.DueAt), Status: tagOf(string(r.Status)), Pending: r.Status == models.HoldPending, Given: r.Approvals,
		Required: r.ApprovalsRequired, Here: r.AuthorizationID == open,
	}
	if r.OwnResolution != nil {
		row.Own = resolved(*r.OwnResolution)
	}
	row.Title, row.Amount, row.Why = cmp.Or(r.Outline.Title, r.Subject), r.Outline.Amount, cmp.Or(r.Stated, whyOf(r.ReasonCodes))
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
	if strings.Contains(err.Error(), pg.ErrCursor.Error()) {
		return problem.New(problem.BadRequest, "cursor is not valid. Start at the first page of the list.")
	}
	return err
}

// openRow is the row of the open hold if the filter leaves it out, such as a hold that was just settled.
func (c *console) openRow(v *visit, view reviewView) heldRow {
	h, t := view.Case.Hold, view.Case.Trace
	now := stamps{c.Clock.Now()}
	row := heldRow{
		ID: t.ID, URL: v.at("reviews", t.ID) + view.Queue.Suffix, Short: short(t.ID), Subject: t.Subject, Action: t.Action, Name: view.Case.Display.Action,
		Risk: view.Risk, Opened: now.at(h.OpenedAt), Due: now.at(h.DueAt), Status: view.Status,
		Pending: hold.Effective(*h, now.now) == models.HoldPending, Required: h.ApprovalsRequired, Here: true,
		Title: view.Title(), Amount: view.Case.Outline.Amount,
	}
	if row.Pending {
		row.Urgency = urgency(row.Due)
	}
	return row
}
