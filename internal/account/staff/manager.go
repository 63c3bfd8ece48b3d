package staff

import (
	"context"
	"errors"

	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// reportLine bounds the managers above a person that are looked at.
const reportLine = 32

// ManagerSet is the manager that a person has now; nil for none.
type ManagerSet struct {
	Person  string
	Manager *string
}

// SetManager records who manages a person of the tenant, and reports whether that changes anything. It does not check whether the environment of
// by requires a second approver: package change does. A manager counts in every environment of the tenant, so that one which requires a second
// approver must be that environment.
func SetManager(ctx context.Context, q *pg.Q, by events.Entry, to ManagerSet) (bool, error) {
	if err := LockStaff(ctx, q, by.Scope.Tenant); err != nil {
		return false, err
	}
	person, err := standingPerson(ctx, q, by.Scope.Tenant, to.Person)
	if errors.Is(err, pg.ErrNotFound) {
		return false, problem.NewNotFound()
	}
	if err != nil {
		return false, err
	}
	if to.Manager != nil {
		if err := checkManager(ctx, q, person, *to.Manager); err != nil {
			return false, err
		}
	}
	changed, err := putManager(ctx, q, models.PersonPosition{PersonID: person.ID, TenantID: person.TenantID, ManagerID: to.Manager, ChangedAt: by.At})
	if err != nil || !changed {
		return false, err
	}
	if err := refuseElsewhere(ctx, q, by.Scope); err != nil {
		return false, err
	}
	data := events.PersonManagerSetData{Person: person.ID}
	if to.Manager != nil {
		data.Manager = *to.Manager
	}
	by.Data = data
	return true, events.Append(ctx, q, by)
}

// ManagerOf returns the manager that is recorded for a person with access; pg.ErrNotFound for anyone else.
func ManagerOf(ctx context.Context, q *pg.Q, tenant, person string) (ManagerSet, error) {
	p, err := standingPerson(ctx, q, tenant, person)
	if err != nil {
		return ManagerSet{}, err
	}
	out := ManagerSet{Person: p.ID}
	out.Manager, err = managerOf(ctx, q, tenant, p.ID)
	return out, err
}

func standingPerson(ctx context.Context, q *pg.Q, tenant, id string) (models.Person, error) {
	rows, err := peopleByID(ctx, q, tenant, []string{id})
	if err == nil && (len(rows) != 1 || rows[0].RevokedAt != nil) {
		err = pg.ErrNotFound
	}
	if err != nil {
		return models.Person{}, err
	}
	return rows[0], nil
}

// checkManager refuses a manager who has no access, and one who is the person or reports to them.
func checkManager(ctx context.Context, q *pg.Q, p models.Person, manager string) error {
	wrong := func(text string) error { return problem.Invalid([]any{"body", "manager"}, text, "value_error") }
	m, err := standingPerson(ctx, q, p.TenantID, manager)
	if errors.Is(err, pg.ErrNotFound) {
		return wrong("manager is not the id of a member of staff with access; give the id of one, or null")
	}
	for range reportLine {
		if err != nil {
			return err
		}
		if m.CountsAs() == p.CountsAs() {
			return wrong("the person would report to themselves; give someone who does not report to the person")
		}
		above, err := Manager(ctx, q, p.TenantID, m.ID)
		if err != nil || above == "" {
			return err
		}
		m, err = standingPerson(ctx, q, p.TenantID, above)
		if err != nil {
			return err
		}
	}
	return nil
}

// refuseElsewhere refuses a change of the tenant's staff that is made in an environment without a second approver while a different one requires one.
func refuseElsewhere(ctx context.Context, q *pg.Q, scope pg.Scope) error {
	all, err := tenancy.ListEnvironments(ctx, q, scope.Tenant)
	if err != nil {
		return err
	}
	here, elsewhere := false, ""
	for _, env := range all {
		switch {
		case !env.SecondApproverRequired:
		case env.ID == scope.Environment:
			here = true
		default:
			elsewhere = env.ID
		}
	}
	if here || elsewhere == "" {
		return nil
	}
	return problem.Newf(problem.Conflict, "A manager counts in all environments of the tenant, and %s requires a second approver (second_approver_required). Request the change there.", elsewhere)
}
