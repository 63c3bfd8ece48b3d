package passkey_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"testing"

	"github.com/descope/virtualwebauthn"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/authz/authorization"
	challenges "github.com/countersign-dev/countersign/internal/authz/challenge"
	"github.com/countersign-dev/countersign/internal/platform/canonical"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/subject/passkey"
	"github.com/countersign-dev/countersign/internal/testing/fixture"
	"github.com/countersign-dev/countersign/internal/testing/storetest"
	"github.com/countersign-dev/countersign/models"
)

// bundle is one environment with one subject and a passkey service.
type bundle struct {
	store     *pg.Store
	env       models.Environment
	scope     pg.Scope
	clock     *clock.Fake
	ring      *keyring.Keyring
	world     *fixture.World
	service   *passkey.Service
	principal identity.Principal
	subject   models.Subject
	rp        virtualwebauthn.RelyingParty
}

func setup(t *testing.T) *bundle {
	t.Helper()
	ring, err := keyring.Parse(keyring.Generate())
	require.NoError(t, err)
	st, c := storetest.New(t), clock.NewFake(storetest.Epoch)
	b := &bundle{store: st, clock: c, ring: ring, service: passkey.New(st, ring, c)}
	return b.elsewhere(t)
}

// elsewhere returns the bundle in a new environment of a different tenant, with a subject of the same id.
func (b *bundle) elsewhere(t *testing.T) *bundle {
	t.Helper()
	out := *b
	out.world = fixture.New(t, b.store, b.clock.Now())
	out.scope, out.subject, out.principal = out.world.Scope, out.world.Subject, out.world.Principal(ids.New(ids.Credential))
	var err error
	out.env, err = tenancy.GetEnvironment(context.Background(), b.store.Q, out.scope)
	require.NoError(t, err)
	out.rp = virtualwebauthn.RelyingParty{ID: out.env.RPID, Name: out.env.RPName, Origin: out.env.RPOrigins[0]}
	return &out
}

// authenticator is a device with one passkey of the subject.
type authenticator struct {
	virtualwebauthn.Authenticator
	credential virtualwebauthn.Credential
	row        models.Passkey
}

// device returns an authenticator without a passkey.
func (b *bundle) device(o virtualwebauthn.AuthenticatorOptions) *authenticator {
	d := &authenticator{Authenticator: virtualwebauthn.NewAuthenticatorWithOptions(o)}
	// The library drops a coordinate's leading zero byte, which makes one key in 128 shorter and so invalid.
	for d.credential.Key == nil || len(d.credential.Key.AttestationData()) != coseKeySize {
		d.credential = virtualwebauthn.NewCredential(virtualwebauthn.KeyTypeEC2)
	}
	return d
}

// coseKeySize is the length of a P-256 key in COSE form.
const coseKeySize = 77

// options requests creation options as a browser gets them.
func (b *bundle) options(t *testing.T, token string) virtualwebauthn.AttestationOptions {
	t.Helper()
	options, err := b.service.Options(context.Background(), b.principal, b.subject.ExternalID, token, "")
	require.NoError(t, err)
	raw, err := json.Marshal(map[string]any{"publicKey": options})
	require.NoError(t, err)
	parsed, err := virtualwebauthn.ParseAttestationOptions(string(raw))
	require.NoError(t, err)
	return *parsed
}

func (b *bundle) grant(t *testing.T) string {
	t.Helper()
	g, err := b.service.Grant(context.Background(), b.principal, b.subject.ExternalID)
	require.NoError(t, err)
	return g.Token
}

// register runs a complete registration with the device.
func (b *bundle) register(t *testing.T, d *authenticator) *authenticator {
	t.Helper()
	token := b.grant(t)
	response := virtualwebauthn.CreateAttestationResponse(b.rp, d.Authenticator, d.credential, b.options(t, token))
	row, err := b.service.Complete(context.Background(), b.principal, b.subject.ExternalID, token, json.RawMessage(response))
	require.NoError(t, err)
	d.row = row
	d.Options.UserHandle = passkey.UserHandle(b.subject.UID)
	return d
}

// challenge inserts a decision with an open challenge of the subject and returns the challenge as it is stored.
func (b *bundle) challenge(t *testing.T) models.Challenge {
	t.Helper()
	display := map[string]any{
		"action_key": "payment.release", "action": "Release a payment", "consequence": "Money leaves the account.",
		"resource_type": "payment", "resource_digest": "sha256:" + hex64, "context_digest": "sha256:" + hex64,
		"audience": "payments", "requesting_application": "Test",
	}
	raw, err := json.Marshal(display)
	require.NoError(t, err)
	digest, err := canonical.Digest(display)
	require.NoError(t, err)
	a := b.world.Authorization("challenge")
	a.SubjectUID = b.subject.UID
	c := models.Challenge{
		ID: ids.New(ids.Challenge), TenantID: a.TenantID, EnvironmentID: a.EnvironmentID, AuthorizationID: a.ID,
		SubjectUID: a.SubjectUID, Status: models.ChallengeOpen, Methods: models.Strings{"passkey"}, Display: raw, DisplayDigest: digest,
		ActionHash: a.ActionHash, Random: []byte("0123456789abcdef0123456789abcdef"),
		CreatedAt: b.clock.Now(), ExpiresAt: b.clock.Now().Add(300e9),
	}
	b.world.Write(authorization.Decision{Authorization: a, Challenge: &c})
	stored, err := challenges.GetChallenge(context.Background(), b.store.Q, b.scope, c.ID)
	require.NoError(t, err)
	return stored
}

const hex64 = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"

// assertion is the response of a device, which a test can alter before it is signed (fields) or after (response).
type assertion struct {
	client    map[string]any
	rpID      string
	flags     byte
	counter   uint32
	extra     []byte // behind the counter
	handle    []byte
	id        []byte
	signer    *virtualwebauthn.Key
	signature []byte // instead of a real one
	cut       func(response map[string]any)
}

// Flags of authenticator data.
const (
	flagUP, flagUV, flagBE, flagBS, flagAT, flagED = 0x01, 0x04, 0x08, 0x10, 0x40, 0x80
)

// answer returns the altered assertion of the device for the challenge.
func (b *bundle) answer(t *testing.T, d *authenticator, c models.Challenge, bend func(*assertion)) json.RawMessage {
	t.Helper()
	challenge, err := passkey.ChallengeBytes(c)
	require.NoError(t, err)
	d.credential.Counter++
	a := &assertion{
		client:  map[string]any{"type": "webauthn.get", "challenge": encode(challenge), "origin": b.rp.Origin, "crossOrigin": false},
		rpID:    b.rp.ID,
		flags:   flagUP | flagUV,
		counter: d.credential.Counter, handle: d.Options.UserHandle, id: d.credential.ID, signer: d.credential.Key,
	}
	if d.Options.BackupEligible {
		a.flags |= flagBE
	}
	if d.Options.BackupState {
		a.flags |= flagBS
	}
	if bend != nil {
		bend(a)
	}
	return a.sign(t)
}

func (a *assertion) sign(t *testing.T) json.RawMessage {
	t.Helper()
	client, err := json.Marshal(a.client)
	require.NoError(t, err)
	hash := sha256.Sum256([]byte(a.rpID))
	auth := append(hash[:], a.flags)
	auth = binary.BigEndian.AppendUint32(auth, a.counter)
	auth = append(auth, a.extra...)
	clientHash := sha256.Sum256(client)
	digest := sha256.Sum256(append(append([]byte{}, auth...), clientHash[:]...))
	if a.signature == nil {
		a.signature, err = a.signer.Sign(digest[:])
		require.NoError(t, err)
	}
	response := map[string]any{
		"id": encode(a.id), "rawId": encode(a.id), "type": "public-key", "clientExtensionResults": map[string]any{},
		"response": map[string]any{
			"clientDataJSON": encode(client), "authenticatorData": encode(auth), "signature": encode(a.signature), "userHandle": encode(a.handle),
		},
	}
	if a.cut != nil {
		a.cut(response)
	}
	raw, err := json.Marshal(response)
	require.NoError(t, err)
	return raw
}

func (b *bundle) verify(c models.Challenge, assertion json.RawMessage) (models.Passkey, error) {
	return b.service.VerifyAssertion(context.Background(), b.scope, c, assertion, b.clock.Now())
}

func requireCode(t *testing.T, want problem.Code, err error) {
	t.Helper()
	require.Error(t, err)
	require.NotNil(t, problem.As(err), "%v", err)
	require.Equal(t, want, problem.As(err).Code, "%v", err)
}

func encode(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }
