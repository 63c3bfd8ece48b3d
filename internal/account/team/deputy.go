package team

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/countersign-dev/countersign/internal/account/staff"
	"github.com/countersign-dev/countersign/internal/platform/apitime"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// MaxAbsence is the longest period of a deputy.
const MaxAbsence = 90 * 24 * time.Hour

// Absence is a period in which a deputy may approve for a person.
//
// Approvals are judged by the time at which they were given: one that a deputy gave in the period counts after its end as well, as
// long as the absent person could approve.
type Absence struct {
	// Person and Deputy are ids of people of the same tenant.
	Person, Deputy string
	StartsAt       time.Time
	// EndsAt is exclusive, so that one deputyship can end when the next begins.
	EndsAt time.Time
}

// NameDeputy names a deputy for a period. The request must come from the absent person or an operator at the command line. Deputies
// are not passed on: the deputy of a deputy may not approve. A person has one deputy at a time, and stands in for one person at a time.
func (s *Service) NameDeputy(ctx context.Context, scope pg.Scope, by By, a Absence) (models.Deputy, error) {
	now := s.clock.Now()
	if err := a.check(now); err != nil {
		return models.Deputy{}, err
	}
	row := models.Deputy{
		ID: ids.New(ids.Deputy), TenantID: scope.Tenant, EnvironmentID: scope.Environment, PersonID: a.Person, DeputyID: a.Deputy,
		StartsAt: a.StartsAt.UTC(), EndsAt: a.EndsAt.UTC(), CreatedAt: now,
	}
	err := s.store.Write(ctx, func(q *pg.Q) error {
		one, err := lockBoth(ctx, q, scope.Tenant, a)
		if err != nil {
			return err
		}
		if one {
			return wrongAbsence("deputy", "The deputy must not be an account of the absent person. Choose a different deputy.")
		}
		able, err := ReviewersOfTeams(ctx, q, scope, []string{"person:" + a.Person, "person:" + a.Deputy}, now)
		if err != nil {
			return err
		}
		// A deputy without the role could not open the console's queue, and the approval would not count.
		if len(able) != 2 {
			return wrongAbsence("deputy", "Both the absent person and the deputy must be reviewers of this environment. Choose a different deputy.")
		}
		overlapping, err := deputiesOverlap(ctx, q, row)
		if err != nil {
			return err
		}
		if overlapping {
			return problem.New(problem.Conflict, "The absent person has a deputy in this period already, or the deputy stands in for a different person. Withdraw the other one, or choose a different period.")
		}
		if err := insertDeputy(ctx, q, row); err != nil {
			return err
		}
		return Operation{Q: q, Scope: scope, By: by, At: now}.append(ctx, deputyData(row))
	})
	return row, err
}

// WithdrawDeputy ends a deputyship of the absent person now. What the deputy approved before remains.
func (s *Service) WithdrawDeputy(ctx context.Context, scope pg.Scope, by By, person, id string) error {
	now := s.clock.Now()
	return s.store.Write(ctx, func(q *pg.Q) error {
		row, ended, err := endDeputy(ctx, q, scope, person, id, now)
		if errors.Is(err, pg.ErrNotFound) || err == nil && !ended {
			return problem.New(problem.Conflict, "The person has no deputyship with this id that could be withdrawn: it has ended already, or it is of a different person. countersign team deputy list shows the others.")
		}
		if err != nil {
			return err
		}
		return Operation{Q: q, Scope: scope, By: by, At: now}.append(ctx, events.DeputyWithdrawnData(deputyData(row)))
	})
}

// Deputies lists the deputyships of the environment that have not ended, in the order of their beginnings.
func (s *Service) Deputies(ctx context.Context, scope pg.Scope) ([]models.Deputy, error) {
	return deputiesNotEnded(ctx, s.store.Q, scope, s.clock.Now())
}

// check refuses an impossible period. The limit keeps a forgotten deputy from approving for years.
func (a Absence) check(now time.Time) error {
	switch {
	case a.Person == a.Deputy:
		return wrongAbsence("deputy", "The deputy must not be the absent person. Choose a different deputy.")
	case !a.EndsAt.After(a.StartsAt), !a.EndsAt.After(now):
		return wrongAbsence("ends_at", "The absence must end after it begins, and in the future. Choose a later end.")
	case a.EndsAt.Sub(a.StartsAt) > MaxAbsence:
		return wrongAbsence("ends_at", "A deputy stands in for at most 90 days. Choose a shorter period.")
	default:
		return nil
	}
}

// wrongAbsence refuses a value of an absence. Forms show the refusal at the field.
func wrongAbsence(field, detail string) error {
	return &problem.Error{Code: problem.BadRequest, Detail: detail, Fields: []problem.Field{{Loc: []any{"body", field}, Msg: detail, Type: "value_error"}}}
}

// lockBoth locks both people in one order, so that two overlapping deputyships cannot be named at the same moment. It
// reports whether they are accounts of one person.
func lockBoth(ctx context.Context, q *pg.Q, tenant string, a Absence) (one bool, err error) {
	both := []string{a.Person, a.Deputy}
	slices.Sort(both)
	var principals []string
	for _, id := range both {
		p, err := staff.LockPerson(ctx, q, tenant, id)
		if errors.Is(err, pg.ErrNotFound) {
			return false, problem.Newf(problem.BadRequest, "The tenant has no person %q. Give the id (prs_...) of one whom countersign person list shows.", id)
		}
		if err != nil {
			return false, err
		}
		principals = append(principals, p.CountsAs())
	}
	return principals[0] == principals[1], nil
}

// deputyData returns the data of both events of a deputyship.
func deputyData(row models.Deputy) events.DeputyNamedData {
	return events.DeputyNamedData{
		Deputyship: row.ID, Person: row.PersonID, Deputy: row.DeputyID, StartsAt: apitime.Time(row.StartsAt), EndsAt: apitime.Time(row.EndsAt),
	}
}
