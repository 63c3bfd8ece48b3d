package integration_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/descope/virtualwebauthn"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/models"
)

// The approval of a person who is no longer a reviewer when the hold settles does not count.
func TestReviewIgnoresApprovalsOfRemovedStaff(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(t *testing.T, w world, person string){
		"revoked": func(t *testing.T, w world, person string) {
			require.NoError(t, shared.People.Revoke(t.Context(), w.TenantID, person, "cli:test"))
		},
		"role withdrawn": func(t *testing.T, w world, person string) {
			scope := w.scope()
			require.NoError(t, shared.People.Withdraw(t.Context(), scope, person, []models.Role{models.RoleReviewer}, "cli:test"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newSandbox(t)
			_, action := w.action(t, "enforce", with(holding, object{"approvals_required": 2}))
			ann := w.signedIn(t, models.RoleReviewer, models.RoleAuditor)
			held := w.authorize(t, w.subject(t), action, "hold").string("id")
			ann.review(w, held, "approve")
			given := func() any { return w.Server.get(t, "/api/v1/reviews?action="+action).is(200).list()[0]["approvals"] }
			require.Equal(t, object{"given": 1.0, "required": 2.0}, given())
			leave(t, w, ann.person)
			require.Equal(t, object{"given": 0.0, "required": 2.0}, given())
			path := "/api/v1/authorizations/" + held + "/review"
			require.EqualValues(t, 1, w.Server.post(t, path, approve).is(http.StatusAccepted).value("approvals.given"))
			w.reviewer(t).post(t, path, approve).is(200)
		})
	}
}

// The page of the policies shows whether self-review is barred.
func TestConsoleShowsTheSelfReviewSetting(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	ann := w.signedIn(t, models.RoleReviewer, models.RoleAuditor)
	const page, open, barred = "policies", "people may approve their own requests", "no one may approve their own request"
	require.Contains(t, ann.get("/console/"+w.ID+"/"+page).body, open)
	w.Admin.patch(t, "/api/v1/environment", object{"bar_self_review": true}).is(200)
	require.Contains(t, ann.get("/console/"+w.ID+"/"+page).body, barred)
}

// A passkey assertion confirms one change. It is refused when repeated and after a newer ceremony has begun.
func TestConsoleCeremonyConfirmsOnce(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	ann := w.signedIn(t, models.RoleReviewer)
	at := "/console/" + w.ID + "/confirm"
	stale := func() {
		w.exec(t, "update console_sessions set confirmed_at = now() - interval '1 hour' where person_id = $1", ann.person)
	}
	begin := func() json.RawMessage {
		options := ann.script(at+"/options", object{})
		require.Equal(t, 200, options.status, options.body)
		parsed, err := virtualwebauthn.ParseAssertionOptions(options.body)
		require.NoError(t, err)
		return json.RawMessage(virtualwebauthn.CreateAssertionResponse(ann.rp(), *ann.device, ann.key, *parsed))
	}
	confirm := func(answer json.RawMessage) int { return ann.script(at, object{"credential": answer}).status }
	stale()
	first := begin()
	require.Equal(t, 200, confirm(first))
	stale()
	second := begin()
	require.Equal(t, 200, confirm(second))
	require.Equal(t, 400, confirm(first), "A, B, A")
	stale()
	older, newer := begin(), begin()
	require.Equal(t, 400, confirm(older))
	require.Equal(t, 200, confirm(newer))
}
