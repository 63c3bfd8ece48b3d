package integration_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/cmd/countersign/wiring"
	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/behavior/synthetic"
	"github.com/countersign-dev/countersign/internal/platform/store"
	"github.com/countersign-dev/countersign/models"
)

const pageOrigin = "https://app.example.com"

// page is a browser with a client token of the subject; further fields narrow the token.
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

// send is one frame of the caller to a session.
func (c caller) sendFrame(t *testing.T, session, purpose string, who *synthetic.Typist, n int) answer {
	t.Helper()
	return c.post(t, "/api/v1/sessions/"+session+"/evidence", evidence(who, purpose, time.Now().Add(-5*time.Minute), n))
}

// enrollBy sends four frames of a new session by the page, and returns the session.
func (w world) enrollBy(t *testing.T, page caller, subject string, who *synthetic.Typist) string {
	t.Helper()
	who.NewDay()
	id := w.open(t, subject)
	for n := range 4 {
		page.sendFrame(t, id, "enroll", who, n).is(200)
	}
	return id
}

func (w world) complete(t *testing.T, subject, session string) answer {
	t.Helper()
	return w.Server.settle(t, "/api/v1/subjects/"+subject+"/enrollments/complete", object{"session": session}).is(200)
}

func TestClientTokenIsLimitedToItsPurposes(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	subject, ada := w.subject(t), typist("ada narrowed")
	session := w.open(t, subject)
	made := w.Server.post(t, "/api/v1/client-tokens", object{"subject": subject, "origin": pageOrigin}).is(201)
	require.Equal(t, []string{"score", "enroll"}, made.strings("purposes"), "SPEC.md's token has both")
	require.Nil(t, made.value("session"))
	for name, c := range map[string]struct {
		purposes []string
		refused  string
	}{
		"both where none are named": {nil, ""},
		"both by name":              {[]string{"score", "enroll"}, ""},
		"score alone":               {[]string{"score"}, "enroll"},
		"enroll alone":              {[]string{"enroll"}, "score"},
	} {
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
	for name, session := range map[string]string{"another of the subject": second, "of another subject": theirs} {
		a := page.sendFrame(t, session, "score", ada, 1).problem(404, "not_found")
		require.Equal(t, absent.string("detail"), a.string("detail"), name)
	}
	elsewhere := stranger.open(t, stranger.subject(t))
	for _, session := range []string{theirs, elsewhere, "ses_01jqx3k5v8e2sbyk0c4m7t9wzd"} {
		w.Server.post(t, "/api/v1/client-tokens", object{"subject": subject, "origin": pageOrigin, "session": session}).problem(404, "not_found")
	}
}

// A client token holds no longer than the credential that made it, on every replica; a rotation of the key does not end it.
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
		issued, err := shared.Identity.Issue(t.Context(), store.Scope{Tenant: w.TenantID, Environment: w.ID},
			identity.Issue{Scope: models.ScopeServer, Name: "issuer", RateLimit: &limit, ExpiresAt: expires}, "cli:test", "")
		require.NoError(t, err)
		issuer := w
		issuer.Server.key = issued.Key
		return issued.ID, issuer.page(t, subject, object{"ttl_seconds": 3600})
	}
	t.Run("revoked", func(t *testing.T) {
		id, page := issue(nil)
		second := page.at(beside(t, wiring.Settings{Log: shared.log}))
		require.Equal(t, 200, status(page))
		require.Equal(t, 200, status(second), "the token is in the cache of both replicas")
		w.Admin.post(t, "/api/v1/credentials/"+id+"/rotate", object{"overlap_seconds": 0}).is(200)
		require.Equal(t, 200, status(page), "a rotation changes the key and not the credential")
		w.Admin.delete(t, "/api/v1/credentials/"+id).is(204)
		require.Equal(t, 401, status(page), "the replica that was told knows at once")
		eventually(t, func() bool { return status(second) == 401 }, "and so does the other, by the notice")
	})
	t.Run("expired", func(t *testing.T) {
		soon := time.Now().Add(10 * time.Minute)
		_, short := issue(&soon)
		_, long := issue(nil)
		require.Equal(t, 200, status(short))
		replica := later(t, 11*time.Minute)
		require.Equal(t, 401, status(short.at(replica)))
		require.Equal(t, 200, status(long.at(replica)), "the other's issuer holds")
	})
}

// Where the environment requires it, enrolling is granted by name, for one enrollment, and nothing from before counts.
func TestEnrollmentRequiresAGrant(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	subject, ada, eve := w.subject(t), typist("ada by name"), typist("eve before")
	require.Equal(t, false, w.Admin.get(t, "/api/v1/environment").is(200).value("enrollment_grant_required"), "SPEC.md's flow holds unless it is set")
	before := w.page(t, subject, nil)
	early := w.enrollBy(t, before, subject, eve)
	w.Admin.patch(t, "/api/v1/environment", object{"enrollment_grant_required": true}).is(200)

	before.sendFrame(t, early, "enroll", eve, 9).problem(403, "purpose_not_granted")
	before.sendFrame(t, early, "score", eve, 9).is(200)
	w.page(t, subject, object{"purposes": []string{"score"}}).sendFrame(t, early, "enroll", eve, 9).problem(403, "purpose_not_granted")
	failed := w.complete(t, subject, early)
	require.Equal(t, "failed", failed.string("status"), "what was collected without a grant is not learned from")
	require.InDelta(t, 0, failed.value("windows_accepted"), 0)
	require.Contains(t, failed.strings("limitations"), "enrollment_not_granted")

	granted := w.page(t, subject, object{"purposes": []string{"enroll"}})
	var last string
	for range 3 {
		last = w.enrollBy(t, granted, subject, ada)
	}
	done := w.complete(t, subject, last)
	require.Equal(t, "completed", done.string("status"), "answered: %s", done.body)
	require.InDelta(t, 12, done.value("windows_accepted"), 0, "the frames from before the grant are left out")

	session := w.open(t, subject)
	granted.sendFrame(t, session, "enroll", ada, 0).problem(403, "purpose_not_granted")
	again := w.page(t, subject, object{"purposes": []string{"score", "enroll"}})
	again.sendFrame(t, session, "enroll", ada, 1).is(200)
	granted.sendFrame(t, session, "enroll", ada, 2).problem(403, "purpose_not_granted")
	w.Server.post(t, "/v2/ingest", object{"session_id": session, "frames": legacyFrames(ada, "enroll", 1)}).is(200)
}

// A server key is the relying party itself: what it sends to enroll by is granted.
func TestEnrollmentByServerKeyNeedsNoGrant(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	w.Admin.patch(t, "/api/v1/environment", object{"enrollment_grant_required": true}).is(200)
	subject := w.enrolled(t, typist("ada of the backend"))
	w.session(t, subject, "score", typist("ada of the backend"), 1)
}

func TestEnrollmentRefusesInconsistentSessions(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	ada, eve := typist("ada who enrolls"), typist("eve who slips in")
	t.Run("one stranger among three", func(t *testing.T) {
		subject := w.subject(t)
		first := w.session(t, subject, "enroll", ada, 4)
		strange := w.session(t, subject, "enroll", eve, 4)
		last := w.session(t, subject, "enroll", ada, 4)
		require.NotEmpty(t, first)
		done := w.complete(t, subject, last)
		require.Equal(t, "completed", done.string("status"))
		require.Equal(t, []any{object{"session": strange, "reason": "enrollment_inconsistent"}}, done.value("refused_sessions"))
		require.InDelta(t, 8, done.value("windows_accepted"), 0)
		require.Contains(t, done.strings("limitations"), "enrollment_inconsistent")
		require.Contains(t, done.strings("limitations"), "provisional_enrollment", "two sessions are left")
	})
	t.Run("one of each of two", func(t *testing.T) {
		subject := w.subject(t)
		own := w.session(t, subject, "enroll", ada, 4)
		strange := w.session(t, subject, "enroll", eve, 4)
		failed := w.complete(t, subject, strange)
		require.Equal(t, "failed", failed.string("status"), "nothing tells which of the two is the person's")
		require.Equal(t, []any{
			object{"session": own, "reason": "enrollment_inconsistent"}, object{"session": strange, "reason": "enrollment_inconsistent"},
		}, failed.value("refused_sessions"))
		require.Contains(t, failed.strings("limitations"), "enrollment_inconsistent")
		require.Equal(t, failed.value("refused_sessions"), w.Server.get(t, "/api/v1/subjects/"+subject+"/enrollments").is(200).list()[0]["refused_sessions"])
	})
	t.Run("none", func(t *testing.T) {
		subject := w.enrolled(t, typist("grace"))
		listed := w.Server.get(t, "/api/v1/subjects/"+subject+"/enrollments").is(200).list()
		require.Empty(t, listed[0]["refused_sessions"])
	})
}

// recover begins a recovery and waits until it is ready, if it is to.
func (w world) recover(t *testing.T, subject string) string {
	t.Helper()
	path := "/api/v1/subjects/" + subject + "/recovery"
	w.Server.post(t, path, object{"anchor": "customer_session", "anchor_evidence_ref": "case-4711"}).is(201)
	return path
}

// The attacker that made a recovery necessary may hold a token and an open session. Both end with it, and what comes in before it is
// ready is never learned from.
func TestRecoveryEndsTokensAndSessions(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	ada, eve := typist("ada recovers"), typist("eve stays")
	subject := w.enrolled(t, ada)
	held := w.open(t, subject)
	page := w.page(t, subject, nil)
	page.sendFrame(t, held, "score", eve, 0).is(200)

	path := w.recover(t, subject)
	require.Equal(t, "ended", w.Server.get(t, "/api/v1/sessions/"+held).is(200).string("status"))
	w.Server.post(t, "/api/v1/sessions/"+held+"/evidence", evidence(eve, "enroll", time.Now().Add(-time.Minute), 1)).problem(409, "session_closed")
	eventually(t, func() bool {
		a, err := page.send("POST", "/api/v1/sessions/"+held+"/evidence", evidence(eve, "enroll", time.Now().Add(-time.Minute), 1))
		return err == nil && a.status == 401
	}, "the token is void")

	cooling := w.open(t, subject)
	early := w.page(t, subject, object{"purposes": []string{"enroll"}})
	for n := range 5 {
		ack := early.sendFrame(t, cooling, "enroll", eve, n).is(200)
		require.Contains(t, ack.strings("reason_codes"), "recovery_cooling_down")
		require.Equal(t, false, ack.value("enrollment_ready"))
	}
	require.Zero(t, count(t, "select count(*) from frames where session_id = $1 and vector is not null", cooling))
	eventually(t, func() bool { return w.Server.get(t, path).is(200).string("status") == "ready" }, "the cool-down ends")

	failed := w.complete(t, subject, cooling)
	require.Equal(t, "failed", failed.string("status"), "nothing of before is learned from")
	require.InDelta(t, 0, failed.value("windows_accepted"), 0)
	var last string
	for range 3 {
		last = w.enrollBy(t, early, subject, ada)
	}
	done := w.complete(t, subject, last)
	require.Equal(t, "completed", done.string("status"), "answered: %s", done.body)
	require.InDelta(t, 12, done.value("windows_accepted"), 0)
	require.Empty(t, done.value("refused_sessions"))
	require.Equal(t, "completed", w.Server.get(t, path).is(200).string("status"))
}

func TestRevocationEndsTokensAndSessions(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	subject, ada := w.subject(t), typist("ada revoked")
	session := w.open(t, subject)
	page := w.page(t, subject, nil)
	page.sendFrame(t, session, "score", ada, 0).is(200)
	w.Server.post(t, "/api/v1/subjects/"+subject+"/revoke", nil).is(200)
	require.Equal(t, "ended", w.Server.get(t, "/api/v1/sessions/"+session).is(200).string("status"))
	eventually(t, func() bool {
		a, err := page.send("POST", "/api/v1/sessions/"+session+"/evidence", evidence(ada, "score", time.Now(), 1))
		return err == nil && a.status == 401
	}, "the token is void")
}
