package hold

import (
	"cmp"
	"context"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/authz/display"
	"github.com/countersign-dev/countersign/internal/platform/displaytext"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
)

// SearchLimit is the number of holds that a search reads. The details of a request are sealed and have no index: a search opens
// those of each hold that it reads.
const SearchLimit = 1000

// Search is a search for holds.
type Search struct {
	// Text matches the beginning of the subject's or the authorization's id, and any part of the action's key or name or of a
	// value that the request shows, whatever its case, accents, spaces and separators (displaytext.Typed); empty for all holds of the filter.
	Text string
	// ByAmount sorts by the first amount of money among the details: by currency, and the largest of each first.
	ByAmount bool
}

// Search returns the holds of the filter that match. complete is false if the filter has more than SearchLimit holds: only
// the first of them, in the filter's order, were searched.
func (s *Service) Search(ctx context.Context, p identity.Principal, f Filter, in Search) (found []Queued, complete bool, err error) {
	rows, next, err := s.Queue(ctx, p, f, pg.Page{Limit: SearchLimit})
	if err != nil {
		return nil, false, err
	}
	if in.Text != "" {
		text := displaytext.Type(in.Text)
		rows = slices.DeleteFunc(rows, func(q Queued) bool { return !q.matches(text) })
	}
	if in.ByAmount {
		slices.SortStableFunc(rows, func(a, b Queued) int { return amountOf(a.Shown).compare(amountOf(b.Shown)) })
	}
	return rows, next == "", nil
}

// SearchPage returns one page of what Search finds. It is refused if the filter has more holds than a search reads. The cursor is a
// position: holds that leave the filter between two pages move it.
func (s *Service) SearchPage(ctx context.Context, p identity.Principal, f Filter, in Search, page pg.Page) ([]Queued, string, error) {
	// Every page searches the whole filter again, which SearchLimit bounds: results are never stored, because they show details.
	from, err := positionOf(page.After)
	if err != nil {
		return nil, "", err
	}
	rows, complete, err := s.Search(ctx, p, f, in)
	if err != nil {
		return nil, "", err
	}
	if !complete {
		msg := fmt.Sprintf("the details of at most %d holds can be searched or ordered by amount; narrow the list by action, risk_class, subject, opened_before or due_before", SearchLimit)
		return nil, "", problem.Invalid([]any{"query", "q"}, msg, "too_many")
	}
	rows = rows[min(from, len(rows)):]
	if len(rows) <= page.Limit {
		return rows, "", nil
	}
	return rows[:page.Limit], pg.NextCursor(time.UnixMicro(int64(from+page.Limit)), searched), nil
}

// searched is the id in the cursor of a searched list, whose time is a position in microseconds since 1970.
const searched = "searched"

// positionOf returns the position that a cursor of a searched list stands for.
func positionOf(cursor string) (int, error) {
	if cursor == "" {
		return 0, nil
	}
	at, id, err := pg.ParseCursor(cursor)
	if n := at.UnixMicro(); err != nil || id != searched || n < 0 || n > SearchLimit {
		return 0, problem.Invalid([]any{"query", "cursor"}, "cursor must be the value from a Link header of this list.", "cursor_invalid")
	}
	return int(at.UnixMicro()), nil
}

// matches reports whether a text is found in what the queue shows of the hold.
func (q Queued) matches(text displaytext.Typed) bool {
	return text.Begins(q.Subject) || text.Begins(q.AuthorizationID) || text.In(q.ActionKey) || text.In(q.ActionName) ||
		slices.ContainsFunc(q.Shown, func(d display.Detail) bool { return text.In(d.Value) })
}

// amount is an amount of money; its value is nil if there is none.
type amount struct {
	value    *big.Rat
	currency string
}

// amountOf returns the first amount of money among the details.
func amountOf(shown []display.Detail) amount {
	for _, d := range shown {
		number, currency, _ := strings.Cut(d.Canonical, " ")
		if value, ok := new(big.Rat).SetString(number); ok && d.Format == display.Money {
			return amount{value, currency}
		}
	}
	return amount{}
}

// compare orders amounts by currency, the largest of each first, and no amount last.
func (a amount) compare(b amount) int {
	switch {
	case a.value == nil && b.value == nil:
		return 0
	case a.value == nil:
		return 1
	case b.value == nil:
		return -1
	case a.currency != b.currency:
		return cmp.Compare(a.currency, b.currency)
	default:
		return b.value.Cmp(a.value)
	}
}
