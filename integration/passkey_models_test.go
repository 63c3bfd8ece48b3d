package integration_test

import (
	"testing"

	"github.com/descope/virtualwebauthn"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// deviceOf registers a passkey of an authenticator of the model.
func (w world) deviceOf(t *testing.T, subject string, model uuid.UUID) *device {
	t.Helper()
	b := w.begin(t, subject, virtualwebauthn.RelyingParty{ID: "localhost", Origin: "http://localhost:8080"})
	b.device.auth.Aaguid = model
	b.device.id = b.complete(t).is(201).string("id")
	return b.device
}

// A policy that lists models of authenticators is stricter than its environment: a passkey of a different model neither is offered
// nor completes a challenge, and a subject with no other is held.
func TestPolicyPermitsModelsOfAuthenticators(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	model, subject := uuid.New(), w.subject(t)
	other := w.deviceOf(t, subject, uuid.New())
	require.Equal(t, "none", other.creation.(map[string]any)["attestation"])
	requirements := with(challenging, object{"challenge_methods": []string{"passkey"}})
	_, ordinary := w.action(t, "enforce", requirements)
	id, strict := w.action(t, "enforce", with(requirements, object{"passkey_aaguids": []string{model.String()}}))

	held := w.authorize(t, subject, strict, "hold")
	require.Contains(t, held.strings("reason_codes"), "no_challenge_method")
	permitted := w.deviceOf(t, subject, model)
	require.Equal(t, "direct", permitted.creation.(map[string]any)["attestation"], "a policy depends on the model")

	challenge := "/api/v1/challenges/" + w.authorize(t, subject, strict, "challenge").string("challenge.id")
	options := w.Server.post(t, challenge+"/passkey/options", nil).is(200)
	offered := options.value("publicKey.allowCredentials").([]any)
	require.Len(t, offered, 1)
	complete := func(d *device) response {
		return w.Server.post(t, challenge+"/complete", object{"method": "passkey", "assertion": d.assertion(t, options.body)})
	}
	complete(other).problem(400, "assertion_unknown_credential")
	complete(permitted).is(200)
	other.completes(t, w, subject, ordinary, nil).is(200)

	w.Server.delete(t, "/api/v1/subjects/"+subject+"/passkeys/"+permitted.id).is(204)
	w.authorize(t, subject, strict, "hold")

	versions := "/api/v1/actions/" + id + "/policy-versions"
	w.Server.post(t, versions, object{"requirements": requirements}).is(201)
	for version, hold := range map[string]float64{"1": 3, "2": 0} {
		simulated := w.Server.post(t, versions+"/"+version+"/simulate", object{}).is(200)
		after, _ := simulated.value("after").(map[string]any)["hold"].(float64)
		require.Equal(t, hold, after, "version %s: %s", version, simulated.body)
	}
}

func TestPolicyRefusesModelsThatAreNone(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	id, _ := w.action(t, "enforce", allowing)
	for name, model := range map[string]string{
		"text": "yubikey", "capitals": "EA9B8D66-4D01-1D21-3CE4-B6B48CB575D4", "not disclosed": uuid.Nil.String(), "braces": "{ea9b8d66-4d01-1d21-3ce4-b6b48cb575d4}",
	} {
		a := w.Server.post(t, "/api/v1/actions/"+id+"/policy-versions", object{"requirements": object{"passkey_aaguids": []string{model}}})
		require.Equal(t, []string{`["body","requirements","passkey_aaguids",0] value_error`}, a.faults(), name)
	}
}
