package staff

import (
	"context"
	"errors"

	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// Position is a person's place in the company. Empty values are unknown.
type Position struct {
	Manager    string // id of a person of the tenant
	Department string
}

// Manager returns the id of the person who manages a person of the tenant, as the company's directory says of any of their accounts. It is empty if the
// directory names no one, or someone who has no access.
func Manager(ctx context.Context, q *pg.Q, tenant, person string) (string, error) {
	positions, err := positionsOf(ctx, q, tenant, person)
	if err != nil {
		return "", err
	}
	for _, p := range positions {
		if p.ManagerID == nil {
			continue
		}
		managers, err := peopleByID(ctx, q, tenant, []string{*p.ManagerID})
		if err != nil {
			return "", err
		}
		if len(managers) == 1 && managers[0].RevokedAt == nil {
			return managers[0].ID, nil
		}
	}
	return "", nil
}

// place stores the position of a locked person. It writes nothing if the position is the same.
func (op operation) place(ctx context.Context, p models.Person, to Position) error {
	row := models.PersonPosition{PersonID: p.ID, TenantID: p.TenantID, ManagerID: some(to.Manager), Department: some(to.Department), ChangedAt: op.at}
	before, err := getPosition(ctx, op.q, p.TenantID, p.ID)
	switch {
	case errors.Is(err, pg.ErrNotFound) && to == Position{}:
		return nil
	case errors.Is(err, pg.ErrNotFound):
		return createPosition(ctx, op.q, row)
	case err != nil || text(before.ManagerID) == to.Manager && text(before.Department) == to.Department:
		return err
	}
	return changePosition(ctx, op.q, row)
}

// text returns a text that may be missing, and empty if it is.
func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// some returns a text for a column, and nil for an empty one.
func some(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
