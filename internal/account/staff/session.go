package staff

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"time"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"

	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// Session is a session of the console: a signed-in person and their roles.
type Session struct {
	ID          string
	Person      models.Person
	Grants      []Grant
	ConfirmedAt time.Time // last use of the passkey, by sign-in or confirmation
	IdleAt      time.Time // end of the session if it is not used again
	ExpiresAt   time.Time // latest possible end
	// NeedsPasskey is set for a person whom an identity provider signed in and who has no passkey to confirm changes with.
	NeedsPasskey bool
	mac          []byte // of the cookie
}

// Grant returns the person's roles in an environment; false if there are none.
func (s Session) Grant(environment string) (Grant, bool) {
	for _, g := range s.Grants {
		if g.Environment.ID == environment {
			return g, true
		}
	}
	return Grant{}, false
}

// Opened is a new session with its cookie. The cookie is returned this once; the database has its MAC.
type Opened struct {
	Session Session
	Cookie  string
}

// errSignedOut is the single response to a cookie that is unknown, signed out, idle or expired, and to a revoked person.
func errSignedOut() error {
	return problem.New(problem.Unauthenticated, "You are not signed in, or your session has ended.")
}

// errRefused is the single response to every sign-in that fails. The cause is for the log: the response must not reveal which
// people or passkeys exist.
func errRefused(cause error) error {
	return &problem.Error{Code: problem.AssertionRefused, Detail: "This passkey does not open the console. If it should, ask your administrator for a new invitation.", Cause: cause}
}

// signInError is a sign-in that failed after it had identified the person.
type signInError struct {
	error
	person models.Person
}

// Unwrap returns the problem.
func (e signInError) Unwrap() error { return e.error }

// identified adds the person to the error of a sign-in; it leaves a success, and an unknown person, as they are.
func identified(err error, p models.Person) error {
	if err == nil || p.ID == "" {
		return err
	}
	return signInError{err, p}
}

// Identified returns the person whose sign-in failed with err; the zero value if the sign-in identified no one.
func Identified(err error) models.Person {
	var e signInError
	errors.As(err, &e)
	return e.person
}

// SignInOptions returns PublicKeyCredentialRequestOptions without a list of credentials: the passkey that the user selects
// identifies them, so the page need not ask for a name.
func (s *Service) SignInOptions() (protocol.PublicKeyCredentialRequestOptions, error) {
	return s.requestOptions("", nil)
}

// ConfirmOptions returns PublicKeyCredentialRequestOptions for the passkeys of the session's person. They are valid for one
// confirmation; a later call invalidates them.
func (s *Service) ConfirmOptions(ctx context.Context, in Session) (protocol.PublicKeyCredentialRequestOptions, error) {
	keys, err := passkeysOfPerson(ctx, s.store.Q, in.Person.ID)
	if err != nil {
		return protocol.PublicKeyCredentialRequestOptions{}, err
	}
	if len(keys) == 0 {
		return protocol.PublicKeyCredentialRequestOptions{}, errNoPasskey()
	}
	options, err := s.requestOptions(in.ID, user{in.Person, keys}.descriptors())
	if err != nil {
		return options, err
	}
	return options, beginConfirmation(ctx, s.store.Q, in.ID, options.Challenge)
}

// requestOptions returns request options with a new challenge for the session, or for a sign-in if the session is empty.
func (s *Service) requestOptions(about string, allowed []protocol.CredentialDescriptor) (protocol.PublicKeyCredentialRequestOptions, error) {
	rp, err := s.relyingParty()
	if err != nil {
		return protocol.PublicKeyCredentialRequestOptions{}, err
	}
	return protocol.PublicKeyCredentialRequestOptions{
		Challenge: s.newCeremony(about, s.clock.Now()), RelyingPartyID: rp.Config.RPID, AllowedCredentials: allowed,
		UserVerification: protocol.VerificationRequired, Timeout: int(ceremonyLife.Milliseconds()),
	}, nil
}

// SignIn verifies an assertion and opens a session. An assertion can be used once. Every failure is reported as the problem
// assertion_refused, assertion_malformed or assertion_challenge.
func (s *Service) SignIn(ctx context.Context, assertion json.RawMessage, requestID string) (Opened, error) {
	now := s.clock.Now()
	var out Opened
	err := s.withAssertion(ctx, assertion, "", now, func(q *pg.Q, a verifiedAssertion) error {
		if a.person.Federated() {
			return errFederated()
		}
		var err error
		out, err = s.openSession(ctx, byPerson(q, a.person, requestID, now), a.start(now))
		return err
	})
	return out, err
}

// Confirm verifies an assertion of the session's own person and permits changes for another ConfirmationLife. The event
// is recorded in the environment that the person is looking at.
func (s *Service) Confirm(ctx context.Context, in Session, environment string, assertion json.RawMessage, requestID string) error {
	now := s.clock.Now()
	return s.withAssertion(ctx, assertion, in.ID, now, func(q *pg.Q, a verifiedAssertion) error {
		if a.person.ID != in.Person.ID {
			return errRefused(errors.New("the passkey is a different person's"))
		}
		confirmed, err := confirmConsoleSession(ctx, q, in.ID, a.ceremony, now)
		if err != nil {
			return err
		}
		if !confirmed {
			return problem.New(problem.AssertionChallenge, "The confirmation was already used or was replaced by a newer one. Try again.")
		}
		scope := pg.Scope{Tenant: in.Person.TenantID, Environment: environment}
		return byPerson(q, in.Person, requestID, now).appendTo(ctx, scope, events.PersonConfirmedData{Session: in.ID, Passkey: a.key.ID})
	})
}

// verifiedAssertion is a verified assertion with its person and passkey.
type verifiedAssertion struct {
	person   models.Person
	key      models.PersonPasskey
	ceremony []byte
}

// withAssertion verifies an assertion with its passkey's row locked, stores the passkey's new counter and flags, and calls
// then in the same transaction. If the signature counter decreased, the authenticator may have been cloned: the transaction
// records a warning instead of calling then, and the caller gets an error.
func (s *Service) withAssertion(ctx context.Context, assertion json.RawMessage, about string, now time.Time, then func(*pg.Q, verifiedAssertion) error) error {
	parsed, err := protocol.ParseCredentialRequestResponseBytes(assertion)
	if err != nil {
		return &problem.Error{Code: problem.AssertionMalformed, Detail: "The response of the passkey cannot be parsed.", Cause: err}
	}
	challenge, err := base64.RawURLEncoding.Strict().DecodeString(parsed.Response.CollectedClientData.Challenge)
	if err != nil || !s.validCeremony(challenge, about, now) {
		return problem.New(problem.AssertionChallenge, "The sign-in took too long or was already used. Try again.")
	}
	rp, err := s.relyingParty()
	if err != nil {
		return err
	}
	var cloned error
	var person models.Person
	err = s.store.Write(ctx, func(q *pg.Q) error {
		a, err := s.verifyAssertion(ctx, q, rp, parsed, now)
		person = a.person
		if err != nil {
			return err
		}
		a.ceremony = challenge
		if err := recordPasskeyUse(ctx, q, a.key); err != nil {
			return err
		}
		if a.key.CloneWarning {
			cloned = errRefused(errors.New("the authenticator's counter decreased"))
			data := events.PersonPasskeyCloneWarnedData{Person: a.person.ID, Passkey: a.key.ID}
			return byPerson(q, a.person, "", now).append(ctx, a.person, data)
		}
		return then(q, a)
	})
	if err == nil {
		err = cloned
	}
	return identified(err, person)
}

// verifyAssertion verifies the assertion with the WebAuthn library and returns the passkey as it is to be stored. With an error it returns
// the person alone, if the passkey belongs to one. The library
// only sets CloneWarning when the counter decreased; the caller must reject such an assertion.
func (s *Service) verifyAssertion(ctx context.Context, q *pg.Q, rp *webauthn.WebAuthn, parsed *protocol.ParsedCredentialAssertionData, now time.Time) (verifiedAssertion, error) {
	key, p, err := lockPasskey(ctx, q, parsed.RawID)
	if errors.Is(err, pg.ErrNotFound) {
		return verifiedAssertion{}, errRefused(err)
	}
	if err != nil {
		return verifiedAssertion{}, err
	}
	if p.RevokedAt != nil || !bytes.Equal(parsed.Response.UserHandle, handle(p.ID)) {
		return verifiedAssertion{person: p}, errRefused(errors.New("the person is revoked, or the user handle is not the person's"))
	}
	session := webauthn.SessionData{
		Challenge: parsed.Response.CollectedClientData.Challenge, RelyingPartyID: rp.Config.RPID, UserID: handle(p.ID),
		UserVerification: protocol.VerificationRequired,
	}
	if _, err := rp.ValidateLogin(user{p, []models.PersonPasskey{key}}, session, parsed); err != nil {
		return verifiedAssertion{person: p}, errRefused(err)
	}
	auth := parsed.Response.AuthenticatorData
	if !auth.Flags.UserVerified() {
		return verifiedAssertion{person: p}, errRefused(errors.New("the user was not verified"))
	}
	counter := webauthn.Authenticator{SignCount: uint32(key.SignCount)} // #nosec G115 -- written from a uint32
	counter.UpdateCounter(auth.Counter)
	if key.CloneWarning = key.CloneWarning || counter.CloneWarning; !key.CloneWarning {
		key.SignCount, key.BackupState = int64(auth.Counter), auth.Flags.HasBackupState()
	}
	key.LastUsedAt = &now
	return verifiedAssertion{person: p, key: key}, nil
}

// sessionStart is the sign-in that opens a session.
type sessionStart struct {
	person          models.Person
	ceremony        []byte // unique among sessions, which makes the sign-in usable once
	confirmedAt     time.Time
	passkey         string // id; empty if an identity provider signed the person in
	providerSession *string
}

// start returns the sign-in by an assertion, which confirms changes as well.
func (a verifiedAssertion) start(now time.Time) sessionStart {
	return sessionStart{person: a.person, ceremony: a.ceremony, confirmedAt: now, passkey: a.key.ID}
}

// openSession opens a session and records person.signed_in. A person without any role is rejected.
func (s *Service) openSession(ctx context.Context, op operation, in sessionStart) (Opened, error) {
	cookie, p := newSecret(), in.person
	row := models.ConsoleSession{
		MAC: s.keys.MAC(sessionPurpose, []byte(cookie)), ID: ids.New(ids.ConsoleSession), PersonID: p.ID, Ceremony: in.ceremony,
		CreatedAt: op.at, ConfirmedAt: in.confirmedAt, LastSeenAt: op.at, ExpiresAt: op.at.Add(SessionLife),
		IdentityProviderID: p.IdentityProviderID, ProviderSession: in.providerSession,
	}
	created, err := createConsoleSession(ctx, op.q, row)
	if err != nil {
		return Opened{}, err
	}
	if !created {
		return Opened{}, problem.New(problem.AssertionChallenge, "The sign-in was already used. Try again.")
	}
	held, err := grantsOf(ctx, op.q, p)
	if err != nil {
		return Opened{}, err
	}
	if len(held) == 0 {
		return Opened{}, errRefused(errors.New("the person has no role"))
	}
	data := events.PersonSignedInData{Person: p.ID, Session: row.ID, Passkey: in.passkey}
	if in.passkey == "" && p.IdentityProviderID != nil {
		data.IdentityProvider = *p.IdentityProviderID
	}
	return Opened{Cookie: cookie, Session: view(row, p, held)}, op.appendEach(ctx, p.TenantID, held, data)
}

// view returns the session as its callers see it.
func view(row models.ConsoleSession, p models.Person, held []Grant) Session {
	idle := row.LastSeenAt.Add(IdleLife)
	if row.ExpiresAt.Before(idle) {
		idle = row.ExpiresAt
	}
	return Session{ID: row.ID, Person: p, Grants: held, ConfirmedAt: row.ConfirmedAt, IdleAt: idle, ExpiresAt: row.ExpiresAt, mac: row.MAC}
}

// RequestOrigin says whether the person or a script of the page made a request.
type RequestOrigin bool

// The origins of a request. A script's request, such as a page that refreshes itself, does not extend the session: the
// person may have left.
const (
	FromPerson RequestOrigin = true
	FromScript RequestOrigin = false
)

// Authenticate returns the session of a cookie. If the person made the request, it extends the session. Every rejection is
// the problem unauthenticated.
func (s *Service) Authenticate(ctx context.Context, cookie string, by RequestOrigin) (Session, error) {
	if len(cookie) != 43 { // secretBytes in base64url
		return Session{}, errSignedOut()
	}
	row, p, err := getConsoleSession(ctx, s.store.Q, s.keys.MACs(sessionPurpose, []byte(cookie)))
	if errors.Is(err, pg.ErrNotFound) {
		return Session{}, errSignedOut()
	}
	if err != nil {
		return Session{}, err
	}
	now := s.clock.Now()
	if !openAt(row, p, now) {
		return Session{}, errSignedOut()
	}
	if by == FromPerson && now.Sub(row.LastSeenAt) >= touchEvery {
		row.LastSeenAt = now
		if err := touchConsoleSession(ctx, s.store.Q, row.ID, now); err != nil {
			return Session{}, err
		}
	}
	held, err := grantsOf(ctx, s.store.Q, p)
	if err != nil {
		return Session{}, err
	}
	out := view(row, p, held)
	out.NeedsPasskey, err = needsPasskey(ctx, s.store.Q, p)
	return out, err
}

// openAt reports whether a session has neither ended nor expired at a time, and its person still has access.
func openAt(row models.ConsoleSession, p models.Person, now time.Time) bool {
	return row.EndedAt == nil && p.RevokedAt == nil && now.Before(row.ExpiresAt) && now.Before(row.LastSeenAt.Add(IdleLife))
}

// StillValid reports whether a session that was authenticated before is still open. It does not compare roles, since the loss of one
// ends the session, and does not extend the session.
func (s *Service) StillValid(ctx context.Context, in Session) (bool, error) {
	row, p, err := getConsoleSession(ctx, s.store.Q, [][]byte{in.mac})
	if errors.Is(err, pg.ErrNotFound) {
		return false, nil
	}
	return err == nil && openAt(row, p, s.clock.Now()), err
}

// SignOut ends a session, its event streams and the person's own link for a first passkey, which would open a new session and stays in
// the history of a browser that others may use. A link is not stored with its session, so one of a different session of the person
// ends too. Invitations by an operator remain. Signing out twice has no effect.
func (s *Service) SignOut(ctx context.Context, in Session, requestID string) error {
	now := s.clock.Now()
	return s.store.Write(ctx, func(q *pg.Q) error {
		q = q.AsStored()
		// The person comes first: FirstPasskey issues no link between the end of the session and that of its links.
		if _, err := LockPerson(ctx, q, in.Person.TenantID, in.Person.ID); err != nil {
			return err
		}
		ended, err := endConsoleSession(ctx, q, in.ID, now)
		if err != nil || !ended {
			return err
		}
		if err := voidInvitationsOf(ctx, q, in.Person.ID, now); err != nil {
			return err
		}
		if err := q.Notify(ctx, pg.ChannelCredential, in.ID); err != nil {
			return err
		}
		data := events.PersonSignedOutData{Person: in.Person.ID, Session: in.ID}
		return byPerson(q, in.Person, requestID, now).appendEach(ctx, in.Person.TenantID, in.Grants, data)
	})
}
