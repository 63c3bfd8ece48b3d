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

// Related are earlier holds whose requests show the same value, such as the same payee, newest first.
type Related struct {
	display.Detail
	Holds []RelatedHold
}

// RelatedHold is a hold with what its request shows in one line.
type RelatedHold struct {
	Authorization, Subject string
	Status                 models.HoldStatus
	Outcome                string // that the relying party reported; empty for none
	OpenedAt               time.Time
	display.Outline
}

// Related returns the holds that share an identifying detail with the hold of an authorization. The details are sealed and have no index: it
// searches those of the newest holds, relatedEach of each status. A value that no other hold has is left out.
func (s *Service) Related(ctx context.Context, scope pg.Scope, id string, outline display.Outline) ([]Related, error) {
	if len(outline.Identifying) == 0 {
		return nil, nil
	}
	rows, err := newestHolds(ctx, s.store.Q, scope, id)
	if err != nil {
		return nil, err
	}
	actions := make([]string, len(rows))
	for i, row := range rows {
		actions[i] = row.ActionID
	}
	plans, err := s.plansOf(ctx, scope, actions)
	if err != nil {
		return nil, err
	}
	out := make([]Related, len(outline.Identifying))
	for i, d := range outline.Identifying {
		out[i].Detail = d
	}
	for _, row := range rows {
		shown, err := s.vault.Open(row.AuthorizationID, row.Details)
		if err != nil {
			return nil, err
		}
		found := plans[row.ActionID].Outline(shown)
		h := RelatedHold{Authorization: row.AuthorizationID, Subject: row.Subject, Status: Effective(models.Hold{Status: row.Status, DueAt: row.DueAt}, s.clock.Now()),
			Outcome: row.Outcome, OpenedAt: row.OpenedAt, Outline: found}
		for i, d := range outline.Identifying {
			if len(out[i].Holds) < RelatedLimit && slices.ContainsFunc(found.Identifying, func(f display.Detail) bool {
				return displaytext.Fold(f.Value) == displaytext.Fold(d.Value)
			}) {
				out[i].Holds = append(out[i].Holds, h)
			}
		}
	}
	return slices.DeleteFunc(out, func(r Related) bool { return len(r.Holds) == 0 }), nil
}

// plansOf returns what actions show of their requests, by the action's id.
func (s *Service) plansOf(ctx context.Context, scope pg.Scope, actions []string) (map[string]display.Plan, error) {
	slices.Sort(actions)
	schemas, err := schemasOf(ctx, s.store.Q, scope, slices.Compact(actions))
	if err != nil {
		return nil, err
	}
	out := make(map[string]display.Plan, len(schemas))
	for id, schema := range schemas {
		if out[id], err = display.Parse(schema); err != nil {
			return nil, err
		}
	}
	return out, nil
}
