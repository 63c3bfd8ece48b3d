// Package passkey registers WebAuthn credentials of subjects and verifies the assertions that complete challenges.
//
// The package github.com/go-webauthn/webauthn verifies both ceremonies. This package stores the credentials, rejects what the
// library accepts (a signature counter that decreased), and gives each rejection its problem code.
//
// Registration takes three steps: the relying party requests a grant for a subject (Grant), the subject's browser exchanges the
// grant for options (Options), and sends the new credential (Complete). An assertion takes two: AssertionOptions, and
// VerifyAssertion, which package challenge calls.
//
// It may not settle a challenge, decide an authorization or store an assertion. The token of a registration grant is returned
// once; the database has its MAC.
package passkey

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"

	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

const (
	// GrantLife is how long a registration grant can be used.
	GrantLife = 10 * time.Minute
	// MaxPasskeys is the maximum number of active passkeys of a subject. It also limits the size of the options.
	MaxPasskeys = 20

	grantPurpose = "passkey-registration-grant" // of the keyring
	grantBytes   = 32                           // 256 bits, 43 characters
)

// Service manages the passkeys of all environments. It is safe for concurrent use.
type Service struct {
	store *pg.Store
	keys  *keyring.Keyring
	clock clock.Clock
}

// New returns the service.
func New(st *pg.Store, keys *keyring.Keyring, c clock.Clock) *Service {
	return &Service{store: st, keys: keys, clock: c}
}

// relyingParty returns the WebAuthn library configured for an environment's RP ID, origins and rules of passkeys. It always requires user
// verification, which the library only prefers by default.
func relyingParty(env models.Environment) (*webauthn.WebAuthn, error) {
	web, apps := env.OriginsByKind()
	rp, err := webauthn.New(&webauthn.Config{
		RPID: env.RPID, RPDisplayName: env.RPName, RPOrigins: web, RPOpaqueOrigins: apps,
		AuthenticatorSelection: protocol.AuthenticatorSelection{
			ResidentKey: protocol.ResidentKeyRequirementPreferred, RequireResidentKey: protocol.ResidentKeyNotRequired(),
			UserVerification: protocol.VerificationRequired,
		},
		Timeouts: webauthn.TimeoutsConfig{Registration: webauthn.TimeoutConfig{Timeout: GrantLife, TimeoutUVD: GrantLife}},
		// No extension is requested and no output is read, so unsolicited output of password managers is harmless.
		ExtensionsUnsolicitedOutputPolicy: protocol.UnsolicitedOutputPolicyIgnore,
	})
	if err != nil {
		return nil, fmt.Errorf("WebAuthn settings of environment %s: %w", env.ID, err)
	}
	return rp, nil
}

// user adapts a subject to webauthn.User.
type user struct {
	subject  models.Subject
	passkeys []models.Passkey
}

// UserHandle returns the WebAuthn user handle of a subject, which authenticators store. It is opaque, the same for all passkeys
// of the subject, and does not reveal the uid.
func UserHandle(subjectUID string) []byte {
	sum := sha256.Sum256(lengthPrefixed([]byte("countersign user handle"), []byte(subjectUID)))
	return sum[:]
}

// WebAuthnID returns the user handle.
func (u user) WebAuthnID() []byte { return UserHandle(u.subject.UID) }

// WebAuthnName returns the subject's id, which only the subject's own authenticator shows.
func (u user) WebAuthnName() string { return u.subject.ExternalID }

// WebAuthnDisplayName returns the subject's id as well: the service does not know the subject's name.
func (u user) WebAuthnDisplayName() string { return u.subject.ExternalID }

// WebAuthnCredentials returns the subject's active passkeys.
func (u user) WebAuthnCredentials() []webauthn.Credential {
	out := make([]webauthn.Credential, len(u.passkeys))
	for i, p := range u.passkeys {
		out[i] = credential(p)
	}
	return out
}

// credential converts a stored passkey to the library's record.
func credential(p models.Passkey) webauthn.Credential {
	return webauthn.Credential{
		ID: p.CredentialID, PublicKey: p.PublicKey, AttestationType: p.AttestationType, Transport: transports(p.Transports),
		Flags: webauthn.CredentialFlags{
			UserPresent: true, UserVerified: p.UserVerified, BackupEligible: p.BackupEligible, BackupState: p.BackupState,
		},
		Authenticator: webauthn.Authenticator{AAGUID: p.AAGUID, SignCount: uint32(p.SignCount), CloneWarning: p.CloneWarning}, // #nosec G115 -- written from a uint32
	}
}

// transports converts stored transport names to the library's type.
func transports(names []string) []protocol.AuthenticatorTransport {
	out := make([]protocol.AuthenticatorTransport, len(names))
	for i, n := range names {
		out[i] = protocol.AuthenticatorTransport(n)
	}
	return out
}

// descriptors returns the passkeys as the browser expects them in a list of allowed or excluded credentials.
func descriptors(passkeys []models.Passkey) []protocol.CredentialDescriptor {
	out := make([]protocol.CredentialDescriptor, len(passkeys))
	for i, p := range passkeys {
		out[i] = protocol.CredentialDescriptor{
			Type: protocol.PublicKeyCredentialType, CredentialID: p.CredentialID, Transport: transports(p.Transports),
		}
	}
	return out
}

// AAGUID returns the id of the authenticator's model in lower case; nil if the authenticator does not disclose it.
func AAGUID(p models.Passkey) *string { return p.Model() }

// lengthPrefixed joins the parts, each after its length, so that different lists of parts never give the same bytes.
func lengthPrefixed(parts ...[]byte) []byte {
	var out []byte
	for _, p := range parts {
		out = binary.BigEndian.AppendUint64(out, uint64(len(p)))
		out = append(out, p...)
	}
	return out
}

// encode returns unpadded base64url, the encoding of WebAuthn.
func encode(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }
