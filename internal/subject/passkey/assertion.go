package passkey

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"time"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"

	"github.com/countersign-dev/countersign/internal/platform/canonical"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/platform/store"
	"github.com/countersign-dev/countersign/models"
)

// ChallengeBytes is what an authenticator signs for a challenge: SHA-256 over the length-prefixed random bytes, challenge
// id, action hash and digest of the stored display. Whoever changes what was shown changes what had to be signed. It fails
// only on a display that has no canonical form.
func ChallengeBytes(c models.Challenge) ([]byte, error) {
	display, err := canonical.Digest(json.RawMessage(c.Display))
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(lengthPrefixed(c.Random, []byte(c.ID), []byte(c.ActionHash), []byte(display)))
	return sum[:], nil
}

// AssertionOptions are PublicKeyCredentialRequestOptions for the challenge, as long as the subject has a passkey.
func (s *Service) AssertionOptions(ctx context.Context, scope store.Scope, c models.Challenge) (any, error) {
	env, err := s.store.Environments().Get(ctx, scope)
	if err != nil {
		return nil, err
	}
	passkeys, err := s.store.Passkeys().Active(ctx, scope, c.SubjectUID)
	if err != nil {
		return nil, err
	}
	if len(passkeys) == 0 {
		return nil, problem.New(problem.MethodNotOffered, "The subject has no passkey.")
	}
	challenge, err := ChallengeBytes(c)
	if err != nil {
		return nil, err
	}
	return protocol.PublicKeyCredentialRequestOptions{
		Challenge: challenge, RelyingPartyID: env.RPID, AllowedCredentials: descriptors(passkeys),
		UserVerification: protocol.VerificationRequired, Timeout: int(max(c.ExpiresAt.Sub(s.clock.Now()), 0).Milliseconds()),
	}, nil
}

// ceremony is everything one assertion is held against.
type ceremony struct {
	rp        *webauthn.WebAuthn
	user      user
	challenge []byte
}

// VerifyAssertion follows WebAuthn Level 3, section 7.2. It answers the passkey with the counter, backup state and last
// use that the caller stores once the assertion has settled the challenge. Each refusal has a code assertion_* of its own;
// the only thing written is a clone warning. An assertion that is used because it has settled this very challenge meanwhile,
// as one that is sent twice at once may have, is no clone's: it is problem.ChallengeClosed.
func (s *Service) VerifyAssertion(ctx context.Context, scope store.Scope, c models.Challenge, assertion json.RawMessage, now time.Time) (models.Passkey, error) {
	cer, err := s.ceremony(ctx, scope, c)
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
	counter := webauthn.Authenticator{SignCount: uint32(row.SignCount)} // #nosec G115 -- written from a uint32
	counter.UpdateCounter(auth.Counter)
	if counter.CloneWarning {
		return models.Passkey{}, s.refuseClone(ctx, c, cer.user.subject, row, now)
	}
	row.SignCount, row.BackupState, row.LastUsedAt = int64(auth.Counter), auth.Flags.HasBackupState(), &now
	return row, nil
}

func (s *Service) ceremony(ctx context.Context, scope store.Scope, c models.Challenge) (ceremony, error) {
	display, err := canonical.Digest(json.RawMessage(c.Display))
	if err != nil || display != c.DisplayDigest {
		return ceremony{}, refuse(problem.AssertionDisplay, "What the challenge shows is not what it was opened with.", err)
	}
	var out ceremony
	if out.challenge, err = ChallengeBytes(c); err != nil {
		return ceremony{}, err
	}
	if out.rp, err = s.relyingPartyOf(ctx, s.store.Q, scope); err != nil {
		return ceremony{}, err
	}
	sub, err := s.store.Subjects().ByUID(ctx, scope, c.SubjectUID)
	if errors.Is(err, store.ErrNotFound) {
		return ceremony{}, problem.NewNotFound()
	}
	if err != nil {
		return ceremony{}, err
	}
	passkeys, err := s.store.Passkeys().Active(ctx, scope, sub.UID)
	out.user = user{sub, passkeys}
	return out, err
}

// judge lets the library verify the assertion, all but the counter, and finds the passkey it is by.
func (c ceremony) verify(parsed *protocol.ParsedCredentialAssertionData) (models.Passkey, error) {
	row, ok := c.passkey(parsed.RawID)
	if !ok {
		return row, refuse(problem.AssertionUnknownKey, "The subject has no such passkey, or it is revoked.", nil)
	}
	session := webauthn.SessionData{
		Challenge: encode(c.challenge), RelyingPartyID: c.rp.Config.RPID, UserID: c.user.WebAuthnID(),
		UserVerification: protocol.VerificationRequired,
	}
	for _, p := range c.user.passkeys {
		session.AllowedCredentialIDs = append(session.AllowedCredentialIDs, p.CredentialID)
	}
	if _, err := c.rp.ValidateLogin(c.user, session, parsed); err != nil {
		code, detail := c.classify(parsed, row, err)
		return row, refuse(code, detail, err)
	}
	return row, nil
}

func (c ceremony) passkey(credentialID []byte) (models.Passkey, bool) {
	for _, p := range c.user.passkeys {
		if bytes.Equal(p.CredentialID, credentialID) {
			return p, true
		}
	}
	return models.Passkey{}, false
}

// name says which step of section 7.2 the library's refusal is about. The library gives no codes for most of them, so the
// steps are looked at again, in their order; what fits none keeps the general code.
func (c ceremony) classify(parsed *protocol.ParsedCredentialAssertionData, row models.Passkey, refusal error) (problem.Code, string) {
	if h := parsed.Response.UserHandle; len(h) > 0 && !bytes.Equal(h, c.user.WebAuthnID()) {
		return problem.AssertionUserHandle, "The user handle is another user's."
	}
	auth := parsed.Response.AuthenticatorData
	code, detail := classifyCeremony(parsed.Response.CollectedClientData, protocol.AssertCeremony, encode(c.challenge), auth, c.rp.Config)
	switch {
	case code != problem.AssertionRefused:
		return code, detail
	case isSignatureError(refusal):
		return problem.AssertionSignature, "The signature is not by the passkey's key over this challenge."
	case auth.Flags.HasBackupEligible() != row.BackupEligible, auth.Flags.HasBackupState() && !auth.Flags.HasBackupEligible():
		return problem.AssertionBackupFlags, "The backup flags are not those of the registered passkey."
	}
	return code, detail
}

// isSignature tells by the error's type, because the library hands out copies of its error values.
func isSignatureError(err error) bool {
	var e *protocol.Error
	return errors.As(err, &e) && e.Type == protocol.ErrAssertionSignature.Type
}

// nameOf names the first step that client data and authenticator data fail, for both ceremonies.
func classifyCeremony(client protocol.CollectedClientData, kind protocol.CeremonyType, challenge string, auth protocol.AuthenticatorData, rp *webauthn.Config) (problem.Code, string) {
	want := sha256.Sum256([]byte(rp.RPID))
	switch {
	case client.Type != kind:
		return problem.AssertionMalformed, "The client data is of another ceremony."
	case client.Challenge != challenge:
		return problem.AssertionChallenge, "What was signed is another challenge, or this one with another display."
	case !protocol.IsOriginInHaystack(client.Origin, rp.RPOrigins):
		return problem.AssertionOrigin, "The origin is not one of the environment's."
	case client.CrossOrigin, client.TopOrigin != "":
		return problem.AssertionOrigin, "The ceremony ran inside another site's frame."
	case !bytes.Equal(auth.RPIDHash, want[:]):
		return problem.AssertionRPID, "The RP ID is not the environment's."
	case !auth.Flags.UserPresent():
		return problem.AssertionUnverified, "The authenticator did not see the user."
	case !auth.Flags.UserVerified():
		return problem.AssertionUnverified, "The authenticator did not verify the user."
	}
	return problem.AssertionRefused, "The credential does not verify."
}

// cloned marks the passkey and refuses: its counter went back, so there may be two of it.
func (s *Service) refuseClone(ctx context.Context, c models.Challenge, sub models.Subject, row models.Passkey, now time.Time) error {
	scope := store.Scope{Tenant: c.TenantID, Environment: c.EnvironmentID}
	err := s.store.Write(ctx, func(q *store.Q) error {
		// The counter is stored with the challenge's end: whoever has seen the one sees the other.
		current, err := q.Challenges().Get(ctx, scope, c.ID)
		if err == nil && current.Status != models.ChallengeOpen {
			return problem.Newf(problem.ChallengeClosed, "The challenge is %s.", current.Status)
		}
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		if err := q.Passkeys().WarnOfClone(ctx, scope, row.ID); err != nil {
			return err
		}
		return events.Append(ctx, q, events.Entry{
			Scope: scope, Type: events.PasskeyCloneWarning, At: now, SubjectUID: sub.UID, Subject: sub.ExternalID,
			Actor: "passkey:" + row.ID, Data: map[string]any{"passkey": row.ID, "sign_count": row.SignCount},
		})
	})
	if err != nil {
		return err
	}
	return refuse(problem.AssertionCloned, "The authenticator's counter is not above the last one seen: it may have been copied, or the assertion was used.", nil)
}

func refuse(code problem.Code, detail string, cause error) error {
	return &problem.Error{Code: code, Detail: detail, Cause: cause}
}
