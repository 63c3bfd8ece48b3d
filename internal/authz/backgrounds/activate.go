package backgrounds

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/behavior/features"
	"github.com/countersign-dev/countersign/internal/behavior/moments"
	"github.com/countersign-dev/countersign/internal/behavior/scoring"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// Reasons for which a background is retired. They are in events and must not change.
const (
	ReasonTooFew     = "too_few_people"
	ReasonRolledBack = "rolled_back"
)

// store stores a compared background, and the event of a refusal. The rates in the event are of the sample of people, of whom nothing else is
// recorded. A background of the same number was stored by a concurrent call.
func (s *Service) store(ctx context.Context, row models.EnvironmentBackground, bg *scoring.Background, before string, out Result, f *forming) error {
	var err error
	if row.Body, err = bg.Marshal(); err != nil {
		return err
	}
	if row.Comparison, err = json.Marshal(out.Comparison); err != nil {
		return err
	}
	return s.Store.Write(ctx, func(q *pg.Q) error {
		choice, err := learnedChoice(ctx, q, f.scope)
		if err != nil {
			return err
		}
		if choice != row.Source {
			return problem.New(problem.Conflict, "The environment's setting background has changed; learn again.")
		}
		inserted, err := insertLearnedBackground(ctx, q, row)
		if err != nil {
			return err
		}
		if !inserted {
			return problem.New(problem.Conflict, "A background of this environment was formed at the same time; learn again.")
		}
		if row.Status != models.BackgroundRefused {
			return nil
		}
		return events.Append(ctx, q, events.Entry{Scope: f.scope, At: f.at, Actor: f.by, Data: events.BackgroundOwnRefusedData{
			Background: row.Version, Modality: row.Modality, People: row.People, Source: string(row.Source), InForce: before,
			ErrorBefore: out.Comparison.Before.EER, ErrorAfter: out.Comparison.After.EER,
		}})
	})
}

// withdraw retires the active background because too few people remain.
func (s *Service) withdraw(ctx context.Context, f *forming) error {
	if f.active() == nil {
		return nil
	}
	err := s.Store.Write(ctx, func(q *pg.Q) error {
		return s.retire(ctx, q, f.scope, retirement{string(f.ref.Modality), ReasonTooFew, s.deployment(f.ref.Modality), f.at, f.by})
	})
	if errors.Is(err, pg.ErrNotFound) {
		return nil
	}
	return err
}

// retirement says which modality's background is retired and why, and which one is in force then.
type retirement struct {
	modality, reason, next string
	at                     time.Time
	by                     string // actor of the event
}

// retire retires a background and records it. It returns pg.ErrNotFound if none is active.
func (s *Service) retire(ctx context.Context, q *pg.Q, scope pg.Scope, r retirement) error {
	version, err := tenancy.RetireLearned(ctx, q, scope, r.modality, r.at)
	if err != nil {
		return err
	}
	return events.Append(ctx, q, events.Entry{Scope: scope, At: r.at, Actor: r.by, Data: events.BackgroundOwnRetiredData{
		Background: version, Modality: r.modality, Reason: r.reason, InForce: r.next,
	}})
}

// deployment returns the version of the deployment's background, which is in force if an environment has none.
func (s *Service) deployment(m features.Modality) string {
	if bg := s.Assessor.Model().Background(m); bg != nil {
		return bg.Version
	}
	return ""
}

// Activate puts a candidate in force for its environment, in place of the background in force, and records it. A background that is in
// force stays so: the call is safe to repeat.
func (s *Service) Activate(ctx context.Context, environment, version string, at time.Time, by string) error {
	scope, err := s.Scope(ctx, environment)
	if err != nil {
		return err
	}
	err = s.Store.Write(ctx, func(q *pg.Q) error {
		// The setting is locked below: it cannot be switched off between this check and the activation.
		row, err := s.find(ctx, q, scope, version)
		// In force already: an earlier call was repeated because its result was lost.
		if err != nil || row.Status == models.BackgroundActive {
			return err
		}
		choice, err := learnedChoice(ctx, q, scope)
		if err != nil {
			return err
		}
		if choice != row.Source || row.Status != models.BackgroundCandidate {
			return problem.Newf(problem.Conflict, "The background %s is %s and cannot be activated.", version, row.Status)
		}
		replaces, err := tenancy.RetireLearned(ctx, q, scope, row.Modality, at)
		if errors.Is(err, pg.ErrNotFound) {
			replaces, err = s.deployment(features.Modality(row.Modality)), nil
		}
		if err != nil {
			return err
		}
		activated, err := activateLearnedBackground(ctx, q, scope, version, models.BackgroundCandidate, at)
		if err != nil {
			return err
		}
		if !activated {
			return problem.Newf(problem.Conflict, "The background %s was changed at the same time; learn again.", version)
		}
		data, err := activation(row, replaces)
		if err != nil {
			return err
		}
		return events.Append(ctx, q, events.Entry{Scope: scope, At: at, Actor: by, Data: data})
	})
	if err != nil {
		return err
	}
	return s.Load(ctx)
}

func (s *Service) find(ctx context.Context, q *pg.Q, scope pg.Scope, version string) (models.EnvironmentBackground, error) {
	rows, err := OfEnvironment(ctx, q, scope)
	if err != nil {
		return models.EnvironmentBackground{}, err
	}
	for _, row := range rows {
		if row.Version == version {
			return row, nil
		}
	}
	return models.EnvironmentBackground{}, problem.NewNotFound()
}

func activation(row models.EnvironmentBackground, replaces string) (events.Data, error) {
	var c moments.Comparison
	err := json.Unmarshal(row.Comparison, &c)
	return events.BackgroundOwnActivatedData{
		Background: row.Version, Modality: row.Modality, People: row.People, Source: string(row.Source), Replaces: replaces,
		ErrorBefore: c.Before.EER, ErrorAfter: c.After.EER,
	}, err
}

// Rollback replaces the active background by the previous one, or by the deployment's if there is none. It
// returns the version in force, or the problem not_found if the environment has no background of its own in force.
func (s *Service) Rollback(ctx context.Context, environment string, m features.Modality, at time.Time, by string) (string, error) {
	scope, err := s.Scope(ctx, environment)
	if err != nil {
		return "", err
	}
	// Templates need no rollback of their own: they are trained anew from the sessions that they contain.
	next := s.deployment(m)
	err = s.Store.Write(ctx, func(q *pg.Q) error {
		rows, err := OfEnvironment(ctx, q, scope)
		if err != nil {
			return err
		}
		// The one rolled back stays retired and is the newest, so that Form makes no other from the same people.
		previous := beforeActive(rows, string(m))
		if previous != "" {
			next = previous
		}
		if err := s.retire(ctx, q, scope, retirement{string(m), ReasonRolledBack, next, at, by}); errors.Is(err, pg.ErrNotFound) {
			return problem.Newf(problem.NotFound, "The environment has no %s background of its own in force.", m)
		} else if err != nil || previous == "" {
			return err
		}
		_, err = activateLearnedBackground(ctx, q, scope, previous, models.BackgroundRetired, at)
		return err
	})
	if err != nil {
		return "", err
	}
	return next, s.Load(ctx)
}

// beforeActive returns the newest background that was in force before the active one; empty if there is none. Rows are newest first.
func beforeActive(rows []models.EnvironmentBackground, modality string) string {
	// A candidate or a refused background was never in force and is skipped.
	passed := false
	for _, row := range rows {
		switch {
		case row.Modality != modality:
		case row.Status == models.BackgroundActive:
			passed = true
		case passed && row.Status == models.BackgroundRetired && row.ActivatedAt != nil:
			return row.Version
		}
	}
	return ""
}

// CarryOver trains a batch of templates of earlier backgrounds anew, and reports whether there are more.
func (s *Service) CarryOver(ctx context.Context, at time.Time, by string) (done int, more bool, err error) {
	if err := s.Load(ctx); err != nil {
		return 0, false, err
	}
	return s.Carry(ctx, at, by)
}
