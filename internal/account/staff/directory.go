package staff

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// DirectoryActor begins the actor of a change that a company's directory makes; the id of its token follows. An account that the directory ended may be
// followed by a new one of the same subject. One that anyone else ended may not.
const DirectoryActor = "directory:"

// Provisioned is the state of an account at an identity provider in the company's directory.
type Provisioned struct {
	Known    bool
	Active   bool
	Roles    map[string][]models.Role // by environment; they take the place of those of the account's groups
	Required bool                     // an account that the directory does not know is refused
}

// refusal returns why the directory keeps an account out; nil if it does not.
func (d Provisioned) refusal() error {
	switch {
	case d.Known && !d.Active:
		return problem.New(problem.Forbidden, "Your company's directory has deactivated your account for this console. Ask the administrator of your company's accounts.")
	case d.Known && len(d.Roles) == 0: // the directory's own change withdraws roles, and leaves the last operator
		return errNoGroup()
	case !d.Known && d.Required:
		return problem.New(problem.Forbidden, "Your company's directory has not provisioned an account for you in this console. Ask the administrator of your company's accounts.")
	}
	return nil
}

// Provisioning changes people as the directory of a tenant says, in one transaction.
type Provisioning struct {
	Q       *pg.Q
	At      time.Time
	Actor   string
	tenant  string
	service *Service
	op      operation
}

// Provisioner is who has the directory's changes made: a directory with its token, or the command line.
type Provisioner struct{ Tenant, Actor, RequestID string }

// Provision calls f in a transaction. It undoes what f did and returns a conflict if an environment lost its last operator by it: an error in the
// directory, or its operator alone, must not lock everyone out.
func (s *Service) Provision(ctx context.Context, by Provisioner, f func(p Provisioning) error) error {
	now := s.clock.Now()
	return s.staffWrite(ctx, by.Tenant, func(q *pg.Q) error {
		before, err := ableOperators(ctx, q, by.Tenant)
		if err != nil {
			return err
		}
		op := operation{q: q, actor: by.Actor, requestID: by.RequestID, at: now}
		if err := f(Provisioning{Q: q, At: now, Actor: by.Actor, tenant: by.Tenant, service: s, op: op}); err != nil {
			return err
		}
		after, err := ableOperators(ctx, q, by.Tenant)
		if err != nil {
			return err
		}
		for _, environment := range before {
			if !slices.Contains(after, environment) {
				return problem.Newf(problem.Conflict, "The environment %s would have no operator left. Make another person operator of it first, then repeat the change.", environment)
			}
		}
		return nil
	})
}

// Person returns a person of the tenant, revoked or not, and locks the row.
func (p Provisioning) Person(ctx context.Context, id string) (models.Person, error) {
	return LockPerson(ctx, p.Q, p.tenant, id)
}

// AccountOf returns the person of a subject at a provider, revoked or not, and locks the row. It returns pg.ErrNotFound if there is none.
func (p Provisioning) AccountOf(ctx context.Context, provider models.IdentityProvider, subject string) (models.Person, error) {
	return p.op.known(ctx, Account{Provider: provider, Subject: subject})
}

// Arrival is a new person of a directory.
type Arrival struct {
	Name              string
	Provider, Subject string // empty without an identity provider: the person signs in with a passkey, after an invitation
	// Principal is whom the person counts as, if they have been here before; empty for a new one.
	Principal string
	Roles     map[string][]models.Role // by environment
}

// Arrive makes the person, with an entry in the log of each environment of the roles. Update gives the roles.
func (p Provisioning) Arrive(ctx context.Context, in Arrival) (models.Person, error) {
	person := models.Person{
		ID: ids.New(ids.Person), TenantID: p.tenant, Name: displayName(in.Name), CreatedAt: p.At, CreatedBy: p.Actor,
		IdentityProviderID: some(in.Provider), ProviderSubject: some(in.Subject), Principal: some(in.Principal),
	}
	if in.Provider != "" {
		by := models.ProviderConfirms + in.Provider
		person.ConfirmedAt, person.ConfirmedBy = &p.At, &by
	}
	if err := identity.CreatePerson(ctx, p.Q, person); err != nil {
		return person, err
	}
	for _, environment := range slices.Sorted(maps.Keys(in.Roles)) {
		scope := pg.Scope{Tenant: p.tenant, Environment: environment}
		if err := p.op.appendTo(ctx, scope, events.PersonProvisionedData{Person: person.ID, IdentityProvider: in.Provider}); err != nil {
			return person, err
		}
	}
	return person, nil
}

// Update gives a locked person the name, exactly the roles, by environment, and the position. If it withdraws a role, it ends the person's sessions.
func (p Provisioning) Update(ctx context.Context, person models.Person, name string, roles map[string][]models.Role, at Position) error {
	if name = displayName(name); name != person.Name {
		if err := renameFederatedPerson(ctx, p.Q, person.TenantID, person.ID, name); err != nil {
			return err
		}
	}
	if err := p.service.setRoles(ctx, p.op, person, roles); err != nil {
		return err
	}
	return p.op.place(ctx, person, at)
}

// Revoke ends the access of a locked person as Service.Revoke does.
func (p Provisioning) Revoke(ctx context.Context, person models.Person) error {
	return p.service.revoke(ctx, p.op, person)
}

// EndedByDirectory reports whether the directory ended the access of a person, and no one else.
func EndedByDirectory(p models.Person) bool {
	return p.RevokedAt != nil && p.RevokedBy != nil && strings.HasPrefix(*p.RevokedBy, DirectoryActor)
}
