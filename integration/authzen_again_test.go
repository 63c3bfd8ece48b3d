package integration_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// confirmed completes the challenge of an evaluation in the sandbox and returns the follow-up decision.
func (w world) confirmed(t *testing.T, a response) string {
	t.Helper()
	return w.Server.post(t, "/api/v1/challenges/"+a.string("context.step_up.challenge")+"/complete", object{"method": "sandbox_confirm"}).is(200).string("authorization")
}

// A policy enforcement point that knows only AuthZEN asks again after the confirmation, and receives the follow-up decision once.
func TestAccessAskedAgainReturnsTheFollowUp(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	subject := w.subject(t)
	_, action := w.action(t, "enforce", challenging)
	asked := with(access(subject, action), object{"resource": object{"type": "resource", "id": "doc-7"}})
	ask := func(change object) response { return w.Server.post(t, accessSingle, with(asked, change)).is(200) }

	first := ask(nil)
	require.Equal(t, "challenge", ask(nil).string("context.decision"), "nothing is confirmed yet")
	followUp := w.confirmed(t, first)
	for name, change := range map[string]object{
		"another resource": {"resource": object{"type": "resource", "id": "doc-8"}}, "another context": {"context": object{"note": "x"}},
		"another subject": {"subject": object{"type": "user", "id": w.subject(t)}}, "a nonce of its own": {"context": object{"countersign": object{"nonce": "0123456789abcdef0123"}}},
		"properties": {"resource": object{"type": "resource", "id": "doc-7", "properties": object{"a": 1}}},
	} {
		a := w.Server.post(t, accessSingle, with(asked, change)).is(200)
		require.NotEqual(t, followUp, a.value("context.authorization"), name)
		require.Equal(t, false, a.value("decision"), name)
	}
	other := caller{base: shared.baseURL, key: w.issue(t, "server", nil)}
	require.NotEqual(t, followUp, other.post(t, accessSingle, asked).is(200).string("context.authorization"), "another key")

	again := ask(nil)
	require.Equal(t, true, again.value("decision"))
	require.Equal(t, followUp, again.string("context.authorization"))
	verified := w.Server.post(t, "/api/v1/verify", object{"proof": again.string("context.proof"), "audience": audience, "subject": subject, "consume": true}).is(200)
	require.Equal(t, true, verified.value("valid"))
	third := ask(nil)
	require.Equal(t, "challenge", third.string("context.decision"), "once")
	require.NotEqual(t, first.string("context.authorization"), third.string("context.authorization"))
}

func TestAccessAskedAgainByTheDecision(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	subject := w.subject(t)
	_, action := w.action(t, "enforce", challenging)
	ask := func(of string) response {
		return w.Server.post(t, accessSingle, with(access(subject, action), object{"context": object{"countersign": object{"authorization": of}}}))
	}
	open := func() response { return w.Server.post(t, accessSingle, access(subject, action)).is(200) }
	older, newer := open(), open()
	waiting := ask(older.string("context.authorization")).is(200)
	require.Equal(t, older.string("context.authorization"), waiting.string("context.authorization"), "it still waits")
	require.Equal(t, older.string("context.step_up.challenge"), waiting.string("context.step_up.challenge"))
	require.NotEmpty(t, waiting.string("context.step_up.url"))

	ofOlder, ofNewer := w.confirmed(t, older), w.confirmed(t, newer)
	require.Equal(t, ofOlder, ask(older.string("context.authorization")).is(200).string("context.authorization"))
	require.Equal(t, "challenge", ask(older.string("context.authorization")).is(200).string("context.decision"), "once")
	require.Equal(t, ofNewer, open().string("context.authorization"), "the newest of those that are confirmed")

	require.Equal(t, "bad_request", ask("aut_01k9x3v7q2e4rtb8m5n6p0d1fz").is(200).errorOf())
	allowed, open2 := newSandbox(t), object{"countersign": object{"authorization": newer.string("context.authorization")}}
	_, foreign := allowed.action(t, "enforce", challenging)
	require.Equal(t, "bad_request", allowed.Server.post(t, accessSingle, with(access(allowed.subject(t), foreign), object{"context": open2})).is(200).errorOf(), "of another tenant")
}

// What cannot be used any more is not returned: the request is decided anew.
func TestAccessAskedAgainTooLate(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]string{
		"the life of the challenge has passed": "update challenges set expires_at = now() - interval '1 second' where environment_id = $1",
		"the proof has expired":                "update proofs set expires_at = now() - interval '1 second' where environment_id = $1",
		"the proof is revoked":                 "update proofs set status = 'revoked' where environment_id = $1",
		"the proof was consumed":               "update proofs set status = 'consumed' where environment_id = $1",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newSandbox(t)
			subject := w.subject(t)
			_, action := w.action(t, "enforce", challenging)
			first := w.Server.post(t, accessSingle, access(subject, action)).is(200)
			w.confirmed(t, first)
			w.exec(t, spoil, w.ID)
			require.Equal(t, "challenge", w.Server.post(t, accessSingle, access(subject, action)).is(200).string("context.decision"))
		})
	}
}

// A hold likewise, and of several who ask at once one receives the decision.
func TestAccessAskedAgainAfterAReview(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	subject := w.subject(t)
	_, action := w.action(t, "enforce", holding)
	first := w.Server.post(t, accessSingle, access(subject, action)).is(200)
	require.Equal(t, "pending", first.string("context.review.status"))
	w.reviewer(t).post(t, "/api/v1/authorizations/"+first.string("context.authorization")+"/review", object{"resolution": "approve"}).is(200)
	answers, errs := make([]response, 6), make([]error, 6)
	concurrently(len(answers), func(i int) { answers[i], errs[i] = w.Server.send("POST", accessSingle, access(subject, action)) })
	allowed := 0
	for i := range answers {
		require.NoError(t, errs[i])
		answers[i].t = t
		if answers[i].is(200).value("decision") == true {
			allowed++
			require.NotEmpty(t, answers[i].string("context.proof"))
		}
	}
	require.Equal(t, 1, allowed)
}
