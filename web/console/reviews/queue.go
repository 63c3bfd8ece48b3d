package reviews

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/authz/hold"
	"github.com/countersign-dev/countersign/internal/platform/canonical"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
	"github.com/countersign-dev/countersign/web/console/decisions"
	"github.com/countersign-dev/countersign/web/console/exports"
	"github.com/countersign-dev/countersign/web/console/filters"
	"github.com/countersign-dev/countersign/web/console/shell"
	"github.com/countersign-dev/countersign/web/console/show"
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

// The views of the queue with the pending holds that the user may approve now, which reviewers see first, and with the others.
const (
	needsYou = "needs"
	notYours = "others"
)

// viewWords are the views of the queue, and viewLabels their names.
var (
	viewWords  = append([]string{needsYou, notYours}, decisions.ReviewWords...)
	viewLabels = map[string]string{needsYou: "Needs you", notYours: "For others", "pending": "All pending", "approved": "Approved", "rejected": "Rejected", "expired": "Expired", "withdrawn": "Withdrawn"}
)

// deskFilter is the filter of the queue.
type deskFilter struct {
	Status, Action, Risk, Text, Sort string
	Due                              string // of dueWithin; empty for all
	Mine                             bool
	usual                            string // the view without a choice
}

func filterOf(v *shell.Visit) deskFilter {
	f := deskFilter{
		Status: v.Query("status"), Action: v.Query("action"), Risk: v.Query("risk"), Text: v.Query("q"), Sort: v.Query("sort"), Mine: v.Query("mine") != "",
		usual: string(models.HoldPending),
	}
	if due := v.Query("due"); dueWithin[due] != 0 {
		f.Due = due
	}
	if v.May(shell.Review) {
		f.usual = needsYou
	}
	if !slices.Contains(viewWords, f.Status) || (f.Status == needsYou || f.Status == notYours) && f.usual != needsYou {
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
	return f.Status == needsYou || f.Status == notYours || f.Status == string(models.HoldPending)
}

func (f deskFilter) values() url.Values {
	q := url.Values{}
	for name, value := range map[string]string{"status": f.Status, "action": f.Action, "risk": f.Risk, "q": f.Text, "sort": f.Sort, "due": f.Due} {
		if value != "" && (name != "status" || value != f.usual) && (name != "sort" || value != f.usualSort()) {
			q.Set(name, value)
		}
	}
	if f.Mine {
		q.Set("mine", "1")
	}
	return q
}

// dueWithin are the times of the links of the counts.
var dueWithin = map[string]time.Duration{"hour": time.Hour, "day": 24 * time.Hour}

// DueURL is the query of the pending holds that are due within an hour or a day.
func (d deskView) DueURL(within string) string {
	f := deskFilter{Status: string(models.HoldPending), Due: within, usual: d.Filter.usual, Sort: byDue}
	return d.ClearFilter + f.suffix()
}

// riskWords are the risk classes, the highest first.
var riskWords = []string{"critical", "high", "elevated", "low"}

// holds returns the filter of the store for the user.
func (c *Pages) holds(v *shell.Visit, f deskFilter) (hold.Filter, error) {
	filter := hold.Filter{Status: models.HoldStatus(f.Status), Action: f.Action, RiskClass: f.Risk, MostUrgent: f.Sort != byOpened}
	if f.Mine {
		filter.Assignee = v.Principal().Actor()
	}
	if f.Due != "" {
		before := c.Clock.Now().Add(dueWithin[f.Due])
		filter.DueBefore = &before
	}
	if f.Status != needsYou && f.Status != notYours {
		return filter, nil
	}
	filter.Status = models.HoldPending
	need, err := c.Holds.Need(v.Context, v.Principal())
	if f.Status == needsYou {
		filter.Need = need
	} else {
		filter.Beyond = need
	}
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

// heldRow is one hold of the queue, with what is derived of it for a page.
type heldRow struct {
	hold.Queued
	URL         string
	Title       string // the subject if the request shows none
	Why         string // the author's reason, or otherwise the reason codes in words
	Sum         comparedValue
	Opened, Due show.Stamp
	Urgency     string   // over, hour, day or none
	Taken       string   // the reviewer who has the hold; "you" for the user
	Viewers     []string // the other reviewers who have it open
	Here        bool     // the hold that is open next to the queue
	TeamLines   []string // what it requires of teams, in words
	Unable      string   // why an approval by the user would not count, in a few words; empty if it would
	Alike       string   // digest of what holds have in common that "select all alike" selects
	Cells       []cell
}

// Pending reports whether the hold waits for reviewers.
func (r heldRow) Pending() bool { return r.Status == models.HoldPending }

// State is the status as a tag.
func (r heldRow) State() show.Tag { return show.TagOf(string(r.Status)) }

// deskView is the queue.
type deskView struct {
	Filter      deskFilter
	Suffix      string
	Columns     fieldSet
	Rows        []heldRow
	Next        string
	Place       int64 // the position of the open hold, from 1; 0 if it is not in the queue
	Total       int64 // holds of the filter
	Partial     int   // if not 0, the search read only so many holds
	Counts      hold.Counts
	Later       int64
	Oldest      *show.Stamp
	Statuses    []show.Item
	Review      bool
	Risks       []string
	ClearFilter string
	Export      exports.Links
	Saved       filters.Saved
	Given       []givenView
	Notice      *show.Notice
	Glass       string // URL of the after-reviews; empty if none is open
	Selection   string // URL of the form with the selected holds; empty if the user cannot review or the holds are settled
}

func (c *Pages) desk(v *shell.Visit) error { return c.showDesk(v, fiber.StatusOK, nil) }

func (c *Pages) showDesk(v *shell.Visit, status int, n *show.Notice) error {
	view, err := c.queue(v, nil)
	if err != nil {
		return err
	}
	view.Notice = n
	if open, err := c.After.AnyOpen(v.Context, v.Scope()); err != nil {
		return err
	} else if open {
		view.Glass = v.At("after-reviews")
	}
	return v.Page(status, "desk.html", "Reviews", "reviews", view)
}

// queue reads the queue with the filter of the URL. open is the hold that is open next to it, which is its first row if the filter leaves it out;
// nil for none.
func (c *Pages) queue(v *shell.Visit, open *models.Hold) (deskView, error) {
	f, shown, id := filterOf(v), inSettled, ""
	if f.Pending() {
		shown = inWaiting
	}
	if open != nil {
		id = open.AuthorizationID
	}
	view := deskView{Filter: f, Suffix: f.suffix(), Columns: fields.in(shown), Review: v.May(shell.Review), Risks: riskWords, ClearFilter: v.At("reviews"),
		Export: exports.Of(v, f.values(), "reviews")}
	if view.Review && f.Pending() {
		view.Selection = v.At("reviews", "selected") + f.suffix()
	}
	rows, err := c.rows(v, &view, id)
	if err != nil {
		return view, err
	}
	if open != nil && view.Place == 0 {
		left, _, err := c.Holds.Queue(v.Context, v.Principal(), hold.Filter{Only: []string{id}, Status: hold.Effective(*open, c.Clock.Now()), MostUrgent: true}, pg.Page{Limit: 1})
		if err != nil {
			return view, err
		}
		rows = append(left, rows...)
	}
	viewers, names, err := c.takers(v, rows)
	if err != nil {
		return view, err
	}
	teams, err := c.Teams.Names(v.Context, v.Scope())
	if err != nil {
		return view, err
	}
	for _, r := range rows {
		row := c.heldRow(v, r, f)
		row.Here, row.Taken, row.TeamLines = r.AuthorizationID == id, takerOf(v, r.AssignedTo, names), teamsOf(r.Teams, teams)
		if row.Pending() && view.Review {
			row.Unable = obstacles[r.Obstacle()]
		}
		for _, by := range viewers[r.AuthorizationID] {
			row.Viewers = append(row.Viewers, show.ActorOf(by, names).Name)
		}
		row.Cells = view.Columns.cells(row)
		view.Rows = append(view.Rows, row)
	}
	if view.Given, err = c.given(v); err != nil {
		return view, err
	}
	if view.Saved, err = c.FilterPages.Of(v, "reviews", f.values()); err != nil {
		return view, err
	}
	if view.Counts, err = c.Holds.Counts(v.Context, v.Scope(), "", ""); err != nil {
		return view, err
	}
	view.Later = view.Counts.Pending - view.Counts.WithinDay
	view.Oldest = show.Stamps{Now: c.Clock.Now()}.Maybe(view.Counts.OldestOpenedAt)
	return view, c.views(v, &view)
}

// views adds the views of the queue, with the number of holds of those that are pending.
func (c *Pages) views(v *shell.Visit, view *deskView) error {
	counts := map[string]int64{string(models.HoldPending): view.Counts.Pending}
	if view.Review {
		need, err := c.Holds.Need(v.Context, v.Principal())
		if err != nil {
			return err
		}
		_, counts[needsYou], err = c.Holds.Position(v.Context, v.Scope(), hold.Filter{Status: models.HoldPending, Need: need, MostUrgent: true}, "")
		if err != nil {
			return err
		}
		counts[notYours] = max(0, view.Counts.Pending-counts[needsYou])
	}
	for _, s := range viewWords {
		if (s == needsYou || s == notYours) && !view.Review {
			continue
		}
		q := view.Filter
		q.Status, q.Sort = s, ""
		entry := show.Item{Label: viewLabels[s], URL: v.At("reviews") + q.suffix(), Current: s == view.Filter.Status}
		if n, known := counts[s]; known {
			entry.Count = &n
		}
		view.Statuses = append(view.Statuses, entry)
	}
	return nil
}

// obstacles say in a few words why an approval would not count.
var obstacles = map[string]string{
	hold.ObstacleSelf: "your own request", hold.ObstacleGiven: "you approved it", hold.ObstacleTeam: "not for your teams", hold.ObstacleUnconfirmed: "your account is not confirmed",
}

// alike digests the action, the subject, the payee and the accounts of a hold. No request can be made to look like another that differs in one of them.
func alike(r hold.Queued) string {
	parts := []string{r.ActionID, r.Subject, r.Outline.Title}
	for _, d := range r.Outline.Identifying {
		parts = append(parts, d.Label, d.Value)
	}
	digest, err := canonical.Digest(parts)
	if err != nil {
		return r.AuthorizationID // like nothing else
	}
	return strings.TrimPrefix(digest, "sha256:")[:32]
}

// rows reads the part of the queue that the page shows.
func (c *Pages) rows(v *shell.Visit, view *deskView, open string) ([]hold.Queued, error) {
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
		return nil, shell.CursorFault(err)
	}
	return rows, nil
}

// listed reads one page of the queue: the one behind the cursor, or the one around the open hold.
func (c *Pages) listed(v *shell.Visit, view *deskView, filter hold.Filter, open string) ([]hold.Queued, error) {
	before, total, err := c.Holds.Position(v.Context, v.Scope(), filter, open)
	if err != nil {
		return nil, err
	}
	view.Place, view.Total = before+1, total
	page := pg.Page{Limit: deskPage, After: v.Query("cursor")}
	if open != "" {
		page.After, filter.Skip = "", max(0, int(before)-deskBefore)
	}
	rows, next, err := c.Holds.Queue(v.Context, v.Principal(), filter, page)
	if next != "" {
		q := view.Filter.values()
		q.Set("cursor", next)
		view.Next = v.At("reviews") + "?" + q.Encode()
	}
	return rows, err
}

// searched searches the queue and returns the first page of what it found, or the part around the open hold.
func (c *Pages) searched(v *shell.Visit, view *deskView, filter hold.Filter, open string) ([]hold.Queued, error) {
	rows, complete, err := c.Holds.Search(v.Context, v.Principal(), filter, view.Filter.search())
	if err != nil {
		return nil, err
	}
	if !complete {
		view.Partial = hold.SearchLimit
	}
	here := slices.IndexFunc(rows, func(q hold.Queued) bool { return q.AuthorizationID == open })
	view.Place, view.Total = int64(here)+1, int64(len(rows))
	from := max(0, min(here-deskBefore, len(rows)-deskPage))
	if skip, err := strconv.Atoi(v.Query("from")); err == nil && open == "" {
		from = max(0, min(skip, len(rows)))
	}
	to := min(from+deskPage, len(rows))
	if to < len(rows) {
		q := view.Filter.values()
		q.Set("from", strconv.Itoa(to))
		view.Next = v.At("reviews") + "?" + q.Encode()
	}
	return rows[from:to], nil
}

// neighbours returns the pages of the holds before and after the open one, and its position in words.
func (d deskView) neighbours(open models.Hold) (previous, next, position string) {
	rows, here := d.Rows, slices.IndexFunc(d.Rows, func(row heldRow) bool { return row.Here })
	after := here + 1
	if d.Place == 0 { // it has left the queue: its neighbours are those of the place that it had
		rows = rows[after:]
		after = slices.IndexFunc(rows, func(row heldRow) bool { return d.Filter.precedes(open, row) })
		if after < 0 {
			after = len(rows)
		}
		here = after
	}
	if here > 0 {
		previous = rows[here-1].URL
	}
	if after < len(rows) {
		next = rows[after].URL
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
		return open.DueAt.Before(row.DueAt)
	case byOpened:
		return open.OpenedAt.After(row.OpenedAt)
	default:
		return true
	}
}

// following returns the hold to open after a review: the next one of the queue, the previous one if there is no next, or
// the hold itself if it is the only one.
func (c *Pages) following(v *shell.Visit, id string) (string, error) {
	rows, err := c.rows(v, &deskView{Filter: filterOf(v)}, id)
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

func (c *Pages) heldRow(v *shell.Visit, r hold.Queued, f deskFilter) heldRow {
	now := show.Stamps{Now: c.Clock.Now()}
	row := heldRow{
		Queued: r, URL: v.At("reviews", r.AuthorizationID) + f.suffix(), Title: cmp.Or(r.Outline.Title, r.Subject), Why: cmp.Or(r.Stated, decisions.WhyOf(r.ReasonCodes)),
		Sum: comparedValue{Before: r.Outline.Amount}, Opened: now.At(r.OpenedAt), Due: now.At(r.DueAt), Alike: alike(r),
	}
	if row.Pending() {
		row.Urgency = show.Urgency(row.Due)
	}
	return row
}

// pendingHolds counts the pending holds; nil if counting fails, which does not fail the page.
func (c *Pages) pendingHolds(v *shell.Visit) *int64 {
	counts, err := c.Holds.Counts(v.Context, v.Scope(), "", "")
	if err != nil {
		return nil
	}
	return &counts.Pending
}
