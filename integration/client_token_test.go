package integration_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/cmd/countersign/wiring"
	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/behavior/synthetic"
	"github.com/countersign-dev/countersign/models"
)

const pageOrigin = "https://app.example.com"

// page is a caller with a client token of the subject. The fields of narrow restrict the token.
func (w world) page(t *testing.T, subject string, narrow object) caller {
	t.Helper()
	body := object{"subject": subject, "origin": pageOrigin}
	for k, v := range narrow {
		body[k] = v
	}
	made := w.Server.post(t, "/api/v1/client-tokens", body).is(201)
	return caller{base: w.Server.base, key: made.string("client_token")}.with("Origin", pageOrigin)
}

func (w world) open(t *testing.T, subject string) string {
	t.Helper()
	return w.Server.post(t, "/api/v1/sessions", object{"subject": subject, "device_class": "desktop"}).is(201).string("id")
}

// sendFrame submits one frame to a session.
func (c caller) sendFrame(t *testing.T, session, purpose string, who *synthetic.Typist, n int) response {
	t.Helper()
	return c.post(t, "/api/v1/sessions/"+session+"/evidence", evidence(who, purpose, time.Now().Add(-5*time.Minute), n))
}

func TestClientTokenIsLimitedToItsPurposes(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	subject, ada := w.subject(t), typist("ada narrowed")
	session := w.open(t, subject)
	made := w.Server.post(t, "/api/v1/client-tokens", object{"subject": subject, "origin": pageOrigin}).is(201)
	require.Equal(t, []string{"score", "enroll"}, made.strings("purposes"), "both by default")
	require.Nil(t, made.value("session"))
	for name, c := range map[string]struct {
		purposes []string
		refused  string
	}{
		"both by default": {nil, ""},
		"both by name":    {[]string{"score", "enroll"}, ""},
		"score alone":     {[]string{"score"}, "enroll"},
		"enroll alone":    {[]string{"enroll"}, "score"},
	} {
		t.Run(name, func(t *testing.T) {
			narrow := object{}
			if c.purposes != nil {
				narrow["purposes"] = c.purposes
			}
			page := w.page(t, subject, narrow)
			for n, purpose := range []string{"score", "enroll"} {
				body := evidence(ada, purpose, time.Now().Add(-time.Minute), n)
				body["frame_id"] = unique()
				a := page.post(t, "/api/v1/sessions/"+session+"/evidence", body)
				if purpose == c.refused {
					a.problem(403, "purpose_not_granted")
				} else {
					require.Equal(t, 200, a.status, "%s, %s: %s", name, purpose, a.body)
				}
			}
		})
	}
	for name, bad := range map[string]any{"empty": []string{}, "unknown": []string{"spy"}, "twice": []string{"score", "score"}, "null": nil} {
		a := w.Server.post(t, "/api/v1/client-tokens", object{"subject": subject, "origin": pageOrigin, "purposes": bad})
		require.Equal(t, 422, a.status, "%s: %s", name, a.body)
	}
}

func TestClientTokenIsLimitedToItsSession(t *testing.T) {
	t.Parallel()
	w, stranger := newSandbox(t), newSandbox(t)
	subject, other, ada := w.subject(t), w.subject(t), typist("ada of one session")
	mine, second, theirs := w.open(t, subject), w.open(t, subject), w.open(t, other)
	page := w.page(t, subject, object{"session": mine})
	page.sendFrame(t, mine, "score", ada, 0).is(200)
	absent := page.sendFrame(t, "ses_01jqx3k5v8e2sbyk0c4m7t9wzd", "score", ada, 1).problem(404, "not_found")
	for name, session := range map[string]string{"another session of the subject": second, "of another subject": theirs} {
		a := page.sendFrame(t, session, "score", ada, 1).problem(404, "not_found")
		require.Equal(t, absent.string("detail"), a.string("detail"), name)
	}
	elsewhere := stranger.open(t, stranger.subject(t))
	for _, session := range []string{theirs, elsewhere, "ses_01jqx3k5v8e2sbyk0c4m7t9wzd"} {
		w.Server.post(t, "/api/v1/client-tokens", object{"subject": subject, "origin": pageOrigin, "session": session}).problem(404, "not_found")
	}
}

// A client token is valid no longer than the credential that created it, on every replica. Rotating the key does not end it.
func TestClientTokenEndsWithItsIssuer(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	subject, ada := w.subject(t), typist("ada of the issuer")
	session := w.open(t, subject)
	n := 0
	status := func(c caller) int {
		n++
		a, err := c.send("POST", "/api/v1/sessions/"+session+"/evidence", evidence(ada, "score", time.Now().Add(-time.Hour), n))
		require.NoError(t, err)
		return a.status
	}
	issue := func(expires *time.Time) (string, caller) {
		limit := plenty
		issued, err := shared.Identity.Issue(t.Context(), w.scope(),
			identity.Issue{Scope: models.ScopeServer, Name: "issuer", RateLimit: &limit, ExpiresAt: expires}, "cli:test", "")
		require.NoError(t, err)
		issuer := w
		issuer.Server.key = issued.Key
		return issued.ID, issuer.page(t, subject, object{"ttl_seconds": 3600})
	}
	t.Run("revoked", func(t *testing.T) {
		id, page := issue(nil)
		second := page.at(replica(t, wiring.Settings{Log: shared.log}))
		require.Equal(t, 200, status(page))
		require.Equal(t, 200, status(second), "the token is in the cache of both replicas")
		_, err := shared.Identity.Rotate(t.Context(), w.scope(), identity.Rotation{ID: id}, "cli:test", "")
		require.NoError(t, err)
		require.Equal(t, 200, status(page), "a rotation replaces the key, not the credential")
		w.Admin.delete(t, "/api/v1/credentials/"+id).is(204)
		require.Equal(t, 401, status(page), "the replica that revoked it refuses the token at once")
		eventually(t, func() bool { return status(second) == 401 }, "the other replica refuses it after the notification")
	})
	t.Run("expired", func(t *testing.T) {
		soon := time.Now().Add(10 * time.Minute)
		_, short := issue(&soon)
		_, long := issue(nil)
		require.Equal(t, 200, status(short))
		replica := replicaAhead(t, 11*time.Minute)
		require.Equal(t, 401, status(short.at(replica)))
		require.Equal(t, 200, status(long.at(replica)), "the other issuer is still valid")
	})
}

func TestClientTokenSubmitsOnlyItsSubjectsEvidence(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	const origin = "https://app.example.com"
	mine, other := w.subject(t), w.subject(t)
	made := w.Server.post(t, "/api/v1/client-tokens", object{"subject": mine, "origin": origin}).is(201)
	require.InDelta(t, 900, made.value("ttl_seconds"), 0)
	require.InDelta(t, time.Now().Unix()+900, made.value("expires_at"), 60)
	page := caller{base: shared.baseURL, key: made.string("client_token")}.with("Origin", origin)

	own := w.Server.post(t, "/api/v1/sessions", object{"subject": mine}).is(201).string("id")
	foreign := w.Server.post(t, "/api/v1/sessions", object{"subject": other}).is(201).string("id")
	frame := evidence(typist("page"), "score", time.Now().Add(-time.Minute), 0)
	page.post(t, "/api/v1/sessions/"+own+"/evidence", frame).is(200)
	page.post(t, "/api/v1/sessions/"+foreign+"/evidence", frame).problem(404, "not_found")
	page.with("Origin", "https://evil.example.com").post(t, "/api/v1/sessions/"+own+"/evidence", frame).problem(403, "origin_not_allowed")
	page.with("Origin", "").post(t, "/api/v1/sessions/"+own+"/evidence", frame).problem(403, "origin_not_allowed")
	for _, op := range operations() {
		if op.ID == "submitEvidence" || op.ID == "streamEvents" || op.Scope == "none" {
			continue
		}
		page.do(t, op.Method, concrete(op), nil).problem(403, "insufficient_scope")
	}
	expired := page.at(replicaAhead(t, 901*time.Second))
	expired.post(t, "/api/v1/sessions/"+own+"/evidence", frame).problem(401, "unauthenticated")
	w.Server.post(t, "/api/v1/subjects/"+mine+"/revoke", nil).is(200)
	eventually(t, func() bool {
		a, err := page.send("POST", "/api/v1/sessions/"+own+"/evidence", frame)
		return err == nil && a.status == 401
	}, "the tokens of a revoked subject are invalid")
}
