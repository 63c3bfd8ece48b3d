// Package staff manages the staff who use the console: the reviewers, operators and auditors of a tenant. It invites them,
// registers their passkeys, signs them in and records their roles per environment.
//
// The package github.com/go-webauthn/webauthn verifies both WebAuthn ceremonies; user verification is always required.
// Invitation tokens and session cookies are returned once, and only their MACs are stored.
//
// A member of staff has no API key and cannot obtain one here. The package does not decide what a role permits: the route
// table of the console does.
package staff

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"

	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

const (
	// InvitationLife is how long an invitation can be used.
	InvitationLife = 24 * time.Hour
	// IdleLife is how long a session lasts without a request of the person.
	IdleLife = 30 * time.Minute
	// SessionLife is how long a session lasts at most, in use or not.
	SessionLife = 12 * time.Hour
	// ConfirmationLife is how long changes are permitted after the last use of the passkey without a new
	// confirmation.
	ConfirmationLife = 15 * time.Minute
	// MaxPasskeys is the maximum number of passkeys of one person.
	MaxPasskeys = 10

	// ceremonyLife is how long the browser may take to answer a WebAuthn challenge.
	ceremonyLife = 5 * time.Minute
	// touchEvery is the resolution of a session's last use: a session in use costs one UPDATE a minute.
	touchEvery = time.Minute

	invitationPurpose = "person-invitation" // of the keyring
	sessionPurpose    = "console-session"
	ceremonyPurpose   = "console-ceremony"

	secretBytes = 32 // 256 bits, 43 characters
)

// Service manages the staff of all tenants. It is safe for concurrent use.
type Service struct {
	store *pg.Store
	keys  *keyring.Keyring
	clock clock.Clock
	base  string // URL of the console without a path
}

// New returns the service. The host of baseURL is the WebAuthn relying party id of the staff's passkeys. It is unrelated to
// the RP IDs of environments, which belong to the customers.
func New(st *pg.Store, keys *keyring.Keyring, c clock.Clock, baseURL string) *Service {
	return &Service{store: st, keys: keys, clock: c, base: baseURL}
}

// relyingParty returns the WebAuthn library configured for the console's address.
func (s *Service) relyingParty() (*webauthn.WebAuthn, error) {
	u, err := url.Parse(s.base)
	if err != nil || u.Hostname() == "" {
		return nil, fmt.Errorf("the base URL %q has no host; the passkeys of the console require one", s.base)
	}
	return webauthn.New(&webauthn.Config{
		RPID: u.Hostname(), RPDisplayName: "Countersign console", RPOrigins: []string{u.Scheme + "://" + u.Host},
		AttestationPreference: protocol.PreferNoAttestation,
		AuthenticatorSelection: protocol.AuthenticatorSelection{
			ResidentKey: protocol.ResidentKeyRequirementRequired, RequireResidentKey: protocol.ResidentKeyRequired(),
			UserVerification: protocol.VerificationRequired,
		},
		Timeouts: webauthn.TimeoutsConfig{Registration: webauthn.TimeoutConfig{Timeout: ceremonyLife, TimeoutUVD: ceremonyLife}},
		// No extension is requested and no output is read, so unsolicited output of password managers is harmless.
		ExtensionsUnsolicitedOutputPolicy: protocol.UnsolicitedOutputPolicyIgnore,
	})
}

// user adapts a person to webauthn.User.
type user struct {
	person   models.Person
	passkeys []models.PersonPasskey
}

// handle returns the WebAuthn user handle of a person, which authenticators store. It is opaque and the same for all passkeys
// of the person.
func handle(person string) []byte {
	sum := sha256.Sum256([]byte("countersign console person\x00" + person))
	return sum[:]
}

// WebAuthnID returns the user handle.
func (u user) WebAuthnID() []byte { return handle(u.person.ID) }

// WebAuthnName returns the person's name, which only their own authenticator shows.
func (u user) WebAuthnName() string { return u.person.Name }

// WebAuthnDisplayName returns the person's name as well.
func (u user) WebAuthnDisplayName() string { return u.person.Name }

// WebAuthnCredentials returns the person's passkeys.
func (u user) WebAuthnCredentials() []webauthn.Credential {
	out := make([]webauthn.Credential, len(u.passkeys))
	for i, k := range u.passkeys {
		out[i] = webauthn.Credential{
			ID: k.CredentialID, PublicKey: k.PublicKey, AttestationType: k.AttestationType,
			Flags: webauthn.CredentialFlags{
				UserPresent: true, UserVerified: true, BackupEligible: k.BackupEligible, BackupState: k.BackupState,
			},
			Authenticator: webauthn.Authenticator{AAGUID: k.AAGUID, SignCount: uint32(k.SignCount), CloneWarning: k.CloneWarning}, // #nosec G115 -- written from a uint32
		}
	}
	return out
}

// descriptors returns the passkeys as the browser expects them in a list of allowed or excluded credentials.
func (u user) descriptors() []protocol.CredentialDescriptor {
	out := make([]protocol.CredentialDescriptor, len(u.passkeys))
	for i, k := range u.passkeys {
		d := protocol.CredentialDescriptor{Type: protocol.PublicKeyCredentialType, CredentialID: k.CredentialID}
		for _, t := range k.Transports {
			d.Transport = append(d.Transport, protocol.AuthenticatorTransport(t))
		}
		out[i] = d
	}
	return out
}

// Grant lists the roles of a person in one environment.
type Grant struct {
	Environment models.Environment
	Roles       []models.Role
}

// Has reports whether the grant includes at least one of the roles.
func (g Grant) Has(roles ...models.Role) bool {
	return slices.ContainsFunc(roles, func(r models.Role) bool { return slices.Contains(g.Roles, r) })
}

// grants joins the role rows of one person with the environments. Its result is in the order of the environments and omits
// those without a role.
func grants(environments []models.Environment, rows []models.PersonRole) []Grant {
	var out []Grant
	for _, env := range environments {
		g := Grant{Environment: env}
		for _, r := range rows {
			if r.EnvironmentID == env.ID {
				g.Roles = append(g.Roles, r.Role)
			}
		}
		if len(g.Roles) > 0 {
			out = append(out, g)
		}
	}
	return out
}

// newSecret returns a random token in unpadded base64url.
func newSecret() string {
	raw := make([]byte, secretBytes)
	_, _ = rand.Read(raw) // crypto/rand.Read never returns an error
	return encode(raw)
}

func encode(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// newCeremony returns a stateless WebAuthn challenge: 16 random bytes, its expiry, and a MAC over both and over the subject
// of the ceremony (the id of a session or of an invitation, or empty for a sign-in). Single use is enforced by the rows that a ceremony creates or
// changes.
func (s *Service) newCeremony(about string, now time.Time) []byte {
	body := make([]byte, 24)
	_, _ = rand.Read(body[:16]) // crypto/rand.Read never returns an error
	binary.BigEndian.PutUint64(body[16:], uint64(now.Add(ceremonyLife).UnixMilli()))
	return slices.Concat(body, s.keys.MAC(ceremonyPurpose, body, []byte(about)))
}

// validCeremony reports whether newCeremony made the challenge for the same subject and it has not expired.
func (s *Service) validCeremony(challenge []byte, about string, now time.Time) bool {
	if len(challenge) < 24 {
		return false
	}
	body, mac := challenge[:24], challenge[24:]
	return s.keys.VerifyMAC(ceremonyPurpose, mac, body, []byte(about)) && now.UnixMilli() < int64(binary.BigEndian.Uint64(body[16:])) // #nosec G115 -- written by newCeremony
}
