package passkey

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"

	"github.com/countersign-dev/countersign/internal/account/subjectrow"
	challenges "github.com/countersign-dev/countersign/internal/authz/challenge"
	"github.com/countersign-dev/countersign/internal/platform/canonical"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// ChallengeBytes returns the WebAuthn challenge that an authenticator signs: SHA-256 over the length-prefixed random bytes,
// challenge id, action hash and digest of the stored display. It binds the signature to the text shown: a changed display has
// a different challenge. It fails only for a display that has no canonical form.
func ChallengeBytes(c models.Challenge) ([]byte, error) {
	display, err := canonical.Digest(json.RawMessage(c.Display))
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(lengthPrefixed(c.Random, []byte(c.ID), []byte(c.ActionHash), []byte(display)))
	return sum[:], nil
}

// AssertionOptions returns PublicKeyCredentialRequestOptions for the challenge. It returns the problem method_not_offered if the
// subject has no active passkey of the RP ID. An empty rpID is the environment's own if the subject has a passkey of it, and that of
// the newest passkey if not.
func (s *Service) AssertionOptions(ctx context.Context, scope pg.Scope, c models.Challenge, rpID string) (any, error) {
	signed, err := ChallengeBytes(c)
	if err != nil {
		return nil, err
	}
	return s.challengeOptions(ctx, scope, c, signed, rpID)
}

// OpeningOptions is AssertionOptions for the ceremony that opens a link of the challenge.
func (s *Service) OpeningOptions(ctx context.Context, scope pg.Scope, c models.Challenge, l models.ChallengeLink) (any, error) {
	return s.challengeOptions(ctx, scope, c, openingBytes(l), "")
}

// openingBytes returns the WebAuthn challenge that opens a link. It differs from every challenge that confirms a request, so that opening
// a link signs nothing else.
func openingBytes(l models.ChallengeLink) []byte {
	sum := sha256.Sum256(lengthPrefixed([]byte("countersign challenge link"), l.Random, l.MAC, []byte(l.ChallengeID)))
	return sum[:]
}

// challengeOptions returns the options of a ceremony that signs the given bytes with a passkey that may complete the challenge.
func (s *Service) challengeOptions(ctx context.Context, scope pg.Scope, c models.Challenge, signed []byte, rpID string) (any, error) {
	passkeys, err := challenges.PasskeysForChallenge(ctx, s.store.Q, scope, c)
	if err != nil {
		return nil, err
	}
	return s.options(ctx, scope, signer{passkeys: passkeys, signed: signed, until: c.ExpiresAt}, rpID)
}

// StandingOptions returns the options of the ceremony that opens a link to the page of a subject's standing approvals. The assertion signs the link
// alone, with any active passkey of the subject.
func (s *Service) StandingOptions(ctx context.Context, l models.StandingLink) (any, error) {
	who, err := s.ofLink(ctx, l)
	if err != nil {
		return nil, err
	}
	return s.options(ctx, pg.Scope{Tenant: l.TenantID, Environment: l.EnvironmentID}, who, "")
}

// VerifyStanding verifies an assertion that opens such a link, with the refusals of VerifyAssertion. It stores no counter.
func (s *Service) VerifyStanding(ctx context.Context, l models.StandingLink, assertion json.RawMessage) (models.Passkey, error) {
	who, err := s.ofLink(ctx, l)
	if err != nil {
		return models.Passkey{}, err
	}
	return s.verify(ctx, pg.Scope{Tenant: l.TenantID, Environment: l.EnvironmentID}, who, assertion, s.clock.Now())
}

// signer is who must sign what in a ceremony.
type signer struct {
	subjectUID string
	passkeys   []models.Passkey // any of which signs
	signed     []byte
	until      time.Time
	challenge  string // id of the challenge that the assertion may settle; empty for none
}

// ofLink returns who opens a link to the page of standing approvals. What is signed differs from every other ceremony, and covers whose link it is.
func (s *Service) ofLink(ctx context.Context, l models.StandingLink) (signer, error) {
	passkeys, err := challenges.ActivePasskeys(ctx, s.store.Q, pg.Scope{Tenant: l.TenantID, Environment: l.EnvironmentID}, l.SubjectUID)
	signed := sha256.Sum256(lengthPrefixed([]byte("countersign standing link"), l.Random, l.MAC, []byte(l.EnvironmentID), []byte(l.SubjectUID)))
	return signer{subjectUID: l.SubjectUID, passkeys: passkeys, signed: signed[:], until: l.ExpiresAt}, err
}

// options returns the options of a ceremony.
func (s *Service) options(ctx context.Context, scope pg.Scope, who signer, rpID string) (any, error) {
	env, err := ruled(ctx, s.store.Q, scope)
	if err != nil {
		return nil, err
	}
	passkeys := who.passkeys
	if rpID, passkeys, err = usable(env, passkeys, rpID); err != nil {
		return nil, err
	}
	return protocol.PublicKeyCredentialRequestOptions{
		Challenge: who.signed, RelyingPartyID: rpID, AllowedCredentials: descriptors(passkeys),
		UserVerification: protocol.VerificationRequired, Timeout: int(max(who.until.Sub(s.clock.Now()), 0).Milliseconds()),
	}, nil
}

// usable returns the RP ID of a ceremony and the passkeys that are bound to it.
func usable(env models.Environment, passkeys []models.Passkey, rpID string) (string, []models.Passkey, error) {
	at := func(id string) []models.Passkey {
		return slices.DeleteFunc(slices.Clone(passkeys), func(p models.Passkey) bool { return p.RPIDOf(env) != id })
	}
	named, err := bound(env, rpID)
	if err != nil {
		return "", nil, err
	}
	found := at(named)
	if len(found) == 0 && len(passkeys) > 0 && rpID == "" {
		named = passkeys[len(passkeys)-1].RPIDOf(env)
		found = at(named)
	}
	if len(found) == 0 || !slices.Contains(env.Passkeys.RPIDsOf(env), named) {
		return "", nil, problem.New(problem.MethodNotOffered, "The subject has no passkey that the policy permits here.")
	}
	return named, found, nil
}

// ceremony is the expected relying party, user and challenge of an assertion.
type ceremony struct {
	env       models.Environment
	user      user
	challenge []byte
}

// VerifyAssertion verifies an assertion as WebAuthn Level 3, section 7.2, specifies. It returns the passkey with the new
// counter, backup state and time of use, which the caller must store in the transaction that settles the challenge.
//
// Each kind of rejection has its own code assertion_*. VerifyAssertion writes nothing but a clone warning. If a concurrent
// request with the same assertion has already settled the challenge, the repeated counter is no clone's, and the problem is
// challenge_closed.
func (s *Service) VerifyAssertion(ctx context.Context, scope pg.Scope, c models.Challenge, assertion json.RawMessage, now time.Time) (models.Passkey, error) {
	display, err := canonical.Digest(json.RawMessage(c.Display))
	if err != nil || display != c.DisplayDigest {
		return models.Passkey{}, refuse(problem.AssertionDisplay, "The display of the challenge has changed since it was opened.", err)
	}
	signed, err := ChallengeBytes(c)
	if err != nil {
		return models.Passkey{}, err
	}
	return s.verifyFor(ctx, scope, c, signed, assertion, now)
}

// VerifyOpening verifies an assertion that opens a link of the challenge, with the refusals of VerifyAssertion. It stores no counter: the
// assertion that confirms the request follows with a higher one.
func (s *Service) VerifyOpening(ctx context.Context, scope pg.Scope, c models.Challenge, l models.ChallengeLink, assertion json.RawMessage) error {
	_, err := s.verifyFor(ctx, scope, c, openingBytes(l), assertion, s.clock.Now())
	return err
}

// verifyFor verifies an assertion that signs the given bytes with a passkey that may complete the challenge.
func (s *Service) verifyFor(ctx context.Context, scope pg.Scope, c models.Challenge, signed []byte, assertion json.RawMessage, now time.Time) (models.Passkey, error) {
	passkeys, err := challenges.PasskeysForChallenge(ctx, s.store.Q, scope, c)
	if err != nil {
		return models.Passkey{}, err
	}
	return s.verify(ctx, scope, signer{subjectUID: c.SubjectUID, passkeys: passkeys, signed: signed, challenge: c.ID}, assertion, now)
}

// verify verifies an assertion.
func (s *Service) verify(ctx context.Context, scope pg.Scope, who signer, assertion json.RawMessage, now time.Time) (models.Passkey, error) {
	cer, err := s.ceremony(ctx, scope, who)
	if err != nil {
		return models.Passkey{}, err
	}
	parsed, err := protocol.ParseCredentialRequestResponseBytes(assertion)
	if err != nil {
		return models.Passkey{}, refuse(problem.AssertionMalformed, "The assertion cannot be read.", err)
	}
	row, err := cer.verify(parsed)
	if err != nil {
		return models.Passkey{}, err
	}
	auth := parsed.Response.AuthenticatorData
	// The library's own check runs on a copy of the passkey and only sets a flag, so the counter is checked again here.
	counter := webauthn.Authenticator{SignCount: uint32(row.SignCount)} // #nosec G115 -- written from a uint32
	counter.UpdateCounter(auth.Counter)
	if counter.CloneWarning {
		return models.Passkey{}, s.refuseClone(ctx, scope, who.challenge, cer.user.subject, row)
	}
	row.SignCount, row.BackupState, row.LastUsedAt = int64(auth.Counter), auth.Flags.HasBackupState(), &now
	return row, nil
}

// ceremony returns what an assertion must match.
func (s *Service) ceremony(ctx context.Context, scope pg.Scope, who signer) (ceremony, error) {
	out := ceremony{challenge: who.signed}
	var err error
	if out.env, err = ruled(ctx, s.store.Q, scope); err != nil {
		return ceremony{}, err
	}
	sub, err := subjectrow.GetByUID(ctx, s.store.Q, scope, who.subjectUID)
	if errors.Is(err, pg.ErrNotFound) {
		return ceremony{}, problem.NewNotFound()
	}
	if err != nil {
		return ceremony{}, err
	}
	out.user = user{sub, who.passkeys}
	return out, nil
}

// verify finds the passkey of the assertion and lets the library verify everything but the counter.
func (c ceremony) verify(parsed *protocol.ParsedCredentialAssertionData) (models.Passkey, error) {
	row, ok := c.passkey(parsed.RawID)
	if !ok {
		return row, refuse(problem.AssertionUnknownKey, "The subject does not have this passkey, it is revoked, or the policy does not permit its model.", nil)
	}
	env := c.env
	var err error
	if env.RPID, err = bound(c.env, row.RPIDOf(c.env)); err != nil {
		return row, refuse(problem.AssertionRPID, "The RP ID of the passkey is not one of the environment's any more.", err)
	}
	rp, err := relyingParty(env)
	if err != nil {
		return row, err
	}
	session := webauthn.SessionData{
		Challenge: encode(c.challenge), RelyingPartyID: env.RPID, UserID: c.user.WebAuthnID(),
		UserVerification: protocol.VerificationRequired,
	}
	for _, p := range c.user.passkeys {
		session.AllowedCredentialIDs = append(session.AllowedCredentialIDs, p.CredentialID)
	}
	_, err = rp.ValidateLogin(c.user, session, parsed)
	if err == nil && !knownOrigin(parsed.Response.CollectedClientData, rp.Config) {
		err = errOrigin
	}
	if err != nil {
		code, detail := c.classify(parsed, row, rp.Config, err)
		return row, refuse(code, detail, err)
	}
	return row, nil
}

// passkey finds the user's active passkey with the credential id.
func (c ceremony) passkey(credentialID []byte) (models.Passkey, bool) {
	for _, p := range c.user.passkeys {
		if bytes.Equal(p.CredentialID, credentialID) {
			return p, true
		}
	}
	return models.Passkey{}, false
}

// classify returns the code of the step of section 7.2 that failed. The library has no codes for most steps, so they are
// checked again in order; a failure that matches none has the general code assertion_refused.
func (c ceremony) classify(parsed *protocol.ParsedCredentialAssertionData, row models.Passkey, rp *webauthn.Config, refusal error) (problem.Code, string) {
	if h := parsed.Response.UserHandle; len(h) > 0 && !bytes.Equal(h, c.user.WebAuthnID()) {
		return problem.AssertionUserHandle, "The user handle is not the subject's."
	}
	auth := parsed.Response.AuthenticatorData
	code, detail := classifyCeremony(parsed.Response.CollectedClientData, protocol.AssertCeremony, encode(c.challenge), auth, rp)
	switch {
	case code != problem.AssertionRefused:
		return code, detail
	case isSignatureError(refusal):
		return problem.AssertionSignature, "The signature does not verify with the passkey's key for this challenge."
	case auth.Flags.HasBackupEligible() != row.BackupEligible, auth.Flags.HasBackupState() && !auth.Flags.HasBackupEligible():
		return problem.AssertionBackupFlags, "The backup flags do not match the registered passkey."
	}
	return code, detail
}

// isSignatureError compares the type of the library's error: the library returns copies of its error values, so errors.Is does
// not match.
func isSignatureError(err error) bool {
	var e *protocol.Error
	return errors.As(err, &e) && e.Type == protocol.ErrAssertionSignature.Type
}

// errOrigin refuses an origin that the library accepts, which compares without regard to case and to a slash at the end.
var errOrigin = errors.New("the origin is not written as a browser writes it")

// knownOrigin reports whether client data has one of the environment's origins, exactly as a browser writes it.
func knownOrigin(client protocol.CollectedClientData, rp *webauthn.Config) bool {
	return slices.Contains(rp.RPOrigins, client.Origin) || slices.Contains(rp.RPOpaqueOrigins, client.Origin)
}

// classifyCeremony returns the code of the first step that client data or authenticator data fail, for both ceremonies.
func classifyCeremony(client protocol.CollectedClientData, kind protocol.CeremonyType, challenge string, auth protocol.AuthenticatorData, rp *webauthn.Config) (problem.Code, string) {
	want := sha256.Sum256([]byte(rp.RPID))
	switch {
	case client.Type != kind:
		return problem.AssertionMalformed, "The client data belongs to a different ceremony."
	case client.Challenge != challenge:
		return problem.AssertionChallenge, "The signed challenge is a different one, or the display has changed."
	case !knownOrigin(client, rp):
		return problem.AssertionOrigin, "The origin is not one of the environment's origins."
	case client.CrossOrigin, client.TopOrigin != "":
		return problem.AssertionOrigin, "The ceremony ran inside a frame of a different site."
	case !bytes.Equal(auth.RPIDHash, want[:]):
		return problem.AssertionRPID, "The RP ID is not the environment's."
	case !auth.Flags.UserPresent():
		return problem.AssertionUnverified, "The authenticator did not see the user."
	case !auth.Flags.UserVerified():
		return problem.AssertionUnverified, "The authenticator did not verify the user."
	}
	return problem.AssertionRefused, "The credential does not verify."
}

// refuseClone records a clone warning and rejects the assertion: the signature counter decreased, so the authenticator may have
// been copied.
func (s *Service) refuseClone(ctx context.Context, scope pg.Scope, challenge string, sub models.Subject, row models.Passkey) error {
	err := s.store.Write(ctx, func(q *pg.Q) error {
		// The counter is stored in the transaction that settles the challenge. If a concurrent request did that, the settled
		// challenge is visible here, and this is a repetition and no clone.
		current, err := challenges.GetChallenge(ctx, q, scope, challenge)
		if err == nil && current.Status != models.ChallengeOpen {
			return problem.Newf(problem.ChallengeClosed, "The challenge is %s.", current.Status)
		}
		if err != nil && !errors.Is(err, pg.ErrNotFound) {
			return err
		}
		if err := warnOfClone(ctx, q, scope, row.ID); err != nil {
			return err
		}
		return events.Append(ctx, q, events.Entry{
			Scope: scope, At: s.clock.Now(), SubjectUID: sub.UID, Subject: sub.ExternalID,
			Actor: "passkey:" + row.ID, Data: events.PasskeyCloneWarningData{Passkey: row.ID, SignCount: row.SignCount},
		})
	})
	if err != nil {
		return err
	}
	return refuse(problem.AssertionCloned, "The authenticator's counter did not increase. The authenticator may have been copied, or the assertion was already used.", nil)
}

// refuse returns a problem with the library's error as its cause, which is logged and not returned to the client.
func refuse(code problem.Code, detail string, cause error) error {
	return &problem.Error{Code: code, Detail: detail, Cause: cause}
}
