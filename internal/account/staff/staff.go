// Package people keeps the people who use the console: reviewers, operators and auditors of a tenant. They come by
// invitation, sign in with a passkey and hold roles per environment; a session of the console is theirs alone. The judge of
// both WebAuthn ceremonies is github.com/go-webauthn/webauthn; user verification is always required.
//
// A person is no API key and never becomes one. The package decides what a role may do nowhere: the route table of the
// console does. Tokens and cookies are handed out once; only their MACs are stored.
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
	"github.com/countersign-dev/countersign/internal/platform/store"
	"github.com/countersign-dev/countersign/models"
)

const (
	// InvitationLife is how long an invitation may be used.
	InvitationLife = 24 * time.Hour
	// IdleLife ends a session that nobody used for so long.
	IdleLife = 30 * time.Minute
	// SessionLife ends a session however much it is used.
	SessionLife = 12 * time.Hour
	// Fresh is how long after the passkey was used a change needs no new confirmation.
	ConfirmationLife = 15 * time.Minute
	// MaxPasskeys bounds the passkeys of one person.
	MaxPasskeys = 10

	ceremonyLife = 5 * time.Minute
	// touchEvery is how exactly it is known when a session was last used.
	touchEvery = time.Minute

	invitationPurpose = "person-invitation" // of the keyring
	sessionPurpose    = "console-session"
	ceremonyPurpose   = "console-ceremony"

	secretBytes = 32 // 256 bits, 43 characters
)

// Service keeps the people of all tenants.
type Service struct {
	store *store.Store
	keys  *keyring.Keyring
	clock clock.Clock
	base  string
}

// New makes the service. The console lives at baseURL, whose host is the relying party of its passkeys: the RP IDs of
// environments are their relying parties', and have nothing to do with it.
func New(st *store.Store, keys *keyring.Keyring, c clock.Clock, baseURL string) *Service {
	return &Service{store: st, keys: keys, clock: c, base: baseURL}
}

// relyingParty is the library set to the console's own address.
func (s *Service) relyingParty() (*webauthn.WebAuthn, error) {
	u, err := url.Parse(s.base)
	if err != nil || u.Hostname() == "" {
		return nil, fmt.Errorf("the console needs a base URL for its passkeys, and has %q", s.base)
	}
	return webauthn.New(&webauthn.Config{
		RPID: u.Hostname(), RPDisplayName: "Countersign console", RPOrigins: []string{u.Scheme + "://" + u.Host},
		AttestationPreference: protocol.PreferNoAttestation,
		AuthenticatorSelection: protocol.AuthenticatorSelection{
			ResidentKey: protocol.ResidentKeyRequirementRequired, RequireResidentKey: protocol.ResidentKeyRequired(),
			UserVerification: protocol.VerificationRequired,
		},
		Timeouts: webauthn.TimeoutsConfig{Registration: webauthn.TimeoutConfig{Timeout: ceremonyLife, TimeoutUVD: ceremonyLife}},
		// No extension is asked for and no output is read.
		ExtensionsUnsolicitedOutputPolicy: protocol.UnsolicitedOutputPolicyIgnore,
	})
}

// user is a person as the library asks for it.
type user struct {
	person   models.Person
	passkeys []models.PersonPasskey
}

// handle is what an authenticator keeps of a person: opaque, and the same for all of their passkeys.
func handle(person string) []byte {
	sum := sha256.Sum256([]byte("countersign console person\x00" + person))
	return sum[:]
}

// WebAuthnID is the user handle.
func (u user) WebAuthnID() []byte { return handle(u.person.ID) }

// WebAuthnName is shown to the person by their own authenticator only.
func (u user) WebAuthnName() string { return u.person.Name }

// WebAuthnDisplayName is the name: the service knows no other.
func (u user) WebAuthnDisplayName() string { return u.person.Name }

// WebAuthnCredentials are the person's passkeys.
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

// Grant is what a person may do in one environment.
type Grant struct {
	Environment models.Environment
	Roles       []models.Role
}

// Has reports whether the grant has any of the roles.
func (g Grant) Has(roles ...models.Role) bool {
	return slices.ContainsFunc(roles, func(r models.Role) bool { return slices.Contains(g.Roles, r) })
}

// grants puts the rows of one person together with their environments, which come in the order of the environments.
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

func newSecret() string {
	raw := make([]byte, secretBytes)
	_, _ = rand.Read(raw) // never fails: it ends the process instead
	return encode(raw)
}

func encode(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// newCeremony makes a challenge that needs no memory: random bytes, when it ends, and a MAC over both and over what it is
// for. That each is used once is seen to by whatever it opens.
func (s *Service) newCeremony(about string, now time.Time) []byte {
	body := make([]byte, 24)
	_, _ = rand.Read(body[:16]) // never fails: it ends the process instead
	binary.BigEndian.PutUint64(body[16:], uint64(now.Add(ceremonyLife).UnixMilli()))
	return slices.Concat(body, s.keys.MAC(ceremonyPurpose, body, []byte(about)))
}

// ceremonyHolds reports whether a challenge is one of ours, for this purpose, and not over.
func (s *Service) validCeremony(challenge []byte, about string, now time.Time) bool {
	if len(challenge) < 24 {
		return false
	}
	body, mac := challenge[:24], challenge[24:]
	return s.keys.VerifyMAC(ceremonyPurpose, mac, body, []byte(about)) && now.UnixMilli() < int64(binary.BigEndian.Uint64(body[16:])) // #nosec G115 -- our own number
}
