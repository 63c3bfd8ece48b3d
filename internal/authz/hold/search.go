package hold

import (
	"cmp"
	"context"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/authz/display"
	"github.com/countersign-dev/countersign/internal/platform/store"
)

// SearchLimit is the number of holds that a search reads. The details of a request are sealed and have no index: a search opens
// those of each hold that it reads.
const SearchLimit = 1000

// Search is a search for holds.
type Search struct {
	// Text matches the beginning of the subject's or the authorization's id, and any part of the action's key or name or of a
	// value that the request shows, in upper or lower case; empty for all holds of the filter.
	Text string
	// ByAmount sorts by the first amount of money among the details, largest first, whatever its currency.
	ByAmount bool
}

// Search returns the holds of the filter that match. complete is false if the filter has more than SearchLimit holds: only
// the first of them, in the filter's order, were searched.
func (s *Service) Search(ctx context.Context, p identity.Principal, f store.HoldFilter, in Search) (found []Queued, complete bool, err error) {
	rows, next, err := s.Queue(ctx, p, f, store.Page{Limit: SearchLimit})
	if err != nil {
		return nil, false, err
	}
	if text := strings.ToLower(in.Text); text != "" {
		rows = slices.DeleteFunc(rows, func(q Queued) bool { return !q.matches(text) })
	}
	if in.ByAmount {
		slices.SortStableFunc(rows, func(a, b Queued) int { return cmp.Compare(amount(b.Shown), amount(a.Shown)) })
	}
	return rows, next == "", nil
}

func (q Queued) matches(text string) bool {
	has := func(value string) bool { return strings.Contains(strings.ToLower(value), text) }
	return strings.HasPrefix(strings.ToLower(q.Subject), text) || strings.HasPrefix(q.AuthorizationID, text) || has(q.ActionKey) ||
		has(q.ActionName) || slices.ContainsFunc(q.Shown, func(d display.Detail) bool { return has(d.Value) })
}

// money is the form in which internal/authz/display writes an amount.
var money = regexp.MustCompile(`^-?[0-9,]+(\.[0-9]+)? [A-Z]{3}$`)

// amount returns the first amount of money among the details; -1 if there is none.
func amount(shown []display.Detail) float64 {
	for _, d := range shown {
		if !money.MatchString(d.Value) {
			continue
		}
		number, _, _ := strings.Cut(d.Value, " ")
		if n, err := strconv.ParseFloat(strings.ReplaceAll(number, ",", ""), 64); err == nil {
			return n
		}
	}
	return -1
}
