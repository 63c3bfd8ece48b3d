package integration_test

import (
	"encoding/json"
	"testing"

	"github.com/descope/virtualwebauthn"
	"github.com/stretchr/testify/require"
)

// device is an authenticator with one passkey of a subject.
type device struct {
	rp         virtualwebauthn.RelyingParty
	auth       virtualwebauthn.Authenticator
	credential virtualwebauthn.Credential
}

// coseKeySize is the length of a P-256 key in COSE form; the library makes a shorter one where a coordinate begins with a
// zero byte.
const coseKeySize = 77

// newCredential is a passkey whose key the library writes in full.
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
	d := &device{rp: virtualwebauthn.RelyingParty{ID: "localhost", Name: "Example", Origin: "http://localhost:8080"}, auth: virtualwebauthn.NewAuthenticator(), credential: newCredential()}
	path := "/api/v1/subjects/" + subject + "/passkeys/"
	grant := w.Server.post(t, path+"registration-grants", nil).is(201).string("token")
	options, err := virtualwebauthn.ParseAttestationOptions(string(w.Server.post(t, path+"register/options", object{"registration_grant": grant}).is(200).body))
	require.NoError(t, err)
	response := virtualwebauthn.CreateAttestationResponse(d.rp, d.auth, d.credential, *options)
	w.Server.post(t, path+"register/complete", object{"registration_grant": grant, "credential": json.RawMessage(response)}).is(201)
	return d
}

// sign answers a challenge.
func (w world) sign(t *testing.T, d *device, challenge string) json.RawMessage {
	t.Helper()
	options, err := virtualwebauthn.ParseAssertionOptions(string(w.Server.post(t, "/api/v1/challenges/"+challenge+"/passkey/options", nil).is(200).body))
	require.NoError(t, err)
	d.credential.Counter++
	return json.RawMessage(virtualwebauthn.CreateAssertionResponse(d.rp, d.auth, d.credential, *options))
}

// One assertion completes one challenge, once, however often and however many at once it is sent.
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

	answers := make([]answer, 8)
	together(len(answers), func(i int) {
		answers[i], _ = w.Server.send("POST", "/api/v1/challenges/"+first+"/complete", body)
	})
	for i := range answers {
		answers[i].t = t
		require.Equal(t, string(answers[0].body), string(answers[i].is(200).body))
	}
	child := answers[0].string("authorization")
	require.NotEqual(t, asked.string("id"), child)
	decided := w.Server.get(t, "/api/v1/authorizations?subject="+subject).is(200).list()
	require.Len(t, decided, 3, "two were asked and one followed")
	require.NotEmpty(t, w.Server.get(t, "/api/v1/authorizations/"+child).is(200).string("proof_id"))

	w.Server.post(t, "/api/v1/challenges/"+second+"/complete", body).problem(400, "assertion_challenge_mismatch")
	w.Server.post(t, "/api/v1/challenges/"+first+"/complete", another).problem(409, "challenge_closed")
	require.Equal(t, "open", w.Server.get(t, "/api/v1/challenges/"+second).is(200).string("status"))
	w.Server.post(t, "/api/v1/challenges/"+second+"/complete", object{"method": "passkey", "assertion": w.sign(t, d, second)}).is(200)
}
