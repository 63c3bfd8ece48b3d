package research

import (
	"context"
	"time"

	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/pg"
)

// rotateBatch is the maximum number of periods that one call of Rotate ends.
const rotateBatch = 100

// Rotate ends the periods that began at least life ago and destroys their salts; the environment's next vector begins a new
// period. It returns how many it ended and whether there may be more. By is the id of the workflow.
func (s *Service) Rotate(ctx context.Context, life time.Duration, at time.Time, by string) (int, bool, error) {
	due, err := currentPeriodsBefore(ctx, s.store.Q, at.Add(-life), rotateBatch)
	if err != nil {
		return 0, false, err
	}
	for i, p := range due {
		if err := s.endPeriod(ctx, p, at, by); err != nil {
			return i, true, err
		}
	}
	return len(due), len(due) == rotateBatch, nil
}

// endPeriod ends one period, destroys its salt and records research.salt_destroyed, unless a concurrent call did.
func (s *Service) endPeriod(ctx context.Context, p CurrentPeriod, at time.Time, by string) error {
	return s.store.Write(ctx, func(q *pg.Q) error {
		ended, err := endPeriod(ctx, q, p.ID, at)
		if err != nil || !ended {
			return err
		}
		return events.Append(ctx, q, events.Entry{
			Scope: pg.Scope{Tenant: p.Tenant, Environment: p.Environment}, At: at,
			Actor: "workflow:" + by, WorkflowID: by, Data: events.ResearchSaltDestroyedData{Period: p.ID},
		})
	})
}

// RecordLearning records background.learned in every environment whose vectors are in the range, with data and the number of
// the environment's vectors.
func (s *Service) RecordLearning(ctx context.Context, r Range, data events.BackgroundLearnedData, at time.Time, actor string) error {
	return s.store.Write(ctx, func(q *pg.Q) error {
		read, err := countVectors(ctx, q, r)
		if err != nil {
			return err
		}
		for _, g := range read {
			own := data
			own.Vectors = g.Rows
			err := events.Append(ctx, q, events.Entry{Scope: pg.Scope{Tenant: g.Tenant, Environment: g.Environment},
				At: at, Actor: actor, Data: own})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// SetEnabled switches research on or off for an environment. Switching it off ends the current period and, if remove is set,
// deletes every vector of the environment. It returns how many vectors it deleted.
func (s *Service) SetEnabled(ctx context.Context, scope pg.Scope, on, remove bool, at time.Time, actor string) (int64, error) {
	var removed int64
	err := s.store.Write(ctx, func(q *pg.Q) error {
		before, err := setResearchEnabled(ctx, q, scope, on)
		if err != nil {
			return err
		}
		if before != on {
			if err := recordSwitch(ctx, q, scope, on, at, actor); err != nil {
				return err
			}
		}
		if on {
			return nil
		}
		if err := endPeriods(ctx, q, scope.Environment, at); err != nil || !remove {
			return err
		}
		if removed, err = deleteAll(ctx, q, scope.Environment); err != nil || removed == 0 {
			return err
		}
		return events.Append(ctx, q, events.Entry{Scope: scope, At: at, Actor: actor,
			Data: events.ResearchVectorsRemovedData{Removed: removed}})
	})
	return removed, err
}

// recordSwitch records environment.updated with the digests of the setting before and after.
func recordSwitch(ctx context.Context, q *pg.Q, scope pg.Scope, on bool, at time.Time, actor string) error {
	setting := func(on bool) any { return map[string]bool{"research_enabled": on} }
	change, err := events.NewChange(setting(!on), setting(on))
	if err != nil {
		return err
	}
	data := events.EnvironmentResearchChangedData{ResearchEnabled: on, Change: change}
	return events.Append(ctx, q, events.Entry{Scope: scope, At: at, Actor: actor, Data: data})
}
