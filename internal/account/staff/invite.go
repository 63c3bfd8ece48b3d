package staff

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/platform/displaytext"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// Invitee is a person to invite. With an address the link is mailed there, and no one else sees it.
type Invitee struct {
	Name    string
	Roles   []models.Role
	Address string
}

// Invited is a new invitation. Its URL is returned this once, and not at all if it is mailed to Address. The token is in the fragment of the
// URL, which browsers do not send, so it appears in no server's or proxy's log.
type Invited struct {
	Person    models.Person
	URL       string
	Address   string
	ExpiresAt time.Time
}

// The refusals of an invitation. A token cannot be guessed: its holder learns of no other invitation.
var (
	errInvitationUnknown = problem.New(problem.GrantInvalid, "This invitation is unknown. Check that the link is complete, or ask your administrator for a new one.")
	errInvitationUsed    = problem.New(problem.GrantInvalid, "This invitation was used, was replaced by a newer one, or ended with the session or access of the person who made it. Use the newest, or ask your administrator for one.")
	errInvitationExpired = problem.New(problem.GrantInvalid, "This invitation has expired. Ask your administrator for a new one.")
	errInvitationRevoked = problem.New(problem.GrantInvalid, "You no longer have access to the console. Ask your administrator.")
)

// Create adds a person with roles in one environment of the tenant and invites them. It returns a bad_request problem for a
// name that is empty, longer than 120 characters or not printable, and for an unknown role.
func (s *Service) Create(ctx context.Context, scope pg.Scope, in Invitee, actor string) (Invited, error) {
	p, err := s.newPerson(scope, in, actor)
	if err != nil {
		return Invited{}, err
	}
	var out Invited
	err = s.staffWrite(ctx, scope.Tenant, func(q *pg.Q) error {
		out, err = s.create(ctx, operation{q: q, actor: actor, at: p.CreatedAt}, p, scope, in)
		return err
	})
	return out, err
}

// newPerson validates the name and the roles of a new person.
func (s *Service) newPerson(scope pg.Scope, in Invitee, actor string) (models.Person, error) {
	name := strings.TrimSpace(in.Name)
	if n := utf8.RuneCountInString(name); n < 1 || n > 120 {
		return models.Person{}, badValue("name", "The name of a person must have 1 to 120 characters; it has %d.", n)
	}
	if fault := displaytext.Fault(name); fault != "" {
		return models.Person{}, badValue("name", "The name of a person must not contain control characters or line breaks; found %s.", fault)
	}
	return models.Person{ID: ids.New(ids.Person), TenantID: scope.Tenant, Name: name, CreatedAt: s.clock.Now(), CreatedBy: actor}, checkRoles(in.Roles)
}

// create adds a person with roles and invites them, in the caller's transaction.
func (s *Service) create(ctx context.Context, op operation, p models.Person, scope pg.Scope, in Invitee) (Invited, error) {
	if _, err := tenancy.GetEnvironment(ctx, op.q, scope); err != nil {
		return Invited{}, err
	}
	if err := identity.CreatePerson(ctx, op.q, p); err != nil {
		return Invited{}, err
	}
	if err := op.grant(ctx, p, scope, in.Roles); err != nil {
		return Invited{}, err
	}
	return s.inviteTo(ctx, op, scope, p, in.Address)
}

// Invite invites an existing person to register one more passkey, for example after the loss of the only one. It voids the
// person's earlier invitations. The person keeps their passkeys and sessions. With an address the link is mailed there.
func (s *Service) Invite(ctx context.Context, scope pg.Scope, id, address, actor string) (Invited, error) {
	now := s.clock.Now()
	var out Invited
	err := s.staffWrite(ctx, scope.Tenant, func(q *pg.Q) error {
		p, err := s.lockActive(ctx, q, scope.Tenant, id)
		if err != nil {
			return err
		}
		if err := voidInvitations(ctx, q, p.ID, now); err != nil {
			return err
		}
		out, err = s.inviteTo(ctx, operation{q: q, actor: actor, at: now}, scope, p, address)
		return err
	})
	return out, err
}

// invite creates an invitation that can be used for the given time, and records person.invited.
func (s *Service) invite(ctx context.Context, op operation, p models.Person, life time.Duration) (Invited, error) {
	token, i := newSecret(), op.invitation(p, life)
	i.MAC = s.keys.MAC(invitationPurpose, []byte(token))
	return Invited{Person: p, URL: s.invitationURL(token), ExpiresAt: i.ExpiresAt}, op.record(ctx, p, i)
}

func (s *Service) invitationURL(token string) string { return s.base + "/console/invitation#" + token }

// invitation returns a new invitation without its link.
func (op operation) invitation(p models.Person, life time.Duration) models.PersonInvitation {
	return models.PersonInvitation{ID: ids.New(ids.Invitation), PersonID: p.ID, CreatedAt: op.at, CreatedBy: op.actor, ExpiresAt: op.at.Add(life)}
}

// record stores an invitation with its event.
func (op operation) record(ctx context.Context, p models.Person, i models.PersonInvitation) error {
	if err := createInvitation(ctx, op.q, i); err != nil {
		return err
	}
	return op.append(ctx, p, events.PersonInvitedData{Person: p.ID, Invitation: i.ID, Mailed: i.Mailed})
}

// Invitation describes an invitation to the invited person, before they accept it.
type Invitation struct {
	Person    models.Person
	Grants    []Grant
	ExpiresAt time.Time
}

// ShowInvitation returns the usable invitation of a token. It does not spend it.
func (s *Service) ShowInvitation(ctx context.Context, token string) (Invitation, error) {
	i, p, err := s.usableInvitation(ctx, s.store.Q, token, false)
	if err != nil {
		return Invitation{}, err
	}
	held, err := grantsOf(ctx, s.store.Q, p)
	return Invitation{Person: p, Grants: held, ExpiresAt: i.ExpiresAt}, err
}

// RegistrationOptions begins the registration of a passkey and returns its PublicKeyCredentialCreationOptions. Several may be in progress, one
// in each tab of the browser. Only AcceptInvitation spends the invitation.
func (s *Service) RegistrationOptions(ctx context.Context, token string) (protocol.PublicKeyCredentialCreationOptions, error) {
	var options protocol.PublicKeyCredentialCreationOptions
	rp, err := s.relyingParty()
	if err != nil {
		return options, err
	}
	i, p, err := s.usableInvitation(ctx, s.store.Q, token, false)
	if err != nil {
		return options, err
	}
	keys, err := passkeysOfPerson(ctx, s.store.Q, p.ID)
	if err != nil {
		return options, err
	}
	if len(keys) >= MaxPasskeys {
		return options, problem.Newf(problem.Conflict, "You have %d passkeys, which is the maximum.", MaxPasskeys)
	}
	creation, _, err := beginRegistration(rp, user{p, keys}, s.newCeremony(i.ID, s.clock.Now()))
	if err != nil {
		return options, err
	}
	return creation.Response, nil
}

// beginRegistration returns the options of a registration with the challenge, and what its response is verified against.
func beginRegistration(rp *webauthn.WebAuthn, u user, challenge []byte) (*protocol.CredentialCreation, *webauthn.SessionData, error) {
	return rp.BeginRegistration(u, webauthn.WithExclusions(u.descriptors()), func(o *protocol.PublicKeyCredentialCreationOptions) error {
		o.Challenge = challenge
		return nil
	})
}

// AcceptInvitation verifies the browser's registration response, registers the passkey and signs the person in. The
// invitation's row is locked: of concurrent calls one succeeds. A rejected response ends neither the invitation nor another registration.
func (s *Service) AcceptInvitation(ctx context.Context, token string, response json.RawMessage, requestID string) (Opened, error) {
	rp, err := s.relyingParty()
	if err != nil {
		return Opened{}, err
	}
	_, who, err := s.usableInvitation(ctx, s.store.Q, token, false)
	if err != nil {
		return Opened{}, err
	}
	var out Opened
	err = s.staffWrite(ctx, who.TenantID, func(q *pg.Q) error {
		i, p, err := s.usableInvitation(ctx, q, token, true)
		if err != nil {
			return err
		}
		made, err := s.verifyRegistration(ctx, q, rp, i, p, response)
		if err != nil {
			return err
		}
		out, err = s.registerPasskey(ctx, q, i, p, made, requestID)
		return err
	})
	return out, err
}

// verifyRegistration verifies the response to a challenge that was made for the invitation. Every rejection is the problem
// registration_refused.
func (s *Service) verifyRegistration(ctx context.Context, q *pg.Q, rp *webauthn.WebAuthn, i models.PersonInvitation, p models.Person, response json.RawMessage) (*webauthn.Credential, error) {
	refuse := func(detail string, cause error) error {
		return &problem.Error{Code: problem.RegistrationRefused, Detail: detail, Cause: cause}
	}
	parsed, err := protocol.ParseCredentialCreationResponseBytes(response)
	if err != nil {
		return nil, refuse("The passkey cannot be read.", err)
	}
	challenge, err := base64.RawURLEncoding.Strict().DecodeString(parsed.Response.CollectedClientData.Challenge)
	if err != nil || !s.validCeremony(challenge, i.ID, s.clock.Now()) {
		return nil, refuse("The registration took too long. Start again.", err)
	}
	keys, err := passkeysOfPerson(ctx, q, p.ID)
	if err != nil {
		return nil, err
	}
	if len(keys) >= MaxPasskeys { // several registrations may have begun
		return nil, problem.Newf(problem.Conflict, "You have %d passkeys, which is the maximum.", MaxPasskeys)
	}
	u := user{p, keys}
	_, session, err := beginRegistration(rp, u, challenge)
	if err != nil {
		return nil, err
	}
	made, err := rp.CreateCredential(u, *session, parsed)
	if err != nil {
		return nil, refuse("The passkey was refused. Start again.", err)
	}
	return made, nil
}

// registerPasskey spends the invitation, stores the passkey and opens the first session, in the caller's transaction.
func (s *Service) registerPasskey(ctx context.Context, q *pg.Q, i models.PersonInvitation, p models.Person, made *webauthn.Credential, requestID string) (Opened, error) {
	now := s.clock.Now()
	used, err := useInvitation(ctx, q, i.ID, now)
	if err != nil {
		return Opened{}, err
	}
	if !used {
		return Opened{}, errInvitationUsed
	}
	key := models.PersonPasskey{
		ID: ids.New(ids.Passkey), PersonID: p.ID, CredentialID: made.ID, PublicKey: made.PublicKey, AttestationType: made.AttestationType,
		AAGUID: made.Authenticator.AAGUID, SignCount: int64(made.Authenticator.SignCount), BackupEligible: made.Flags.BackupEligible,
		BackupState: made.Flags.BackupState, CreatedAt: now,
	}
	for _, t := range made.Transport {
		key.Transports = append(key.Transports, string(t))
	}
	created, err := createPasskey(ctx, q, key)
	if err != nil {
		return Opened{}, err
	}
	if !created {
		return Opened{}, problem.New(problem.PasskeyExists, "This passkey is already registered.")
	}
	if err := markJoined(ctx, q, p.ID, now); err != nil {
		return Opened{}, err
	}
	op := byPerson(q, p, requestID, now)
	if err := op.reached(ctx, p, i); err != nil {
		return Opened{}, err
	}
	if err := op.append(ctx, p, events.PersonJoinedData{Person: p.ID, Passkey: key.ID, Invitation: i.ID}); err != nil {
		return Opened{}, err
	}
	if p.JoinedAt == nil {
		p.JoinedAt = &now
	}
	if err := op.confirmFirst(ctx, p, i.CreatedBy); err != nil {
		return Opened{}, err
	}
	return s.openSession(ctx, op, verifiedAssertion{person: p, key: key, ceremony: s.newCeremony("", now)}.start(now))
}

// reached records who may be the account because of the invitation. The person's own link for a first passkey follows a sign-in, so no
// one else has seen it.
func (op operation) reached(ctx context.Context, p models.Person, i models.PersonInvitation) error {
	switch {
	case i.Mailed:
		return op.arrived(ctx, p, i)
	case i.CreatedBy == "person:"+p.ID:
		return nil
	default:
		return op.shown(ctx, p, i.CreatedBy)
	}
}

// usableInvitation finds an invitation that is neither used nor expired, whose person still has access and whose author could still make it;
// lock locks its row and the person's for the transaction.
func (s *Service) usableInvitation(ctx context.Context, q *pg.Q, token string, lock bool) (models.PersonInvitation, models.Person, error) {
	macs := s.keys.MACs(invitationPurpose, []byte(token))
	i, p, err := getInvitation(ctx, q, macs, false)
	if err == nil && lock {
		// The person comes first, as in everything that voids invitations: in the opposite order the two could deadlock.
		if _, err = LockPerson(ctx, q, p.TenantID, p.ID); err == nil {
			i, p, err = getInvitation(ctx, q, macs, true)
		}
	}
	switch {
	case errors.Is(err, pg.ErrNotFound):
		return i, p, errInvitationUnknown
	case err != nil:
		return i, p, err
	case p.RevokedAt != nil:
		return i, p, errInvitationRevoked
	case i.UsedAt != nil:
		return i, p, errInvitationUsed
	case !s.clock.Now().Before(i.ExpiresAt):
		return i, p, errInvitationExpired
	}
	ok, err := stands(ctx, q, i, p)
	if err == nil && !ok {
		err = errInvitationUsed
	}
	return i, p, err
}

// stands reports whether the author of an invitation could make it now: the command line, the person themselves, or a confirmed operator of an
// environment in which the person has a role.
func stands(ctx context.Context, q *pg.Q, i models.PersonInvitation, p models.Person) (bool, error) {
	author, byStaff := strings.CutPrefix(i.CreatedBy, "person:")
	if !byStaff || author == p.ID {
		return true, nil
	}
	found, err := peopleByID(ctx, q, p.TenantID, []string{author})
	if err != nil || len(found) == 0 || found[0].RevokedAt != nil || found[0].ConfirmedAt == nil {
		return false, err
	}
	roles, err := RolesOf(ctx, q, p.ID, author)
	return slices.ContainsFunc(roles, func(r models.PersonRole) bool {
		return r.PersonID == author && r.Role.Permissions().Has(models.PermissionCredentials) &&
			slices.ContainsFunc(roles, func(own models.PersonRole) bool { return own.PersonID == p.ID && own.EnvironmentID == r.EnvironmentID })
	}), err
}

// checkRoles rejects an empty list and roles that do not exist.
func checkRoles(roles []models.Role) error {
	if len(roles) == 0 {
		return badValue("roles", "A person needs at least one role: reviewer, operator or auditor.")
	}
	for _, r := range roles {
		if !slices.Contains([]models.Role{models.RoleReviewer, models.RoleOperator, models.RoleAuditor}, r) {
			return badValue("roles", "Unknown role %q. The roles are reviewer, operator and auditor.", r)
		}
	}
	return nil
}

// badValue refuses a value. The console shows it at the field.
func badValue(field, format string, args ...any) error {
	p := problem.Newf(problem.BadRequest, format, args...)
	p.Fields = []problem.Field{{Loc: []any{"body", field}, Msg: p.Detail, Type: "value_error"}}
	return p
}
