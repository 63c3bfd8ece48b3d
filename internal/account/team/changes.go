package team

import (
	"context"
	"errors"
	"time"

	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// Create adds a team. A key in use is a conflict. It is refused with tenancy.ErrSecondApprover as the cause if the environment
// requires a second approver: teams decide who may approve.
func (s *Service) Create(ctx context.Context, scope pg.Scope, by By, d Draft) (View, error) {
	var row models.Team
	err := s.store.Write(ctx, func(q *pg.Q) (err error) {
		op := Operation{Q: q, Scope: scope, By: by, At: s.clock.Now()}
		if row, err = op.Create(ctx, d); err != nil {
			return err
		}
		return tenancy.RefuseAlone(ctx, q, scope)
	})
	if err != nil {
		return View{}, err
	}
	return s.Get(ctx, scope, row.ID)
}

// Update changes the name or the members of a team. A change that leaves the team as it is records nothing. It is refused like
// Create if a second approver is required.
func (s *Service) Update(ctx context.Context, scope pg.Scope, by By, id string, u Update) (View, error) {
	err := s.store.Write(ctx, func(q *pg.Q) error {
		changed, err := Operation{Q: q, Scope: scope, By: by, At: s.clock.Now()}.Update(ctx, id, u)
		if err != nil || !changed {
			return err
		}
		return tenancy.RefuseAlone(ctx, q, scope)
	})
	if err != nil {
		return View{}, err
	}
	return s.Get(ctx, scope, id)
}

// Delete deletes a team. It is refused while an active policy or a pending hold requires the team, because no one could approve then,
// and like Create if a second approver is required.
func (s *Service) Delete(ctx context.Context, scope pg.Scope, by By, id string) error {
	return s.store.Write(ctx, func(q *pg.Q) error {
		if err := (Operation{Q: q, Scope: scope, By: by, At: s.clock.Now()}).Delete(ctx, id); err != nil {
			return err
		}
		return tenancy.RefuseAlone(ctx, q, scope)
	})
}

// Operation makes one change in the caller's transaction. It does not check whether a second approver is required: package change
// uses it for changes that one has approved.
type Operation struct {
	Q     *pg.Q
	Scope pg.Scope
	By    By
	At    time.Time
}

// Create is Service.Create.
func (op Operation) Create(ctx context.Context, d Draft) (models.Team, error) {
	name, err := checkName(d.Name)
	if err != nil {
		return models.Team{}, err
	}
	if !keyPattern.MatchString(d.Key) {
		return models.Team{}, problem.Invalid([]any{"body", "key"}, "key must begin with a lower-case letter and have 1 to 64 lower-case letters, digits and underscores", "value_error")
	}
	if _, err := tenancy.GetEnvironment(ctx, op.Q, op.Scope); err != nil {
		return models.Team{}, err
	}
	row := models.Team{
		ID: ids.New(ids.Team), TenantID: op.Scope.Tenant, EnvironmentID: op.Scope.Environment, Key: d.Key, Name: name, CreatedAt: op.At, CreatedBy: op.By.Actor,
	}
	err = insertTeam(ctx, op.Q, row)
	if pg.Violates(err, "teams_environment_id_key_key") {
		return row, problem.Newf(problem.Conflict, "The environment has a team with the key %q. Choose a different key, or change that team.", d.Key)
	}
	if err != nil {
		return row, err
	}
	added, err := op.add(ctx, row, nil, d.Members)
	if err != nil {
		return row, err
	}
	return row, op.append(ctx, events.TeamCreatedData{Team: row.ID, Key: row.Key, Members: append([]string{}, added...)})
}

// Update is Service.Update, and reports whether anything changed.
func (op Operation) Update(ctx context.Context, id string, u Update) (bool, error) {
	row, err := op.lock(ctx, id)
	if err != nil {
		return false, err
	}
	return op.update(ctx, row, u)
}

// Delete is Service.Delete.
func (op Operation) Delete(ctx context.Context, id string) error {
	row, err := op.lock(ctx, id)
	if err != nil {
		return err
	}
	policies, holds, err := UsesOfTeam(ctx, op.Q, op.Scope, row.Key)
	if err != nil {
		return err
	}
	// The policy versions are locked against this by the share lock that an activation takes on the row of the team.
	if policies+holds > 0 {
		return problem.Newf(problem.Conflict, "The team %q is required by %d active policies and %d pending holds. "+
			"Activate policy versions that do not name it, and settle the holds, before you delete it.", row.Key, policies, holds)
	}
	if err := deleteTeam(ctx, op.Q, op.Scope, id); err != nil {
		return err
	}
	return op.append(ctx, events.TeamDeletedData{Team: row.ID, Key: row.Key})
}

// lock locks a team of the environment, so that changes of it are made one after the other.
func (op Operation) lock(ctx context.Context, id string) (models.Team, error) {
	row, err := LockTeam(ctx, op.Q, op.Scope, id)
	if errors.Is(err, pg.ErrNotFound) {
		return row, problem.NotFoundBy("team_id")
	}
	return row, err
}
