package tenancy

import (
	"context"
	"slices"

	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/platform/webname"
	"github.com/countersign-dev/countersign/models"
)

// RPIDs is a change of the RP IDs that a tenant may use. Only the operator may make it: an RP ID belongs to one tenant, whose related
// origins are published for it.
type RPIDs struct{ Give, Take []string }

// UpdateRPIDs gives RP IDs to a tenant, takes others from it, and returns those that it has then. It returns the problem conflict for one
// that another tenant has, and for one to take that an environment uses.
func (s *Service) UpdateRPIDs(ctx context.Context, tenant string, in RPIDs, actor string) ([]string, error) {
	var has models.Strings
	var changed []models.Environment
	err := s.store.Write(ctx, func(q *pg.Q) error {
		var err error
		if changed, err = lockAll(ctx, q, tenant); err != nil {
			return err
		}
		if err := give(ctx, q, tenant, in.Give); err != nil {
			return err
		}
		if err := take(ctx, q, tenant, in.Take); err != nil {
			return err
		}
		if has, err = RPIDsOfTenant(ctx, q, tenant); err != nil {
			return err
		}
		for _, env := range changed {
			entry := events.Entry{
				Scope: pg.Scope{Tenant: tenant, Environment: env.ID}, At: s.clock.Now(), Actor: actor, Data: events.EnvironmentRPIDsGivenData{GivenRPIDs: has},
			}
			if err := events.Append(ctx, q, entry); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		for _, env := range changed {
			s.changed(env.ID)
		}
	}
	return has, err
}

// lockAll locks the settings of a tenant's environments, so that none of them begins to use an RP ID that is being taken.
func lockAll(ctx context.Context, q *pg.Q, tenant string) ([]models.Environment, error) {
	all, err := ListEnvironments(ctx, q, tenant)
	if err != nil {
		return nil, err
	}
	for _, env := range all {
		if _, err := LockEnvironment(ctx, q, pg.Scope{Tenant: tenant, Environment: env.ID}); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// give gives a tenant RP IDs. Those of this machine belong to no tenant and are skipped.
func give(ctx context.Context, q *pg.Q, tenant string, given []string) error {
	for _, text := range given {
		id, err := webname.RPID(text)
		if err != nil {
			return problem.New(problem.BadRequest, err.Error())
		}
		if webname.IsLocal(id) {
			continue
		}
		owner, err := giveRPID(ctx, q, tenant, id)
		if err != nil {
			return err
		}
		if owner != tenant {
			return problem.Newf(problem.Conflict, "The RP ID %s belongs to another tenant, %s.", id, owner)
		}
	}
	return nil
}

func take(ctx context.Context, q *pg.Q, tenant string, taken []string) error {
	for _, text := range taken {
		id, err := webname.RPID(text)
		if err != nil {
			return problem.New(problem.BadRequest, err.Error())
		}
		has, err := RPIDsOfTenant(ctx, q, tenant)
		if err != nil {
			return err
		}
		if !slices.Contains(has, id) {
			return problem.Newf(problem.NotFound, "The tenant does not have the RP ID %s.", id)
		}
		took, err := takeRPID(ctx, q, tenant, id)
		if err != nil {
			return err
		}
		if !took {
			return problem.Newf(problem.Conflict, "An environment of the tenant uses the RP ID %s. Remove it from the environment's settings first.", id)
		}
	}
	return nil
}
