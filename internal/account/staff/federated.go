package staff

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/countersign-dev/countersign/internal/platform/displaytext"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

const (
	// firstPasskeyLife is how long a person may take to register their first passkey, and how old their sign-in may be when
	// they begin: a stolen cookie of an old session must not suffice.
	firstPasskeyLife = ConfirmationLife
	// departing is how many people of a provider one query reads.
	departing = 200
)

// unnamed is the name of a person whose provider gives no usable one.
const unnamed = "Member of staff"

// errFederated is the response to a passkey that belongs to a person of a provider: it would bypass the evaluation of their
// groups.
func errFederated() error {
	return problem.New(problem.Forbidden, "Your passkey confirms changes but does not sign you in. Sign in with your company's identity provider.")
}

// errNoPasskey is the response to a change by a person who has nothing to confirm it with. Without it the browser would offer
// the passkeys of other people on the same device.
func errNoPasskey() error {
	return problem.New(problem.Forbidden, "You have no passkey yet. Register one, with the button at the top of this page, and try again.")
}

// errNoGroup does not name the groups that give access: a visitor without access must not learn them.
func errNoGroup() error {
	return problem.New(problem.Forbidden, "None of your groups at the identity provider has a role in this console. Ask an operator of this service.")
}

// Account is a verified account at an identity provider. Package sso verifies it; this package trusts every field, so no other
// caller may make one.
type Account struct {
	Provider models.IdentityProvider // as it was when the account was verified
	Subject  string                  // stable at the provider
	Session  string                  // the provider's name of its session; empty if it has none
	Name     string
	Roles    map[string][]models.Role // by environment, as the account's groups give them
	Address  string                   // e-mail address that the provider has verified; empty if there is none
	SignIn   []byte                   // unique for each sign-in; a second use is rejected
	// Directory returns what the company's directory says of the account, in the transaction of the sign-in; nil if there is no directory.
	Directory func(ctx context.Context, q *pg.Q) (Provisioned, error)
}

// SignInFrom signs in the person of an account and makes the person if there is none. The person has exactly the account's
// roles afterwards. With no role at all the person loses those they had, and their sessions, and is rejected as forbidden.
//
// The session does not confirm changes: that takes the person's passkey.
func (s *Service) SignInFrom(ctx context.Context, a Account, requestID string) (Opened, error) {
	op := operation{actor: "identity_provider:" + a.Provider.ID, requestID: requestID, at: s.clock.Now()}
	var out Opened
	var refusal error
	var p models.Person
	err := s.staffWrite(ctx, a.Provider.TenantID, func(q *pg.Q) error {
		op.q = q
		unchanged, err := holdIdentityProvider(ctx, q, a.Provider.TenantID, a.Provider.ID, a.Provider.UpdatedAt)
		if err != nil {
			return err
		}
		if !unchanged {
			return problem.New(problem.Conflict, "The settings of the identity provider have changed. Start the sign-in again.")
		}
		if a, err = a.directed(ctx, q); err != nil {
			return err
		}
		p, err = s.personOf(ctx, op, a)
		if err != nil {
			return err
		}
		if err := s.setRoles(ctx, op, p, a.Roles); err != nil {
			return err
		}
		// The withdrawal must be committed, so the refusal is not an error of the transaction.
		if len(a.Roles) == 0 {
			refusal = errNoGroup()
			return nil
		}
		out, err = s.openProviderSession(ctx, op, p, a)
		return err
	})
	if err == nil {
		err = refusal
	}
	return out, identified(err, p)
}

// directed returns the account with the roles that the company's directory gives it, or why the directory keeps it out.
func (a Account) directed(ctx context.Context, q *pg.Q) (Account, error) {
	if a.Directory == nil {
		return a, nil
	}
	d, err := a.Directory(ctx, q)
	if err != nil {
		return a, err
	}
	if d.Known {
		a.Roles = d.Roles
	}
	return a, d.refusal()
}

// personOf returns the person of an account, with the row locked. It makes one if the account has a role. A person is known by issuer and subject, so
// that one who was revoked stays so whatever name the provider has by now.
func (s *Service) personOf(ctx context.Context, op operation, a Account) (models.Person, error) {
	p, err := op.known(ctx, a)
	if errors.Is(err, pg.ErrNotFound) {
		if len(a.Roles) == 0 {
			return p, errNoGroup()
		}
		return s.provision(ctx, op, a)
	}
	if err != nil {
		return p, err
	}
	if p.RevokedAt != nil {
		return p, problem.New(problem.Forbidden, "Your access to this console was revoked. Ask an operator of this service for an invitation.")
	}
	if *p.IdentityProviderID != a.Provider.ID {
		p.IdentityProviderID = &a.Provider.ID
		if err := adoptFederatedPerson(ctx, op.q, p, a.Provider.ID); err != nil {
			return p, err
		}
	}
	if err := confirmByProvider(ctx, op.q, p, op.at); err != nil {
		return p, err
	}
	if name := displayName(a.Name); name != p.Name {
		p.Name = name
		return p, renameFederatedPerson(ctx, op.q, p.TenantID, p.ID, name)
	}
	return p, nil
}

// known returns the person of an account's issuer and subject: a revoked one before others, and that of the provider before one of an earlier name.
// One whom the directory ended, and brought back as a new account, is not considered.
func (op operation) known(ctx context.Context, a Account) (models.Person, error) {
	providers, err := providersOf(ctx, op.q, a.Provider.TenantID)
	if err != nil {
		return models.Person{}, err
	}
	var same []string
	for _, p := range providers {
		if SameIssuer(p.Issuer, a.Provider.Issuer) {
			same = append(same, p.ID)
		}
	}
	people, err := lockPeopleOfSubject(ctx, op.q, a.Provider.TenantID, same, a.Subject)
	if err != nil || len(people) == 0 {
		return models.Person{}, cmp.Or(err, pg.ErrNotFound)
	}
	if live := slices.DeleteFunc(slices.Clone(people), EndedByDirectory); len(live) > 0 {
		people = live
	}
	for _, is := range []func(models.Person) bool{
		func(p models.Person) bool { return p.RevokedAt != nil },
		func(p models.Person) bool { return *p.IdentityProviderID == a.Provider.ID },
	} {
		if i := slices.IndexFunc(people, is); i >= 0 {
			return people[i], nil
		}
	}
	return people[0], nil
}

// SameIssuer reports whether two issuers are one: the case of scheme and host, a default port and a slash at the end do not make a second.
func SameIssuer(a, b string) bool { return normalIssuer(a) == normalIssuer(b) }

func normalIssuer(issuer string) string {
	u, err := url.Parse(issuer)
	if err != nil {
		return issuer
	}
	host, port := strings.TrimSuffix(strings.ToLower(u.Hostname()), "."), u.Port()
	if port == "" || strings.EqualFold(u.Scheme, "https") && port == "443" || strings.EqualFold(u.Scheme, "http") && port == "80" {
		port = ""
	} else {
		port = ":" + port
	}
	return strings.ToLower(u.Scheme) + "://" + host + port + strings.TrimRight(u.EscapedPath(), "/")
}

// provision makes the person of an account. Of two concurrent first sign-ins, one makes the person and both sign in.
func (s *Service) provision(ctx context.Context, op operation, a Account) (models.Person, error) {
	p := models.Person{
		ID: ids.New(ids.Person), TenantID: a.Provider.TenantID, Name: displayName(a.Name), CreatedAt: op.at, CreatedBy: op.actor,
		IdentityProviderID: &a.Provider.ID, ProviderSubject: &a.Subject, ConfirmedAt: &op.at, ConfirmedBy: &op.actor,
	}
	made, err := createFederatedPerson(ctx, op.q, p)
	if err != nil {
		return p, err
	}
	if !made {
		return lockFederatedPerson(ctx, op.q, a.Provider.TenantID, a.Provider.ID, a.Subject)
	}
	if a.Address != "" {
		sealed, err := SealAddress(s.keys, p.ID, a.Address)
		if err != nil {
			return p, err
		}
		if err := putAddress(ctx, op.q, models.PersonAddress{PersonID: p.ID, TenantID: p.TenantID, Address: sealed, ChangedAt: op.at, ConfirmedAt: &op.at}); err != nil {
			return p, err
		}
	}
	for _, environment := range slices.Sorted(maps.Keys(a.Roles)) {
		scope := pg.Scope{Tenant: p.TenantID, Environment: environment}
		if err := op.appendTo(ctx, scope, events.PersonProvisionedData{Person: p.ID, IdentityProvider: a.Provider.ID}); err != nil {
			return p, err
		}
	}
	return p, nil
}

// displayName returns the name if it can be a person's, and a stand-in otherwise. The name is not the person's id: it may change
// and be another person's too. One that the console would refuse must not keep its owner out.
func displayName(name string) string {
	name = strings.TrimSpace(name)
	if name == "" || utf8.RuneCountInString(name) > 120 || displaytext.Fault(name) != "" {
		return unnamed
	}
	return name
}

// setRoles gives the person exactly these roles, by environment. If it withdraws any, it ends the person's sessions.
func (s *Service) setRoles(ctx context.Context, op operation, p models.Person, roles map[string][]models.Role) error {
	held, err := grantsOf(ctx, op.q, p)
	if err != nil {
		return err
	}
	withdrew := false
	for _, g := range held {
		surplus := slices.DeleteFunc(slices.Clone(g.Roles), func(r models.Role) bool { return slices.Contains(roles[g.Environment.ID], r) })
		if len(surplus) == 0 {
			continue
		}
		withdrew = true
		if _, err := op.withdraw(ctx, p, pg.Scope{Tenant: p.TenantID, Environment: g.Environment.ID}, surplus); err != nil {
			return err
		}
	}
	for _, environment := range slices.Sorted(maps.Keys(roles)) {
		if err := op.grant(ctx, p, pg.Scope{Tenant: p.TenantID, Environment: environment}, roles[environment]); err != nil {
			return err
		}
	}
	if !withdrew {
		return nil
	}
	return s.endSessions(ctx, op.q, p.ID, op.at)
}

// openProviderSession opens the session of a sign-in with an identity provider. The time of its last confirmation lies so far
// back that the first change requires the passkey.
func (s *Service) openProviderSession(ctx context.Context, op operation, p models.Person, a Account) (Opened, error) {
	in := sessionStart{person: p, ceremony: a.SignIn, confirmedAt: op.at.Add(-ConfirmationLife)}
	if a.Session != "" {
		in.providerSession = &a.Session
	}
	if err := signedIn(ctx, op.q, p.TenantID, p.ID, op.at); err != nil {
		return Opened{}, err
	}
	// The provider changed the roles; the sign-in itself is the person's.
	op.actor = "person:" + p.ID
	out, err := s.openSession(ctx, op, in)
	if err != nil {
		return out, err
	}
	out.Session.NeedsPasskey, err = needsPasskey(ctx, op.q, p)
	return out, err
}

// needsPasskey reports whether an identity provider signs the person in and they have no passkey.
func needsPasskey(ctx context.Context, q *pg.Q, p models.Person) (bool, error) {
	if !p.Federated() {
		return false, nil
	}
	keys, err := passkeysOfPerson(ctx, q, p.ID)
	return len(keys) == 0, err
}

// FirstPasskey invites the session's person to register their first passkey. It rejects a person who has one, who was invited
// by an operator, or whose sign-in is older than ConfirmationLife.
func (s *Service) FirstPasskey(ctx context.Context, in Session, requestID string) (Invited, error) {
	now := s.clock.Now()
	if !now.Before(in.ExpiresAt.Add(firstPasskeyLife - SessionLife)) {
		return Invited{}, problem.New(problem.Forbidden, "Your sign-in is more than 15 minutes old. Sign out, sign in again and register the passkey then.")
	}
	var out Invited
	err := s.store.Write(ctx, func(q *pg.Q) error {
		p, err := s.lockActive(ctx, q, in.Person.TenantID, in.Person.ID)
		if err != nil {
			return err
		}
		if err := in.lasts(ctx, q); err != nil {
			return err
		}
		needed, err := needsPasskey(ctx, q, p)
		if err != nil {
			return err
		}
		if !needed {
			return problem.New(problem.Conflict, "You have a passkey. If it is lost, ask an operator of this service for an invitation.")
		}
		if err := voidInvitations(ctx, q, p.ID, now); err != nil {
			return err
		}
		out, err = s.invite(ctx, byPerson(q, p, requestID, now), p, firstPasskeyLife)
		return err
	})
	return out, err
}

// lasts rejects a session that ended after it was authenticated. With the person's row locked, the answer holds until the
// transaction ends.
func (in Session) lasts(ctx context.Context, q *pg.Q) error {
	row, _, err := getConsoleSession(ctx, q, [][]byte{in.mac})
	if errors.Is(err, pg.ErrNotFound) || err == nil && row.EndedAt != nil {
		return errSignedOut()
	}
	return err
}

// Logout is a verified logout token. It names a subject, a session, or both.
type Logout struct {
	Provider         models.IdentityProvider
	Subject, Session string
	Token            []byte // digest of the token's id
	ExpiresAt        time.Time
}

// SignOutFrom ends all sessions and invitations of the people whom a logout token names: those of the subject, and those who signed
// in within the provider's session. It returns a conflict if the token was accepted before. People it does not know are not an error.
func (s *Service) SignOutFrom(ctx context.Context, l Logout, requestID string) error {
	op := operation{actor: "identity_provider:" + l.Provider.ID, requestID: requestID, at: s.clock.Now()}
	return s.store.Write(ctx, func(q *pg.Q) error {
		op.q = q
		fresh, err := recordLogout(ctx, q, models.ProviderLogout{IdentityProviderID: l.Provider.ID, TokenDigest: l.Token, ExpiresAt: l.ExpiresAt})
		if err != nil {
			return err
		}
		if !fresh {
			return problem.New(problem.Conflict, "The logout token was used before.")
		}
		// A token may name a session without its subject. Sessions are found even if they ended here: the person may have
		// a further session, opened by the registration of a passkey, which has no session of the provider.
		subjects := []string{l.Subject}
		if l.Subject == "" {
			if subjects, err = identitySubjectsOfSession(ctx, q, l.Provider.ID, l.Session); err != nil {
				return err
			}
		}
		for _, subject := range subjects {
			p, err := lockFederatedPerson(ctx, q, l.Provider.TenantID, l.Provider.ID, subject)
			if errors.Is(err, pg.ErrNotFound) {
				continue
			}
			if err != nil {
				return err
			}
			if err := op.signOutEverywhere(ctx, p); err != nil {
				return err
			}
		}
		return nil
	})
}

// signOutEverywhere ends the sessions of a person whose row is locked, with one event for each, and the invitations, which would open
// a new session. The invitations end first: if one was being accepted, its session is among those that end.
func (op operation) signOutEverywhere(ctx context.Context, p models.Person) error {
	if err := voidInvitations(ctx, op.q, p.ID, op.at); err != nil {
		return err
	}
	ended, err := EndConsoleSessions(ctx, op.q, p.ID, op.at)
	if err != nil {
		return err
	}
	for _, id := range ended {
		if err := op.q.Notify(ctx, pg.ChannelCredential, id); err != nil {
			return err
		}
		if err := op.append(ctx, p, events.PersonSignedOutData{Person: p.ID, Session: id}); err != nil {
			return err
		}
	}
	return nil
}

// Dismissal ends the sessions and invitations of a provider's people in the caller's transaction.
type Dismissal struct {
	Tenant, Provider string
	Actor            string
	Roles            bool // withdraw all their roles as well: the provider is removed
}

// Dismiss carries out a dismissal. It reads the people in parts, so that the size of a company bounds the time of the transaction but
// not its memory.
func (s *Service) Dismiss(ctx context.Context, q *pg.Q, d Dismissal) error {
	op := operation{q: q, actor: d.Actor, at: s.clock.Now()}
	for after := ""; ; {
		people, err := peopleOfIdentityProvider(ctx, q, d.Tenant, d.Provider, after, departing)
		if err != nil {
			return err
		}
		for _, p := range people {
			after = p.ID
			if _, err := LockPerson(ctx, q, p.TenantID, p.ID); err != nil {
				return err
			}
			if err := op.signOutEverywhere(ctx, p); err != nil {
				return err
			}
			if !d.Roles {
				continue
			}
			if err := s.setRoles(ctx, op, p, nil); err != nil {
				return err
			}
		}
		if len(people) < departing {
			return nil
		}
	}
}
