package integration_test

import (
	"encoding/json"
	"testing"

	"github.com/descope/virtualwebauthn"
	"github.com/stretchr/testify/require"
)

// device is a virtual authenticator with one passkey of a subject.
type device struct {
	rp         virtualwebauthn.RelyingParty
	auth       virtualwebauthn.Authenticator
	credential virtualwebauthn.Credential

	id           string // of the passkey
	creation     any    // the creation options that it was registered with
	registration object // the request that registered it
}

// coseKeySize is the length of a P-256 key in COSE form. The library drops leading zero bytes of coordinates, which makes some
// keys shorter and invalid.
const coseKeySize = 77

// newCredential creates a passkey whose key the library encodes in full.
func newCredential() virtualwebauthn.Credential {
	for {
		if c := virtualwebauthn.NewCredential(virtualwebauthn.KeyTypeEC2); len(c.Key.AttestationData()) == coseKeySize {
			return c
		}
	}
}

// device registers a passkey of the subject.
func (w world) device(t *testing.T, subject string) *device {
	t.Helper()
	path := "/api/v1/subjects/" + subject + "/passkeys/"
	grant := w.Server.post(t, path+"registration-grants", nil).is(201).string("token")
	creation := w.Server.post(t, path+"register/options", object{"registration_grant": grant}).is(200)
	options, err := virtualwebauthn.ParseAttestationOptions(string(creation.body))
	require.NoError(t, err)
	d := &device{
		creation:   creation.value("publicKey"),
		rp:         virtualwebauthn.RelyingParty{ID: "localhost", Name: "Example", Origin: "http://localhost:8080"},
		auth:       virtualwebauthn.NewAuthenticatorWithOptions(virtualwebauthn.AuthenticatorOptions{UserHandle: []byte(options.UserID)}),
		credential: newCredential(),
	}
	response := virtualwebauthn.CreateAttestationResponse(d.rp, d.auth, d.credential, *options)
	d.registration = object{"registration_grant": grant, "credential": json.RawMessage(response)}
	d.id = w.Server.post(t, path+"register/complete", d.registration).is(201).string("id")
	return d
}

// sign signs a challenge with the device.
func (w world) sign(t *testing.T, d *device, challenge string) json.RawMessage {
	t.Helper()
	return d.assertion(t, w.Server.post(t, "/api/v1/challenges/"+challenge+"/passkey/options", nil).is(200).body)
}

// assertion signs the challenge of the options.
func (d *device) assertion(t *testing.T, requested []byte) json.RawMessage {
	t.Helper()
	options, err := virtualwebauthn.ParseAssertionOptions(string(requested))
	require.NoError(t, err)
	d.credential.Counter++
	return json.RawMessage(virtualwebauthn.CreateAssertionResponse(d.rp, d.auth, d.credential, *options))
}

// An assertion completes one challenge once, even if it is sent repeatedly and concurrently.
func TestAssertionCompletesOneChallengeOnce(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, action := w.action(t, "enforce", with(challenging, object{"challenge_methods": []string{"passkey"}}))
	subject := w.subject(t)
	d := w.device(t, subject)
	asked := w.authorize(t, subject, action, "challenge")
	first, second := asked.string("challenge.id"), w.authorize(t, subject, action, "challenge").string("challenge.id")
	body := object{"method": "passkey", "assertion": w.sign(t, d, first)}
	another := object{"method": "passkey", "assertion": w.sign(t, d, first)}

	answers := make([]response, 8)
	concurrently(len(answers), func(i int) {
		answers[i], _ = w.Server.send("POST", "/api/v1/challenges/"+first+"/complete", body)
	})
	for i := range answers {
		answers[i].t = t
		require.Equal(t, string(answers[0].body), string(answers[i].is(200).body))
	}
	child := answers[0].string("authorization")
	require.NotEqual(t, asked.string("id"), child)
	decided := w.Server.get(t, "/api/v1/authorizations?subject="+subject).is(200).list()
	require.Len(t, decided, 3, "two decisions and one follow-up decision")
	require.NotEmpty(t, w.Server.get(t, "/api/v1/authorizations/"+child).is(200).string("proof_id"))

	w.Server.post(t, "/api/v1/challenges/"+second+"/complete", body).problem(400, "assertion_challenge_mismatch")
	w.Server.post(t, "/api/v1/challenges/"+first+"/complete", another).problem(409, "challenge_closed")
	require.Equal(t, "open", w.Server.get(t, "/api/v1/challenges/"+second).is(200).string("status"))
	w.Server.post(t, "/api/v1/challenges/"+second+"/complete", object{"method": "passkey", "assertion": w.sign(t, d, second)}).is(200)
}

func TestPasskeyLifecycle(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, action := w.action(t, "enforce", challenging)
	subject := w.subject(t)
	d := w.device(t, subject)
	w.Server.post(t, "/api/v1/subjects/"+subject+"/passkeys/register/complete", d.registration).problem(403, "grant_invalid")
	require.Len(t, w.Server.get(t, "/api/v1/subjects/"+subject+"/passkeys").is(200).list(), 1)

	challenge := w.authorize(t, subject, action, "challenge").string("challenge.id")
	body := object{"method": "passkey", "assertion": w.sign(t, d, challenge)}
	receipt := w.Server.post(t, "/api/v1/challenges/"+challenge+"/complete", body).is(200)
	child := w.Server.get(t, "/api/v1/authorizations/"+receipt.string("authorization")).is(200)
	require.Equal(t, "allow", child.string("decision"))
	require.Equal(t, "phishing_resistant", w.Server.get(t, "/api/v1/authorizations/"+child.string("parent")).is(200).string("challenge.strength"))

	w.Server.delete(t, "/api/v1/subjects/"+subject+"/passkeys/"+d.id).is(204)
	w.Server.delete(t, "/api/v1/subjects/"+subject+"/passkeys/psk_01jqx3k5v8e2sbyk0c4m7t9wzd").problem(404, "not_found")
}
