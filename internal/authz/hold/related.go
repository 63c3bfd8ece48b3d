package hold

import (
	"context"
	"slices"
	"time"

	"github.com/countersign-dev/countersign/internal/authz/display"
	"github.com/countersign-dev/countersign/internal/platform/displaytext"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// RelatedLimit is the number of related holds for each detail that they share.
const RelatedLimit = 10

// FindLimit is the number of holds that Find returns.
const FindLimit = 8

// The numbers of holds of each status whose details are read: they are sealed and have no index.
const (
	relatedEach = 150
	findEach    = 500
)

// Related are earlier holds whose requests show the same value, such as the same payee, newest first.
type Related struct {
	display.Detail
	Holds []RelatedHold
}

// RelatedHold is a hold with what its request shows.
type RelatedHold struct {
	Authorization, Subject string
	Status                 models.HoldStatus
	Outcome                string // that the relying party reported; empty for none
	OpenedAt               time.Time
	Shown                  []display.Detail
	display.Outline
}

// Related returns the holds that share an identifying detail with the hold of an authorization, among the newest of each status. A value that
// no other hold has is left out.
func (s *Service) Related(ctx context.Context, scope pg.Scope, id string, outline display.Outline) ([]Related, error) {
	if len(outline.Identifying) == 0 {
		return nil, nil
	}
	rows, err := s.newest(ctx, scope, id, relatedEach)
	if err != nil {
		return nil, err
	}
	var out []Related
	for _, d := range outline.Identifying {
		value := displaytext.Fold(d.Value)
		of := Related{Detail: d, Holds: slices.DeleteFunc(slices.Clone(rows), func(h RelatedHold) bool {
			return !slices.ContainsFunc(h.Identifying, func(f display.Detail) bool { return displaytext.Fold(f.Value) == value })
		})}
		of.Holds = of.Holds[:min(len(of.Holds), RelatedLimit)]
		if len(of.Holds) > 0 {
			out = append(out, of)
		}
	}
	return out, nil
}

// Find returns the newest holds of any status that show a text, as a search of the queue finds it, and whether there are more than FindLimit.
func (s *Service) Find(ctx context.Context, scope pg.Scope, text string) (found []RelatedHold, more bool, err error) {
	typed := displaytext.Type(text)
	if typed.Empty() {
		return nil, false, nil
	}
	rows, err := s.newest(ctx, scope, "", findEach)
	found = slices.DeleteFunc(rows, func(h RelatedHold) bool {
		return !slices.ContainsFunc(h.Shown, func(d display.Detail) bool { return typed.In(d.Value) })
	})
	return found[:min(len(found), FindLimit)], len(found) > FindLimit, err
}

// newest opens the newest holds of each status that show details, except one, newest first.
func (s *Service) newest(ctx context.Context, scope pg.Scope, except string, each int) ([]RelatedHold, error) {
	rows, err := newestHolds(ctx, s.store.Q, scope, except, each)
	if err != nil {
		return nil, err
	}
	out := make([]RelatedHold, len(rows))
	for i, row := range rows {
		shown, err := s.vault.Open(row.AuthorizationID, row.Details)
		if err != nil {
			return nil, err
		}
		out[i] = RelatedHold{
			Authorization: row.AuthorizationID, Subject: row.Subject, Status: Effective(models.Hold{Status: row.Status, DueAt: row.DueAt}, s.clock.Now()),
			Outcome: row.Outcome, OpenedAt: row.OpenedAt, Shown: shown, Outline: display.Outlined(shown),
		}
	}
	return out, nil
}
