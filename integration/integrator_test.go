package integration_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A relying party that lost a webhook finds the follow-up decision by the id of the first decision or of its challenge.
func TestTheFollowUpDecisionIsFoundWithoutAWebhook(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	for decision, requirements := range map[string]object{"challenge": challenging, "hold": holding} {
		t.Run(decision, func(t *testing.T) {
			t.Parallel()
			_, key := w.action(t, "enforce", requirements)
			asked := w.authorize(t, w.subject(t), key, decision)
			id, path := asked.string("id"), "/api/v1/authorizations/"+asked.string("id")
			require.Nil(t, w.Server.get(t, path).is(200).value("child_authorization"))
			require.Empty(t, w.Server.get(t, "/api/v1/authorizations?parent="+id).is(200).list())
			var child string
			if decision == "challenge" {
				challenge := "/api/v1/challenges/" + asked.string("challenge.id")
				require.Nil(t, w.Server.get(t, challenge).is(200).value("child_authorization"))
				child = w.Server.post(t, challenge+"/complete", object{"method": "sandbox_confirm"}).is(200).string("authorization")
				require.Equal(t, child, w.Server.get(t, challenge).is(200).string("child_authorization"))
			} else {
				child = w.Server.post(t, path+"/review", object{"resolution": "approve"}).is(200).string("decision.id")
			}
			require.Equal(t, child, w.Server.get(t, path).is(200).string("child_authorization"))
			found := w.Server.get(t, "/api/v1/authorizations?parent="+id).is(200).list()
			require.Len(t, found, 1)
			require.Equal(t, child, found[0]["id"])
			require.Empty(t, newSandbox(t).Server.get(t, "/api/v1/authorizations?parent="+id).is(200).list(), "a different tenant finds nothing")
		})
	}
}

func TestNotFoundNamesTheParameter(t *testing.T) {
	t.Parallel()
	w, other := newSandbox(t), newSandbox(t)
	subject, foreign := w.subject(t), other.subject(t)
	_, key := w.action(t, "enforce", allowing)
	const absent = "ses_01k9x3v7q2e4rtb8m5n6p0d1fz"
	for name, tc := range map[string]struct {
		method, path string
		body         object
		parameter    string
	}{
		"path":                  {"GET", "/api/v1/subjects/" + foreign, nil, "subject_id."},
		"absent":                {"GET", "/api/v1/subjects/absent", nil, "subject_id."},
		"first of two":          {"DELETE", "/api/v1/subjects/absent/passkeys/psk_1", nil, "subject_id."},
		"second of two":         {"DELETE", "/api/v1/subjects/" + subject + "/passkeys/psk_1", nil, "passkey_id."},
		"version":               {"POST", "/api/v1/actions/act_1/policy-versions/1/activate", nil, "action_id."},
		"action of authorize":   {"POST", "/api/v1/authorize", object{"action": "no.such.action"}, "action."},
		"subject of authorize":  {"POST", "/api/v1/authorize", object{"subject": foreign}, "check subject. Create a subject once for each of your users"},
		"session of authorize":  {"POST", "/api/v1/authorize", object{"session": absent}, "session."},
		"subject of a session":  {"POST", "/api/v1/sessions", object{"subject": foreign}, "subject."},
		"session of enrollment": {"POST", "/api/v1/subjects/" + subject + "/enrollments/complete", object{"session": absent}, "session."},
		"unknown path":          {"GET", "/api/v1/subject", nil, "No operation has this path. /docs"},
		"trailing slash":        {"GET", "/api/v1/subjects/", nil, "remove the slash at its end."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var body any
			if tc.body != nil {
				body = tc.body
			}
			if tc.path == "/api/v1/authorize" {
				asked := request(subject, key) // here: a parallel test can wait longer than a request is fresh
				maps.Copy(asked, tc.body)
				body = asked
			}
			found := w.Server.do(t, tc.method, tc.path, body)
			found.problem(404, "not_found")
			require.Contains(t, found.string("detail"), tc.parameter)
		})
	}
	require.Equal(t, w.Server.get(t, "/api/v1/subjects/"+foreign).string("detail"), w.Server.get(t, "/api/v1/subjects/absent").string("detail"))
}

func TestUnknownQueryParametersAreRefused(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	for path, rule := range map[string]string{
		"/api/v1/subjects?statsu=revoked": "statsu is not a query parameter: the operation has ",
		"/api/v1/credential?verbose=1":    "verbose is not a query parameter: this operation has no query parameters",
		"/api/v1/meta?v=2":                "v is not a query parameter",
	} {
		refused := w.Server.get(t, path).is(422)
		require.Contains(t, string(refused.body), rule)
		require.Contains(t, string(refused.body), `"type":"extra_forbidden"`)
	}
	require.Equal(t, 200, w.Server.get(t, "/metrics?v=2").status, "the earlier endpoints ignore them")
}

func TestValidationErrorsHaveTheShapeThatTheClientAccepts(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	for accept, problem := range map[string]bool{
		"": false, "*/*": false, "application/json": false, "application/problem+json;q=0": false,
		"application/problem+json": true, "application/json, application/problem+json;q=0.5": true,
	} {
		refused := w.Server.with("Accept", accept).post(t, "/api/v1/actions", object{"key": "A"}).is(422)
		if !problem {
			require.True(t, strings.HasPrefix(refused.header.Get("Content-Type"), "application/json"), accept)
			require.NotEmpty(t, refused.value("detail"), accept)
			continue
		}
		refused.problem(422, "validation_error")
		require.Equal(t, "application/problem+json", refused.header.Get("Content-Type"), accept)
		require.NotEmpty(t, refused.value("errors"), accept)
	}
}
