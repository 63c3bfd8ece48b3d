package integration_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/proof"
)

// JSON knows one kind of number: what is an integer by value is one in the contract, however it is written.
func TestRequestBodyAcceptsAnyIntegerNotation(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	for i, number := range []string{"60", "60.0", "6e1", "0.6E+2", "600e-1"} {
		body := fmt.Sprintf(`{"key":"pay.k%d","name":"n","consequence":"c","allowed_audiences":["a"],"proof_ttl_seconds":%s}`, i, number)
		a := w.Server.post(t, "/api/v1/actions", []byte(body)).is(201)
		require.InDelta(t, 60, a.value("proof_ttl_seconds"), 0, number)
	}
	body := `{"key":"pay.half","name":"n","consequence":"c","allowed_audiences":["a"],"proof_ttl_seconds":60.5}`
	require.Equal(t, []string{`["body","proof_ttl_seconds"] int_from_float`}, w.Server.post(t, "/api/v1/actions", []byte(body)).faults())

	_, action := w.action(t, "enforce", allowing)
	ask := fmt.Sprintf(`{"subject":%q,"action":%q,"resource":{"type":"resource","id":"1"},"audience":%q,"requested_at":%d.0,
		"nonce":"0123456789abcdef","idempotency_key":"once-only","context":{"amount":1.0}}`, w.subject(t), action, audience, now())
	require.Equal(t, "allow", w.Server.post(t, "/api/v1/authorize", []byte(ask)).is(200).string("decision"))
}

// methods is the amr of a proof that verifies.
func (w world) methods(t *testing.T, compact string) []string {
	t.Helper()
	keys, err := proof.ParseJWKS(caller{base: shared.baseURL}.get(t, "/.well-known/service-proof-keys.json").is(200).body)
	require.NoError(t, err)
	claims, err := proof.Verify(compact, keys, time.Now(), proof.Expect{Audience: audience, Environment: w.ID})
	require.NoError(t, err)
	return claims.Methods
}

// amr lists what the decision rests on, and nothing that merely was there.
func TestProofAMRListsTheBasisOfTheDecision(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, open := w.action(t, "enforce", allowing)
	require.Equal(t, []string{}, w.methods(t, w.authorize(t, w.subject(t), open, "allow").string("proof")), "the policy asked for nothing")

	_, asking := w.action(t, "enforce", challenging)
	challenged := w.authorize(t, w.subject(t), asking, "challenge")
	receipt := w.Server.post(t, "/api/v1/challenges/"+challenged.string("challenge.id")+"/complete", object{"method": "sandbox_confirm"}).is(200)
	child := w.Server.get(t, "/api/v1/authorizations/"+receipt.string("authorization")).is(200)
	require.Equal(t, []string{"sandbox_confirm"}, w.methods(t, child.string("proof.compact")))

	_, holds := w.action(t, "enforce", holding)
	held := w.authorize(t, w.subject(t), holds, "hold")
	approved := w.Server.post(t, "/api/v1/authorizations/"+held.string("id")+"/review", object{"resolution": "approve"}).is(200)
	require.Equal(t, []string{"review"}, w.methods(t, approved.string("decision.proof")))

	_, cautiousAction := w.action(t, "enforce", cautious)
	ada := typist("ada of the proof")
	subject := w.enrolled(t, ada)
	w.session(t, subject, "score", ada, 5)
	require.Equal(t, []string{"behaviour"}, w.methods(t, w.authorize(t, subject, cautiousAction, "allow").string("proof")))
}
