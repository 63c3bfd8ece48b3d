package reviews

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/countersign-dev/countersign/internal/authz/hold"
	"github.com/countersign-dev/countersign/web/console/show"
)

// place is a set of places that show holds.
type place uint8

const (
	inWaiting   place = 1 << iota // the queue of pending holds
	inSettled                     // the queue of settled holds
	inSelection                   // a selection before something is done with it
	inResult                      // a selection with what became of it
	onPage                        // the page of a hold that is pending
)

// field is one column of a hold: its label, its places, its form and its position in exports. Pages and exports derive their columns from it.
type field struct {
	Label string // the heading of its column
	Class string
	In    place
	Cell  func(heldRow) cell

	Column string // its name in exports; empty if they leave it out
	Order  int    // of the columns of exports
	Value  func(hold.Queued) any
}

// cell is a field of one hold.
type cell struct {
	Label, Class string
	Hint         string // the whole of a text that may be cut
	Text         string
	Compared     *comparedValue
	Tag          *show.Tag
	Time         *show.Stamp
	Notes        []string
}

// fieldSet are fields in the order in which pages show them.
type fieldSet []field

// fields are those of a hold. Its title is the heading of its row, and the details that the request shows are compared in a selection.
var fields = fieldSet{
	{Label: "Amount", Class: "number amount", In: inWaiting | inSettled | inSelection | inResult, Cell: func(r heldRow) cell { return cell{Compared: &r.Sum} }},
	{Label: "Why it is held", Class: "why", In: inWaiting | inSettled | inSelection | inResult, Cell: func(r heldRow) cell { return cell{Text: r.Why, Hint: r.Why} },
		Column: "reason_codes", Order: 9, Value: func(q hold.Queued) any { return []string(q.ReasonCodes) }},
	{Label: "Risk", In: inWaiting | inSettled, Cell: func(r heldRow) cell { return tagged(r.RiskClass) },
		Column: "risk_class", Order: 8, Value: func(q hold.Queued) any { return q.RiskClass }},
	{Label: "Approvals", In: inWaiting | inSettled, Cell: func(r heldRow) cell { return cell{Text: r.given(), Notes: r.notes()} },
		Column: "approvals", Order: 10, Value: func(q hold.Queued) any { return q.Approvals }},
	{Label: "Approvals", In: inSelection, Cell: func(r heldRow) cell { return cell{Text: r.given()} },
		Column: "approvals_required", Order: 11, Value: func(q hold.Queued) any { return q.ApprovalsRequired }},
	{Label: "Assignee", Class: "ident", In: inWaiting | inSettled, Cell: func(r heldRow) cell { return cell{Text: r.Taken, Notes: openBy(r.Viewers)} },
		Column: "assigned_to", Order: 13, Value: func(q hold.Queued) any { return q.AssignedTo }},
	{Label: "Opened", Class: "soft opened", In: inWaiting | inSettled, Cell: func(r heldRow) cell { return cell{Time: &r.Opened} },
		Column: "opened_at", Order: 4, Value: func(q hold.Queued) any { return q.OpenedAt }},
	{Label: "Due", Class: "due", In: inWaiting | onPage, Cell: func(r heldRow) cell { return cell{Time: &r.Due} },
		Column: "due_at", Order: 3, Value: func(q hold.Queued) any { return q.DueAt }},
	{Label: "Status", Class: "due", In: inSettled, Cell: func(r heldRow) cell { return tagged(string(r.Status)) },
		Column: "status", Order: 2, Value: func(q hold.Queued) any { return string(q.Status) }},
	{Column: "id", Order: 1, Value: func(q hold.Queued) any { return q.AuthorizationID }},
	{Column: "subject", Order: 5, Value: func(q hold.Queued) any { return q.Subject }},
	{Column: "action", Order: 6, Value: func(q hold.Queued) any { return q.ActionKey }},
	{Column: "action_name", Order: 7, Value: func(q hold.Queued) any { return q.ActionName }},
	{Column: "own_resolution", Order: 12, Value: func(q hold.Queued) any { return q.OwnResolution }},
}

// in returns the fields that a place shows.
func (s fieldSet) in(p place) fieldSet {
	return slices.DeleteFunc(slices.Clone(s), func(f field) bool { return f.In&p == 0 })
}

// cells returns a hold's cells of the fields.
func (s fieldSet) cells(row heldRow) []cell {
	out := make([]cell, len(s))
	for i, f := range s {
		out[i] = f.Cell(row)
		out[i].Label, out[i].Class = f.Label, f.Class
	}
	return out
}

// exported returns the fields of exports.
func (s fieldSet) exported() fieldSet {
	out := slices.DeleteFunc(slices.Clone(s), func(f field) bool { return f.Column == "" })
	slices.SortFunc(out, func(a, b field) int { return cmp.Compare(a.Order, b.Order) })
	return out
}

// columns are the names of the fields in exports.
func (s fieldSet) columns() []string {
	out := make([]string, len(s))
	for i, f := range s {
		out[i] = f.Column
	}
	return out
}

// values are the fields of a hold in exports.
func (s fieldSet) values(q hold.Queued) []any {
	out := make([]any, len(s))
	for i, f := range s {
		out[i] = f.Value(q)
	}
	return out
}

func tagged(word string) cell {
	tag := show.TagOf(word)
	return cell{Tag: &tag}
}

func (r heldRow) given() string {
	return strconv.Itoa(r.Approvals) + " of " + strconv.Itoa(r.ApprovalsRequired)
}

// notes say whose approvals a hold needs, and what keeps the user from approving it or what the user did.
func (r heldRow) notes() []string {
	out := slices.Clone(r.TeamLines)
	if r.Unable != "" {
		out = append(out, r.Unable)
	}
	if r.OwnResolution != nil {
		out = append(out, "you: "+show.Resolved(*r.OwnResolution))
	}
	return out
}

// openBy says who has a hold open.
func openBy(viewers []string) []string {
	if len(viewers) == 0 {
		return nil
	}
	return []string{"open: " + strings.Join(viewers, ", ")}
}
