package change

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/countersign-dev/countersign/internal/account/staff"
	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/authz/action"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// managerDocument has the manager of a person.
type managerDocument struct {
	Manager *string `json:"manager"`
}

// SetManager records who manages a person, or requests that: managers approve what the people below them request.
func (s *Service) SetManager(ctx context.Context, scope pg.Scope, by By, to staff.ManagerSet) (Made[staff.ManagerSet], error) {
	err := s.store.Write(ctx, func(q *pg.Q) error {
		changed, err := staff.SetManager(ctx, q, events.Entry{Scope: scope, At: s.clock.Now(), Actor: by.Actor, RequestID: by.RequestID}, to)
		if err != nil || !changed {
			return err
		}
		return tenancy.RefuseAlone(ctx, q, scope)
	})
	return made(to, err, func() (*View, error) {
		return s.proposeBy(ctx, scope, by, func(q *pg.Q) (proposal, error) {
			current, err := found(staff.ManagerOf(ctx, q, scope.Tenant, to.Person))
			if err != nil {
				return proposal{}, err
			}
			base, proposed := managerDocument{current.Manager}, managerDocument{to.Manager}
			differences, err := fieldDifferences(base, proposed)
			return proposal{kind: models.ChangePersonManager, target: to.Person, base: base, proposed: proposed, differences: differences}, err
		})
	})
}

// managerBase is inForce of a change of a manager. It cannot be made if the person has no access any more.
func (t targets) managerBase(ctx context.Context, c models.Change) (any, bool, error) {
	now, err := staff.ManagerOf(ctx, t.Q, c.TenantID, c.Target)
	if errors.Is(err, pg.ErrNotFound) {
		return nil, false, nil
	}
	return managerDocument{now.Manager}, err == nil, err
}

// applyManager records the manager in the caller's transaction.
func applyManager(ctx context.Context, q *pg.Q, c models.Change, by action.Author) error {
	var in managerDocument
	if err := json.Unmarshal(c.Proposed, &in); err != nil {
		return err
	}
	_, err := staff.SetManager(ctx, q, events.Entry{
		Scope: by.Scope, At: by.At, Actor: by.Actor, RequestID: by.RequestID, WorkflowID: by.WorkflowID,
	}, staff.ManagerSet{Person: c.Target, Manager: in.Manager})
	return err
}
