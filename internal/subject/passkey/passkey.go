// Package passkey registers WebAuthn credentials for subjects and verifies the assertions by which a person answers a
// challenge. github.com/go-webauthn/webauthn is the judge of both ceremonies; this package keeps what it is to judge by,
// refuses what the library lets pass (a counter that went back), and names each refusal.
//
// It may not settle a challenge, decide an authorization or keep an assertion. A grant's token is shown once, at its
// making; only its MAC is stored.
package passkey

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"
	"github.com/google/uuid"

	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/platform/store"
	"github.com/countersign-dev/countersign/models"
)

const (
	// GrantLife is how long a registration grant may be used.
	GrantLife = 10 * time.Minute
	// MaxPasskeys bounds the passkeys that a subject has at once, and with them the size of the options.
	MaxPasskeys = 20

	grantPurpose = "passkey-registration-grant" // of the keyring
	grantBytes   = 32                           // 256 bits, 43 characters
)

// Service keeps the passkeys of all environments.
type Service struct {
	store *store.Store
	keys  *keyring.Keyring
	clock clock.Clock
}

// New makes the service.
func New(st *store.Store, keys *keyring.Keyring, c clock.Clock) *Service {
	return &Service{store: st, keys: keys, clock: c}
}

// relyingParty is the library set to an environment's RP ID and origins. User verification is always required: the
// library's default only prefers it.
func relyingParty(env models.Environment) (*webauthn.WebAuthn, error) {
	rp, err := webauthn.New(&webauthn.Config{
		RPID: env.RPID, RPDisplayName: env.RPName, RPOrigins: env.RPOrigins,
		AttestationPreference: protocol.PreferNoAttestation,
		AuthenticatorSelection: protocol.AuthenticatorSelection{
			ResidentKey: protocol.ResidentKeyRequirementPreferred, RequireResidentKey: protocol.ResidentKeyNotRequired(),
			UserVerification: protocol.VerificationRequired,
		},
		Timeouts: webauthn.TimeoutsConfig{Registration: webauthn.TimeoutConfig{Timeout: GrantLife, TimeoutUVD: GrantLife}},
		// No extension is asked for and no output is read, so what a password manager adds does no harm.
		ExtensionsUnsolicitedOutputPolicy: protocol.UnsolicitedOutputPolicyIgnore,
	})
	if err != nil {
		return nil, fmt.Errorf("WebAuthn settings of environment %s: %w", env.ID, err)
	}
	return rp, nil
}

// user is a subject as the library asks for it.
type user struct {
	subject  models.Subject
	passkeys []models.Passkey
}

// UserHandle is what an authenticator keeps of the subject: opaque, the same for all passkeys of one subject, and of no
// use outside the service.
func UserHandle(subjectUID string) []byte {
	sum := sha256.Sum256(lengthPrefixed([]byte("countersign user handle"), []byte(subjectUID)))
	return sum[:]
}

// WebAuthnID is the user handle.
func (u user) WebAuthnID() []byte { return UserHandle(u.subject.UID) }

// WebAuthnName is shown to the person by their own authenticator only.
func (u user) WebAuthnName() string { return u.subject.ExternalID }

// WebAuthnDisplayName is the name: the service knows no other.
func (u user) WebAuthnDisplayName() string { return u.subject.ExternalID }

// WebAuthnCredentials are the subject's passkeys that are not revoked.
func (u user) WebAuthnCredentials() []webauthn.Credential {
	out := make([]webauthn.Credential, len(u.passkeys))
	for i, p := range u.passkeys {
		out[i] = credential(p)
	}
	return out
}

// credential is the record that an assertion is held against.
func credential(p models.Passkey) webauthn.Credential {
	return webauthn.Credential{
		ID: p.CredentialID, PublicKey: p.PublicKey, AttestationType: p.AttestationType, Transport: transports(p.Transports),
		Flags: webauthn.CredentialFlags{
			UserPresent: true, UserVerified: p.UserVerified, BackupEligible: p.BackupEligible, BackupState: p.BackupState,
		},
		Authenticator: webauthn.Authenticator{AAGUID: p.AAGUID, SignCount: uint32(p.SignCount), CloneWarning: p.CloneWarning}, // #nosec G115 -- written from a uint32
	}
}

func transports(names []string) []protocol.AuthenticatorTransport {
	out := make([]protocol.AuthenticatorTransport, len(names))
	for i, n := range names {
		out[i] = protocol.AuthenticatorTransport(n)
	}
	return out
}

func descriptors(passkeys []models.Passkey) []protocol.CredentialDescriptor {
	out := make([]protocol.CredentialDescriptor, len(passkeys))
	for i, p := range passkeys {
		out[i] = protocol.CredentialDescriptor{
			Type: protocol.PublicKeyCredentialType, CredentialID: p.CredentialID, Transport: transports(p.Transports),
		}
	}
	return out
}

// AAGUID is the authenticator's model as a UUID; nil where the authenticator does not say.
func AAGUID(p models.Passkey) *string {
	id, err := uuid.FromBytes(p.AAGUID)
	if err != nil || id == uuid.Nil {
		return nil
	}
	s := strings.ToLower(id.String())
	return &s
}

// lengthPrefixed joins parts so that no two lists of parts give the same bytes.
func lengthPrefixed(parts ...[]byte) []byte {
	var out []byte
	for _, p := range parts {
		out = binary.BigEndian.AppendUint64(out, uint64(len(p)))
		out = append(out, p...)
	}
	return out
}

func encode(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }
