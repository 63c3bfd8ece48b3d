package integration_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// Nothing that was opened before a recovery goes on after it: neither a grant to register a passkey nor a hold.
func TestRecoveryEndsGrantsAndHolds(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	subject := w.subject(t)
	path := "/api/v1/subjects/" + subject
	grant := w.Server.post(t, path+"/passkeys/registration-grants", nil).is(201).string("token")
	begun := w.Server.post(t, path+"/passkeys/registration-grants", nil).is(201).string("token")
	options := path + "/passkeys/register/options"
	w.Server.post(t, options, object{"registration_grant": begun}).is(200)
	_, action := w.action(t, "enforce", with(holding, object{"approvals_required": 2}))
	held := w.authorize(t, subject, action, "hold").string("id")
	w.Server.post(t, reviewPath(held), approve).is(http.StatusAccepted)

	w.Server.post(t, path+"/recovery", object{"anchor": "none"}).is(201)
	for _, token := range []string{grant, begun} {
		require.Equal(t, "grant_invalid", w.Server.post(t, options, object{"registration_grant": token}).string("code"))
	}
	w.reviewer(t).post(t, reviewPath(held), approve).problem(http.StatusConflict, "review_expired")
	trace := w.Server.get(t, "/api/v1/authorizations/"+held).is(200)
	require.Equal(t, "expired", trace.string("review_status"))
	require.Nil(t, trace.value("child_authorization"))
	w.Server.post(t, options, object{"registration_grant": w.Server.post(t, path+"/passkeys/registration-grants", nil).is(201).string("token")}).is(200)
	w.authorize(t, subject, action, "hold")
}
