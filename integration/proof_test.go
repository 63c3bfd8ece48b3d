package integration_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/authorization"
	"github.com/countersign-dev/countersign/internal/authz/proof"
	"github.com/countersign-dev/countersign/internal/behavior/features"
	"github.com/countersign-dev/countersign/internal/behavior/synthetic"
	"github.com/countersign-dev/countersign/models"
)

func TestProofVerifiesOfflineAndIsConsumedOnce(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, action := w.action(t, "enforce", allowing)
	subject := w.subject(t)
	allowed := w.authorize(t, subject, action, "allow")
	compact := allowed.string("proof")

	claims, err := proof.Verify(compact, publishedKeys(t), time.Now(), proof.Expect{
		Audience: audience, Action: action, Environment: w.ID, Issuer: w.Server.get(t, "/api/v1/credential").is(200).string("proof_issuer"),
	})
	require.NoError(t, err)
	require.Equal(t, subject, claims.Subject)
	require.Equal(t, allowed.string("id"), claims.Authorization)
	require.Equal(t, allowed.string("action_hash"), claims.Action.Hash)

	jti := allowed.string("proof_id")
	require.Equal(t, "active", w.Server.get(t, "/api/v1/proofs/"+jti+"/status").is(200).string("status"))
	require.Equal(t, true, w.Server.post(t, "/api/v1/verify", object{"proof": compact}).is(200).value("valid"))
	consume := object{"proof": compact, "audience": audience, "action": action, "consume": true}
	const n = 100
	valid := make([]bool, n)
	errs := make([]error, n)
	concurrently(n, func(i int) {
		a, err := w.Server.send("POST", "/api/v1/verify", consume)
		a.t, errs[i] = t, err
		valid[i] = err == nil && a.status == 200 && a.value("valid") == true
	})
	wins := 0
	for i := range n {
		require.NoError(t, errs[i])
		if valid[i] {
			wins++
		}
	}
	require.Equal(t, 1, wins, "one of %d requests consumes the proof", n)
	spent := w.Server.post(t, "/api/v1/verify", consume).is(200)
	require.Equal(t, false, spent.value("valid"))
	require.Equal(t, "consumed", spent.string("status"))
	require.Equal(t, "consumed", w.Server.get(t, "/api/v1/proofs/"+jti+"/status").is(200).string("status"))
}

// A backend that derives the Idempotency-Key from its order must not receive "valid" twice.
func TestVerifyConsumeIsNotReplayed(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, action := w.action(t, "enforce", allowing)
	proof := w.authorize(t, w.subject(t), action, "allow").string("proof")
	payer := w.Server.with("Idempotency-Key", "order-4711")
	body := object{"proof": proof, "audience": audience, "consume": true}

	paid := payer.post(t, "/api/v1/verify", body).is(200)
	require.Equal(t, true, paid.value("valid"))
	again := payer.post(t, "/api/v1/verify", body).is(200)
	require.Equal(t, false, again.value("valid"), "response: %s", again.body)
	require.Equal(t, "consumed", again.string("status"))
	require.Equal(t, []string{"proof_consumed"}, again.strings("reason_codes"))
	require.Empty(t, again.header.Get("Idempotent-Replayed"))
	require.Zero(t, count(t, "select count(*) from idempotency_keys where operation = 'verifyProof' and $1 <> ''", w.ID))

	other := w.authorize(t, w.subject(t), action, "allow").string("proof")
	require.Equal(t, true, payer.post(t, "/api/v1/verify", object{"proof": other, "consume": true}).is(200).value("valid"), "the operation ignores Idempotency-Key")
}

// A repeated request gets the identical response, proof included, even after the proof is consumed. The proof is sealed at rest.
func TestProofIsSealedAtRest(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, action := w.action(t, "enforce", allowing)
	body := request(w.subject(t), action)
	first := w.Server.post(t, "/api/v1/authorize", body).is(200)
	proof := first.string("proof")
	require.NotEmpty(t, proof)
	replayed := func() {
		t.Helper()
		again := w.Server.post(t, "/api/v1/authorize", body).is(200)
		require.Equal(t, string(first.body), string(again.body))
		require.Equal(t, "true", again.header.Get("Idempotent-Replayed"))
	}
	replayed()
	require.Equal(t, proof, w.Server.get(t, "/api/v1/authorizations/"+first.string("id")).is(200).string("proof.compact"))
	w.Server.post(t, "/api/v1/verify", object{"proof": proof, "consume": true}).is(200)
	replayed()
	require.Nil(t, w.Server.get(t, "/api/v1/authorizations/"+first.string("id")).is(200).value("proof.compact"))

	_, held := w.action(t, "enforce", holding)
	path := "/api/v1/authorizations/" + w.authorize(t, w.subject(t), held, "hold").string("id") + "/review"
	receipt := w.Server.post(t, path, approve).is(200)
	require.NotEmpty(t, receipt.string("decision.proof"))
	require.Equal(t, string(receipt.body), string(w.reviewer(t).post(t, path, approve).is(200).body))

	signature := func(p string) string { return p[strings.LastIndexByte(p, '.'):] }
	for _, p := range []string{proof, receipt.string("decision.proof")} {
		require.Zero(t, count(t, "select count(*) from reviews where receipt::text like '%' || $1 || '%'", signature(p)))
		for _, id := range []string{first.string("id"), receipt.string("decision.id")} {
			stored, err := authorization.TraceDecision(t.Context(), shared.Store.Q, w.scope(), id)
			require.NoError(t, err)
			require.NotEmpty(t, stored.Authorization.Response)
			require.NotContains(t, string(stored.Authorization.Response), signature(p))
		}
	}
}

// proofMethods verifies a proof and returns its amr.
func (w world) proofMethods(t *testing.T, compact string) []string {
	t.Helper()
	claims, err := proof.Verify(compact, publishedKeys(t), time.Now(), proof.Expect{Audience: audience, Environment: w.ID})
	require.NoError(t, err)
	return claims.Methods
}

// amr lists what the decision rests on, and no other evidence.
func TestProofAMRListsTheBasisOfTheDecision(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, open := w.action(t, "enforce", allowing)
	require.Equal(t, []string{}, w.proofMethods(t, w.authorize(t, w.subject(t), open, "allow").string("proof")), "the policy requires nothing")

	_, asking := w.action(t, "enforce", challenging)
	challenged := w.authorize(t, w.subject(t), asking, "challenge")
	receipt := w.Server.post(t, "/api/v1/challenges/"+challenged.string("challenge.id")+"/complete", object{"method": "sandbox_confirm"}).is(200)
	child := w.Server.get(t, "/api/v1/authorizations/"+receipt.string("authorization")).is(200)
	require.Equal(t, []string{"sandbox_confirm"}, w.proofMethods(t, child.string("proof.compact")))

	_, holds := w.action(t, "enforce", holding)
	held := w.authorize(t, w.subject(t), holds, "hold")
	approved := w.Server.post(t, "/api/v1/authorizations/"+held.string("id")+"/review", object{"resolution": "approve"}).is(200)
	require.Equal(t, []string{"review"}, w.proofMethods(t, approved.string("decision.proof")))

	_, cautiousAction := w.action(t, "enforce", cautious)
	ada := typist("ada of the proof")
	subject := w.enrolled(t, ada)
	w.session(t, subject, "score", ada, 5)
	require.Equal(t, []string{"behaviour"}, w.proofMethods(t, w.authorize(t, subject, cautiousAction, "allow").string("proof")))
}

// The status of a proof that does not exist is unknown, whatever its jti looks like.
func TestProofStatusAcceptsAnyJTI(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	const absent = "prf_01jqx3k5v8e2sbyk0c4m7t9wzd"
	want := w.Server.get(t, "/api/v1/proofs/"+absent+"/status").is(200)
	require.Equal(t, "unknown", want.string("status"))
	for name, jti := range map[string]string{
		"long":              strings.Repeat("j", 4000),
		"a UUID":            "0192f0c1-7c1e-7d57-9d7f-2f6c3c1a4b5e",
		"of another kind":   "azn_01jqx3k5v8e2sbyk0c4m7t9wzd",
		"punctuation":       "a=b~c!d'(e)*,;f$&",
		"spaces and quotes": `a "b" <c>`,
		"percent":           "100%",
		"letters beyond":    "прüf🙂",
		"SQL":               "' or 1=1 --",
		"NUL":               "a\x00b",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := w.Server.get(t, "/api/v1/proofs/"+url.PathEscape(jti)+"/status").is(200)
			require.Equal(t, jti, a.string("jti"))
			require.JSONEq(t, string(bytes.Replace(want.body, []byte(`"`+absent+`"`), quoted(t, jti), 1)), string(a.body))
		})
	}
	w.Server.get(t, "/api/v1/proofs/%ff%fe/status").is(200)
}

func quoted(t *testing.T, s string) []byte {
	t.Helper()
	out, err := json.Marshal(s)
	require.NoError(t, err)
	return out
}

// amr lists behaviour only if the person's behaviour met a required claim: not if a program typed, if a challenge was
// completed instead, or if the policy required coverage alone.
func TestProofAMRListsBehaviourOnlyForMetClaims(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	confirmed := func(subject, action string) []string {
		t.Helper()
		asked := w.authorize(t, subject, action, "challenge")
		done := w.Server.post(t, "/api/v1/challenges/"+asked.string("challenge.id")+"/complete", object{"method": "sandbox_confirm"}).is(200)
		return w.proofMethods(t, w.Server.get(t, "/api/v1/authorizations/"+done.string("authorization")).is(200).string("proof.compact"))
	}
	program := func(subject string) {
		t.Helper()
		id := w.Server.post(t, "/api/v1/sessions", object{"subject": subject, "device_class": "desktop"}).is(201).string("id")
		const uniform = 4 // the attack with key times that do not depend on the keys
		rng, person := rand.New(rand.NewPCG(5, 5)), typist("the text of a program for "+subject)
		for n := range 5 {
			frame := evidence(person, "score", time.Now().Add(-2*time.Minute), n)
			frame["features"] = features.Extract(features.Raw{Keys: synthetic.Attacks()[uniform].Make(rng, person.Type(frameKeys))})
			w.Server.post(t, "/api/v1/sessions/"+id+"/evidence", frame).is(200)
		}
		require.Equal(t, "detected", claim(w.Server.get(t, "/api/v1/sessions/"+id+"/assessment").is(200).value("claims"), "automation"))
	}
	_, coverage := w.action(t, "enforce", object{"coverage_min": "partial"})
	_, continuity := w.action(t, "enforce", cautious)

	stranger := w.subject(t)
	program(stranger)
	require.Equal(t, []string{"sandbox_confirm"}, confirmed(stranger, coverage), "not enrolled, and a program typed")
	require.Equal(t, []string{"sandbox_confirm"}, confirmed(stranger, continuity))

	ada := typist("ada")
	subject := w.enrolled(t, ada)
	w.session(t, subject, "score", ada, 5)
	require.Equal(t, []string{"behaviour"}, w.proofMethods(t, w.authorize(t, subject, continuity, "allow").string("proof")))
	require.Equal(t, []string{}, w.proofMethods(t, w.authorize(t, subject, coverage, "allow").string("proof")), "coverage does not identify the person")
	program(subject)
	_, anybody := w.action(t, "enforce", object{"claims": object{"operator_continuity": "not_confirmed"}})
	require.NotContains(t, w.proofMethods(t, w.authorize(t, subject, anybody, "allow").string("proof")), "behaviour", "a program typed in this session")
}

// An active proof is usable by its holder: reading decisions does not give any, nor does reviewing them.
func TestActiveProofsAreForTheRequester(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, action := w.action(t, "enforce", allowing)
	_, held := w.action(t, "enforce", holding)
	asker := w.narrowed(t, models.PermissionDecide, models.PermissionDecisionsRead)
	reader := w.narrowed(t, models.PermissionDecisionsRead)
	trusted := w.narrowed(t, models.PermissionDecisionsRead, models.PermissionProofsRead)
	reviewer := w.narrowed(t, models.PermissionReview, models.PermissionDecisionsRead)

	decided := asker.post(t, "/api/v1/authorize", request(w.subject(t), action)).is(200)
	path := "/api/v1/authorizations/" + decided.string("id")
	require.Equal(t, decided.string("proof"), asker.get(t, path).is(200).string("proof.compact"))
	require.Equal(t, decided.string("proof"), trusted.get(t, path).is(200).string("proof.compact"))
	for name, from := range map[string]caller{"a reader": reader, "a reviewer": reviewer} {
		read := from.get(t, path).is(200)
		require.Equal(t, "active", read.string("proof.status"), name)
		require.Nil(t, read.value("proof.compact"), name)
	}
	for _, from := range []caller{asker, reader, trusted, w.Server} {
		require.NotContains(t, string(from.get(t, "/api/v1/authorizations").is(200).body), decided.string("proof"))
	}
	var read []map[string]any
	eventually(t, func() bool {
		read = w.Admin.get(t, "/api/v1/audit?kind=proof.read").is(200).list()
		return len(read) > 0
	}, "the entry is sealed")
	require.Len(t, read, 1, "the requester's own reads are not recorded")
	require.Equal(t, "credential:"+trusted.get(t, "/api/v1/credential").string("credential"), read[0]["actor"])

	body := request(w.subject(t), action)
	asker.post(t, "/api/v1/authorize", body).is(200)
	w.Server.post(t, "/api/v1/authorize", body).problem(409, "idempotency_key_reused")

	review := "/api/v1/authorizations/" + asker.post(t, "/api/v1/authorize", request(w.subject(t), held)).is(200).string("id") + "/review"
	receipt := reviewer.post(t, review, object{"resolution": "approve"}).is(200)
	require.Equal(t, "allow", receipt.string("decision.decision"))
	require.Nil(t, receipt.value("decision.proof"))
	require.Equal(t, string(receipt.body), string(reviewer.post(t, review, object{"resolution": "approve"}).is(200).body))
	require.NotEmpty(t, asker.get(t, "/api/v1/authorizations/"+receipt.string("decision.id")).is(200).string("proof.compact"))
}

// A verifier that does not say who it is learns that nothing checked it.
func TestVerifySaysThatTheAudienceWasNotChecked(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, action := w.action(t, "enforce", allowing)
	body := object{"proof": w.authorize(t, w.subject(t), action, "allow").string("proof")}
	a := w.Server.post(t, "/api/v1/verify", body).is(200)
	require.Equal(t, true, a.value("valid"))
	require.Equal(t, []string{"audience_not_checked"}, a.strings("reason_codes"))
	body["audience"] = a.string("claims.aud")
	require.Empty(t, w.Server.post(t, "/api/v1/verify", body).is(200).strings("reason_codes"))
}

// A proof is valid only for what was confirmed: what a caller gives is compared, and what it leaves out is named.
func TestVerifyComparesSubjectAndContext(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, action := w.action(t, "enforce", allowing)
	subject := w.subject(t)
	body := request(subject, action)
	body["context"] = object{"amount": 19.0, "payee": "Eve", "items": []any{object{"b": 1, "a": nil}}}
	proof := w.Server.post(t, "/api/v1/authorize", body).is(200).string("proof")
	for name, tc := range map[string]struct {
		asked     object
		code      string
		unchecked []string
	}{
		"nothing":                     {object{}, "", []string{"subject", "context"}},
		"the subject":                 {object{"subject": subject}, "", []string{"context"}},
		"the context, reordered":      {object{"context": object{"items": []any{object{"a": nil, "b": 1}}, "payee": "Eve", "amount": 19}}, "", []string{"subject"}},
		"both":                        {object{"subject": subject, "context": body["context"]}, "", []string{}},
		"another subject":             {object{"subject": "mallory"}, "proof_action_mismatch", []string{"context"}},
		"another amount":              {object{"context": object{"amount": 99999.0, "payee": "Eve"}}, "proof_action_mismatch", []string{"subject"}},
		"another payee":               {object{"subject": subject, "context": object{"amount": 19.0, "payee": "Mallory"}, "consume": true}, "proof_action_mismatch", []string{}},
		"a member more":               {object{"context": object{"amount": 19.0, "payee": "Eve", "items": body["context"].(object)["items"], "x": nil}}, "proof_action_mismatch", []string{"subject"}},
		"no context at all":           {object{"context": object{}}, "proof_action_mismatch", []string{"subject"}},
		"another subject, both given": {object{"subject": "mallory", "context": body["context"]}, "proof_action_mismatch", []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			asked := object{"proof": proof, "audience": audience}
			for k, v := range tc.asked {
				asked[k] = v
			}
			a := w.Server.post(t, "/api/v1/verify", asked).is(200)
			require.Equal(t, tc.code == "", a.value("valid"), "%s", a.body)
			require.ElementsMatch(t, tc.unchecked, a.value("unchecked"))
			if tc.code != "" {
				require.Equal(t, []string{tc.code}, a.strings("reason_codes"))
			}
		})
	}
	require.Equal(t, true, w.Server.post(t, "/api/v1/verify", object{"proof": proof, "audience": audience, "consume": true}).is(200).value("valid"),
		"requests of version 1.0.0 stay valid, and a refused one consumes nothing")
	w.Server.post(t, "/api/v1/verify", object{"proof": proof, "context": []any{}}).is(422)
	w.Server.post(t, "/api/v1/verify", object{"proof": proof, "context": nil}).is(422)
	garbled := w.Server.post(t, "/api/v1/verify", object{"proof": "no proof"}).is(200)
	require.Equal(t, []string{"subject", "context"}, garbled.strings("unchecked"))
}
