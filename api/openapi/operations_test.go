package openapi_test

import (
	"bufio"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/problem"
)

// specified lists the operations of the specification; all others are extensions.
const specified = `
GET /api/v1/meta
GET /api/v1/credential
GET /api/v1/actions
POST /api/v1/actions
GET /api/v1/actions/{action_id}
PATCH /api/v1/actions/{action_id}
DELETE /api/v1/actions/{action_id}
GET /api/v1/actions/{action_id}/policy-versions
POST /api/v1/actions/{action_id}/policy-versions
POST /api/v1/actions/{action_id}/policy-versions/{version}/activate
GET /api/v1/subjects
POST /api/v1/subjects
GET /api/v1/subjects/{subject_id}
DELETE /api/v1/subjects/{subject_id}
POST /api/v1/subjects/{subject_id}/adaptation/freeze
POST /api/v1/subjects/{subject_id}/enrollments/complete
POST /api/v1/subjects/{subject_id}/export
POST /api/v1/subjects/{subject_id}/passkeys/registration-grants
POST /api/v1/subjects/{subject_id}/passkeys/register/options
POST /api/v1/subjects/{subject_id}/passkeys/register/complete
DELETE /api/v1/subjects/{subject_id}/passkeys/{passkey_id}
POST /api/v1/subjects/{subject_id}/recovery
POST /api/v1/subjects/{subject_id}/research-consent
POST /api/v1/subjects/{subject_id}/revoke
POST /api/v1/client-tokens
POST /api/v1/sessions
GET /api/v1/sessions/{session_id}/status
GET /api/v1/sessions/{session_id}/assessment
POST /api/v1/sessions/{session_id}/evidence
POST /api/v1/sessions/{session_id}/end
POST /api/v1/authorize
GET /api/v1/authorizations/{authorization_id}
POST /api/v1/authorizations/{authorization_id}/outcome
POST /api/v1/authorizations/{authorization_id}/review
GET /api/v1/challenges/{challenge_id}
POST /api/v1/challenges/{challenge_id}/passkey/options
POST /api/v1/challenges/{challenge_id}/complete
POST /api/v1/challenges/{challenge_id}/cancel
GET /api/v1/proofs/{jti}/status
GET /api/v1/evaluations
POST /api/v1/evaluations
POST /api/v1/evaluations/{evaluation_id}/close
GET /api/v1/evaluations/{evaluation_id}/report
GET /api/v1/activity
GET /.well-known/service-proof-keys.json
POST /api/v1/verify
GET /api/v1/openapi.json
POST /v2/sessions/start
POST /v2/ingest
GET /v2/trust/{session_id}
POST /v2/sessions/end
POST /enrol
POST /auth
GET /metrics`

func TestSpecifiedOperationsAndExtensions(t *testing.T) {
	t.Parallel()
	want := map[string]bool{}
	for _, line := range strings.Split(strings.TrimSpace(specified), "\n") {
		want[line] = true
	}
	for _, op := range contract(t).Operations() {
		name := op.Method + " " + op.Path
		require.Equal(t, !want[name], op.Extension, name)
		delete(want, name)
	}
	require.Empty(t, want)
}

func TestEveryOperationIsDescribed(t *testing.T) {
	t.Parallel()
	doc := document(t)
	tags := map[string]bool{}
	for _, tag := range doc["tags"].([]any) {
		tags[look(tag, "name").(string)] = true
	}
	seen := map[string]bool{}
	id := regexp.MustCompile(`^[a-z][a-zA-Z]+$`)
	for _, op := range contract(t).Operations() {
		require.Regexp(t, id, op.ID, op.Path)
		require.False(t, seen[op.ID], "%s is there twice", op.ID)
		seen[op.ID] = true
		require.Len(t, op.Tags, 1, op.ID)
		require.True(t, tags[op.Tags[0]], op.ID)
		raw := operation(t, op.ID)
		require.NotEmpty(t, raw["summary"], op.ID)
		require.Contains(t, []string{"none", "client", "server", "admin"}, op.Scope, op.ID)
		require.Equal(t, op.Scope == "none", len(op.Security) == 0, op.ID)
		for _, scheme := range op.Security {
			require.NotNil(t, look(doc, "components", "securitySchemes", scheme), op.ID)
		}
		responses := node(raw, "responses")
		for _, status := range []string{"429", "500", "503"} {
			require.Contains(t, responses, status, op.ID)
		}
		if op.Scope != "none" {
			require.Contains(t, responses, "401", op.ID)
			require.Contains(t, responses, "403", op.ID)
		}
		if op.BodySchema != "" {
			for _, status := range []string{"400", "413"} {
				require.Contains(t, responses, status, op.ID)
			}
			for _, status := range []string{"415", "422"} { // which are 400 in the Authorization API
				_, has := responses[status]
				require.Equal(t, !op.AuthZEN, has, op.ID)
			}
		}
		if op.Idempotent {
			require.Equal(t, "POST", op.Method, op.ID)
			require.Contains(t, responses, "409", op.ID)
		}
	}
}

// Only submitEvidence accepts a client token; besides it only the metadata and the credential operations accept anything but
// a server key.
func TestBrowserCredentialsAreConfined(t *testing.T) {
	t.Parallel()
	for _, op := range contract(t).Operations() {
		for _, scheme := range op.Security {
			switch scheme {
			case "clientToken":
				require.Equal(t, "submitEvidence", op.ID)
			case "publishableKey":
				require.Contains(t, []string{"getMeta", "getCredential"}, op.ID)
			}
		}
		if op.Scope == "admin" {
			require.Equal(t, []string{"adminKey"}, op.Security, op.ID)
		}
	}
}

func TestProblemCodesMatchTheCatalogue(t *testing.T) {
	t.Parallel()
	f, err := os.Open("src/01-problems.yaml")
	require.NoError(t, err)
	defer f.Close()
	line := regexp.MustCompile(`^  (\w+): \{status: (\d+), title: "(.*)", detail: "`)
	catalogue := problem.Catalogue()
	scan := bufio.NewScanner(f)
	for scan.Scan() {
		m := line.FindStringSubmatch(scan.Text())
		if m == nil {
			continue
		}
		kind, ok := catalogue[problem.Code(m[1])]
		require.True(t, ok, m[1])
		require.Equal(t, m[3], kind.Title, m[1])
		require.Equal(t, m[2], itoa(kind.Status), m[1])
		delete(catalogue, problem.Code(m[1]))
	}
	require.NoError(t, scan.Err())
	delete(catalogue, problem.MethodNotAllowed) // of no operation: the path knows the method or it is not one
	require.Empty(t, catalogue)
}
