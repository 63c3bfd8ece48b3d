package directory

import (
	"context"
	"errors"

	"github.com/countersign-dev/countersign/internal/account/staff"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/platform/scim"
	"github.com/countersign-dev/countersign/models"
)

// Link makes a user of the directory the person: an operator knows that they are one. The account that the user had ends, unless it has been
// used. The link lasts until the person ends.
func (s *Service) Link(ctx context.Context, tenant, user, person, actor string) error {
	return s.People.Provision(ctx, staff.Provisioner{Tenant: tenant, Actor: actor}, func(p staff.Provisioning) error {
		return s.link(ctx, p, tenant, user, person)
	})
}

func (s *Service) link(ctx context.Context, p staff.Provisioning, tenant, user, person string) error {
	u, err := getUser(ctx, p.Q, tenant, user, true)
	if errors.Is(err, pg.ErrNotFound) {
		return problem.Newf(problem.BadRequest, "The directory has no user %q. countersign tenant scim users shows them.", user)
	}
	if err != nil {
		return err
	}
	to, err := p.Person(ctx, person)
	if errors.Is(err, pg.ErrNotFound) || err == nil && to.RevokedAt != nil {
		return problem.Newf(problem.BadRequest, "The tenant has no person %q with access. countersign person list shows them.", person)
	}
	if err != nil || text(u.PersonID) == to.ID {
		return err
	}
	if other, err := userOf(ctx, p.Q, tenant, to.ID, ""); err == nil && other.ID != u.ID && other.DeletedAt == nil {
		return problem.Newf(problem.Conflict, "The person is the user %q of the directory already.", other.UserName)
	} else if err != nil && !errors.Is(err, pg.ErrNotFound) {
		return err
	}
	if u.PersonID != nil {
		of, err := p.Person(ctx, *u.PersonID)
		if err != nil {
			return err
		}
		if of.JoinedAt != nil && of.RevokedAt == nil {
			return problem.Newf(problem.Conflict, "The user is the person %q already, who has registered a passkey. Link the two people with countersign person link.", of.ID)
		}
		if err := p.Revoke(ctx, of); err != nil {
			return err
		}
	}
	u.PersonID, u.Linked = &to.ID, true
	if err := changeUser(ctx, p.Q, u); err != nil {
		return err
	}
	if err := s.record(ctx, p, tenant, func(models.Environment) events.Data {
		return events.DirectoryUserLinkedData{User: u.ID, Person: to.ID}
	}); err != nil {
		return err
	}
	return s.apply(ctx, p, tenant, []string{u.ID})
}

// Users returns a page of the users of a tenant's directory for its operators, the oldest first from a position on, with how many there are.
func (s *Service) Users(ctx context.Context, tenant string, start int) ([]models.DirectoryUser, int, error) {
	return listUsers(ctx, s.Store.Q, tenant, scim.Query{Start: start, Count: scim.MaxPage})
}
