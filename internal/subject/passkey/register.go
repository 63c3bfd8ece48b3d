package passkey

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"time"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/protocol/webauthncbor"
	"github.com/go-webauthn/webauthn/webauthn"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/account/subjectrow"
	"github.com/countersign-dev/countersign/internal/authz/challenge"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// Grant permits the registration of one passkey (PasskeyRegistrationGrant of the contract).
type Grant struct {
	Token     string // returned this once
	ExpiresAt time.Time
}

// errGrantInvalid is the single response to a grant that is unknown, used, expired or of a different subject, so that it
// reveals nothing about other grants.
func errGrantInvalid() error {
	return problem.New(problem.GrantInvalid, "The registration grant is unknown, used, expired or of a different subject.")
}

// Grant creates a grant with which the subject can register one passkey within GrantLife, unless the caller's credential ends before. It returns the problem conflict if the
// subject already has MaxPasskeys.
func (s *Service) Grant(ctx context.Context, p identity.Principal, subjectID string) (Grant, error) {
	secret := make([]byte, grantBytes)
	_, _ = rand.Read(secret) // crypto/rand.Read never returns an error
	token, now := encode(secret), s.clock.Now()
	g := models.RegistrationGrant{
		MAC: s.keys.MAC(grantPurpose, []byte(token)), ID: ids.New(ids.RegistrationGrant), TenantID: p.TenantID,
		EnvironmentID: p.EnvironmentID, CredentialID: p.CredentialID, CreatedAt: now, ExpiresAt: now.Add(GrantLife),
	}
	err := s.store.Write(ctx, func(q *pg.Q) error {
		sub, err := activeSubject(ctx, q, p.Store(), subjectID)
		if err != nil {
			return err
		}
		if _, err := checkLimit(ctx, q, sub); err != nil {
			return err
		}
		g.SubjectUID = sub.UID
		if err := createRegistrationGrant(ctx, q, g); err != nil {
			return err
		}
		return events.Append(ctx, q, entry(p, sub, now, events.PasskeyRegistrationGrantedData{Grant: g.ID}))
	})
	return Grant{Token: token, ExpiresAt: g.ExpiresAt}, err
}

// Options begins the registration ceremony of a grant and returns its PublicKeyCredentialCreationOptions. A second call begins
// a new ceremony in place of the first. Only Complete spends the grant.
//
// The passkey is bound to rpID, one of the environment's; empty is its own.
func (s *Service) Options(ctx context.Context, p identity.Principal, subjectID, token, rpID string) (protocol.PublicKeyCredentialCreationOptions, error) {
	var options protocol.PublicKeyCredentialCreationOptions
	err := s.store.Write(ctx, func(q *pg.Q) error {
		c, err := s.lockCandidate(ctx, q, p.Store(), subjectID, token)
		if err != nil {
			return err
		}
		env, err := ruled(ctx, q, p.Store())
		if err != nil {
			return err
		}
		if env.RPID, err = bound(env, rpID); err != nil {
			return err
		}
		rp, err := relyingParty(env)
		if err != nil {
			return err
		}
		preference, err := conveyance(ctx, q, p.Store(), env.Passkeys)
		if err != nil {
			return err
		}
		creation, session, err := rp.BeginRegistration(user{c.subject, c.passkeys}, webauthn.WithExclusions(descriptors(c.passkeys)),
			webauthn.WithConveyancePreference(preference))
		if err != nil {
			return err
		}
		ceremony, err := json.Marshal(session)
		if err != nil {
			return err
		}
		options = creation.Response
		return setCeremony(ctx, q, c.grant, ceremony)
	})
	return options, err
}

// Complete verifies the browser's registration response and registers the passkey. The grant's row is locked: of concurrent
// calls one succeeds, and the others find the grant used. A rejected response ends the ceremony but not the grant.
func (s *Service) Complete(ctx context.Context, p identity.Principal, subjectID, token string, response json.RawMessage) (models.Passkey, error) {
	var row models.Passkey
	var refusal error
	err := s.store.Write(ctx, func(q *pg.Q) error {
		c, err := s.lockCandidate(ctx, q, p.Store(), subjectID, token)
		if err != nil {
			return err
		}
		made, rpID, err := s.verifyRegistration(ctx, q, p.Store(), c, response)
		if problem.Is(err, problem.RegistrationRefused) {
			refusal = err
			return setCeremony(ctx, q, c.grant, nil)
		}
		if err != nil {
			return err
		}
		row, err = s.register(ctx, q, p, c, newPasskey{made, rpID})
		return err
	})
	if err == nil {
		err = refusal
	}
	return row, err
}

// newPasskey is a verified credential and its RP ID; nil for the environment's own.
type newPasskey struct {
	*webauthn.Credential
	rpID *string
}

// register spends the grant, stores the passkey and records passkey.registered, in the caller's transaction.
func (s *Service) register(ctx context.Context, q *pg.Q, p identity.Principal, c candidate, made newPasskey) (models.Passkey, error) {
	now := s.clock.Now()
	row := models.Passkey{
		ID: ids.New(ids.Passkey), TenantID: p.TenantID, EnvironmentID: p.EnvironmentID, SubjectUID: c.subject.UID,
		CredentialID: made.ID, RPID: made.rpID, PublicKey: made.PublicKey, AttestationType: made.AttestationType, AAGUID: made.Authenticator.AAGUID,
		Transports: transportNames(made.Transport), SignCount: int64(made.Authenticator.SignCount),
		UserVerified: made.Flags.UserVerified, BackupEligible: made.Flags.BackupEligible, BackupState: made.Flags.BackupState,
		CreatedAt: now,
	}
	// Use is a conditional UPDATE: it reports false if the grant was used since it was locked.
	used, err := useRegistrationGrant(ctx, q, c.grant, now)
	if err != nil {
		return row, err
	}
	if !used {
		return row, errGrantInvalid()
	}
	return row, create(ctx, q, row, entry(p, c.subject, now, registered(row, false)))
}

// candidate is a usable grant with its subject and the subject's active passkeys.
type candidate struct {
	grant    models.RegistrationGrant
	subject  models.Subject
	passkeys []models.Passkey
}

// lockCandidate locks a usable grant and finds its subject, which must be the one that the request names.
func (s *Service) lockCandidate(ctx context.Context, q *pg.Q, scope pg.Scope, subjectID, token string) (candidate, error) {
	sub, err := activeSubject(ctx, q, scope, subjectID)
	if err != nil {
		return candidate{}, err
	}
	grant, err := lockRegistrationGrant(ctx, q, scope, s.keys.MACs(grantPurpose, []byte(token)))
	if errors.Is(err, pg.ErrNotFound) {
		return candidate{}, errGrantInvalid()
	}
	if err != nil {
		return candidate{}, err
	}
	state, err := s.ended(ctx, q, grant)
	if err == nil && (state != "" || grant.SubjectUID != sub.UID) {
		err = errGrantInvalid()
	}
	if err != nil {
		return candidate{}, err
	}
	passkeys, err := checkLimit(ctx, q, sub)
	return candidate{grant: grant, subject: sub, passkeys: passkeys}, err
}

// verifyRegistration verifies a registration response as WebAuthn Level 3, section 7.1, specifies. Every rejection is the
// problem registration_refused. It returns the RP ID of the ceremony as well, as passkeys have it.
func (s *Service) verifyRegistration(ctx context.Context, q *pg.Q, scope pg.Scope, c candidate, response json.RawMessage) (*webauthn.Credential, *string, error) {
	if c.grant.Ceremony == nil {
		return nil, nil, refuseRegistration("No registration is in progress. Request options first.", nil)
	}
	var session webauthn.SessionData
	if err := json.Unmarshal(c.grant.Ceremony, &session); err != nil {
		return nil, nil, err
	}
	env, err := ruled(ctx, q, scope)
	if err != nil {
		return nil, nil, err
	}
	rpID := stored(env, session.RelyingPartyID)
	if rpID != nil {
		// The RP ID may have been removed from the environment since the options.
		if env.RPID, err = bound(env, *rpID); err != nil {
			return nil, nil, err
		}
	}
	rp, err := relyingParty(env)
	if err != nil {
		return nil, nil, err
	}
	parsed, err := s.parsed(ctx, q, env, response)
	if err != nil {
		return nil, nil, refuseRegistration("The credential cannot be read.", err)
	}
	made, err := rp.CreateCredential(user{c.subject, c.passkeys}, session, parsed)
	if err == nil && !knownOrigin(parsed.Response.CollectedClientData, rp.Config) {
		err = errOrigin
	}
	if err != nil {
		auth := parsed.Response.AttestationObject.AuthData
		_, detail := classifyCeremony(parsed.Response.CollectedClientData, protocol.CreateCeremony, session.Challenge, auth, rp.Config)
		return nil, nil, refuseRegistration(detail, err)
	}
	return made, rpID, checkModel(env.Passkeys, made, parsed.Response.AttestationObject, s.clock.Now())
}

// parsed reads a registration response. A statement about the authenticator is kept only if a rule depends on it: many authenticators
// attest themselves unasked, with expired certificates or in formats that are new, and such a passkey is as good as one without.
func (s *Service) parsed(ctx context.Context, q *pg.Q, env models.Environment, response json.RawMessage) (*protocol.ParsedCredentialCreationData, error) {
	preference, err := conveyance(ctx, q, pg.Scope{Tenant: env.TenantID, Environment: env.ID}, env.Passkeys)
	if err != nil {
		return nil, err
	}
	if preference != protocol.PreferNoAttestation {
		return protocol.ParseCredentialCreationResponseBytes(response)
	}
	var unasked protocol.CredentialCreationResponse
	if err := json.Unmarshal(response, &unasked); err != nil {
		return nil, err
	}
	var attestation struct {
		AuthData []byte `cbor:"authData"`
	}
	if err := webauthncbor.Unmarshal(unasked.AttestationResponse.AttestationObject, &attestation); err != nil {
		return nil, err
	}
	unasked.AttestationResponse.AttestationObject, err = webauthncbor.Marshal(map[string]any{
		"fmt": protocol.AttestationFormatNone, "attStmt": map[string]any{}, "authData": attestation.AuthData,
	})
	if err != nil {
		return nil, err
	}
	return unasked.Parse()
}

// refuseRegistration returns the problem registration_refused with the library's error as its cause, which is only logged.
func refuseRegistration(detail string, cause error) error {
	return &problem.Error{Code: problem.RegistrationRefused, Detail: detail, Cause: cause}
}

// activeSubject finds a subject that is not revoked, and locks it: of concurrent registrations each counts the passkeys of those before it.
func activeSubject(ctx context.Context, q *pg.Q, scope pg.Scope, id string) (models.Subject, error) {
	sub, err := subjectrow.Lock(ctx, q, scope, id)
	switch {
	case errors.Is(err, pg.ErrNotFound):
		return sub, problem.NewNotFound()
	case err == nil && sub.Status == models.SubjectRevoked:
		return sub, problem.New(problem.SubjectRevoked, "The subject is revoked. No passkey can be registered for it.")
	}
	return sub, err
}

// checkLimit returns the active passkeys of the subject, which must be locked. It returns the problem conflict if there are MaxPasskeys.
func checkLimit(ctx context.Context, q *pg.Q, sub models.Subject) ([]models.Passkey, error) {
	passkeys, err := challenge.ActivePasskeys(ctx, q, pg.Scope{Tenant: sub.TenantID, Environment: sub.EnvironmentID}, sub.UID)
	if err == nil && len(passkeys) >= MaxPasskeys {
		err = problem.Newf(problem.Conflict, "The subject has %d passkeys, which is the maximum. Revoke one first.", MaxPasskeys)
	}
	return passkeys, err
}

// transportNames converts the library's transports to the names that are stored.
func transportNames(in []protocol.AuthenticatorTransport) models.Strings {
	out := make(models.Strings, 0, len(in))
	for _, t := range in {
		out = append(out, string(t))
	}
	return out
}

// entry returns an event about the subject's passkeys with the caller as its actor.
func entry(p identity.Principal, sub models.Subject, at time.Time, data events.Data) events.Entry {
	return events.Entry{
		Scope: p.Store(), At: at, SubjectUID: sub.UID, Subject: sub.ExternalID, Actor: p.Actor(),
		RequestID: p.RequestID, Data: data,
	}
}
