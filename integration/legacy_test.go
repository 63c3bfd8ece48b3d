package integration_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/behavior/features"
	"github.com/countersign-dev/countersign/internal/behavior/synthetic"
)

// isLegacy requires what every legacy operation returns: mode, Deprecation and Link.
func (a response) isLegacy(mode, successor string) response {
	a.t.Helper()
	require.Equal(a.t, mode, a.string("mode"), "response: %s", a.body)
	require.Regexp(a.t, `^@\d+$`, a.header.Get("Deprecation"))
	require.Equal(a.t, "<"+successor+`>; rel="successor-version"`, a.header.Get("Link"))
	return a
}

// legacyFrames are frames for /v2/ingest as if they had just been typed.
func legacyFrames(who *synthetic.Typist, purpose string, n int) []object {
	start := time.Now().Add(-time.Duration(n) * frameMS * time.Millisecond)
	frames := make([]object, n)
	for i := range frames {
		frames[i] = object{
			"ts": start.Add(time.Duration(i+1) * frameMS * time.Millisecond).UnixMilli(), "duration_ms": frameMS - 500,
			"features": who.Frame(frameKeys), "purpose": purpose,
		}
	}
	return frames
}

// startLegacy starts a trust session.
func (w world) startLegacy(t testing.TB, user string) string {
	t.Helper()
	a := w.Server.post(t, "/v2/sessions/start", object{"user_id": user, "device_id": "laptop-1"}).is(201).isLegacy("test", "/api/v1/sessions")
	require.Equal(t, "LEARNING", a.string("state"))
	return a.string("session_id")
}

// ingestLegacy submits frames and returns the resulting state.
func (w world) ingestLegacy(t testing.TB, session string, frames []object) string {
	t.Helper()
	a := w.Server.post(t, "/v2/ingest", object{"session_id": session, "frames": frames}).is(200)
	a.isLegacy("test", "/api/v1/sessions/"+session+"/evidence")
	require.InDelta(t, len(frames), a.value("accepted"), 0, "response: %s", a.body)
	return a.string("state")
}

// enrolledByLegacy enrolls a typist with frames submitted to /v2.
func (w world) enrolledByLegacy(t testing.TB, who *synthetic.Typist) string {
	t.Helper()
	user, session := "user-"+unique(), ""
	for range 3 {
		session = w.startLegacy(t, user)
		require.Equal(t, "LEARNING", w.ingestLegacy(t, session, legacyFrames(who, "enroll", 4)))
		who.NewDay()
	}
	done := w.Server.post(t, "/api/v1/subjects/"+user+"/enrollments/complete", object{"session": session}).is(200)
	require.Equal(t, "completed", done.string("status"), "response: %s", done.body)
	return user
}

func TestLegacyTrustFollowsTheTypist(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	ada := typist("ada of the trust sessions")
	user := w.enrolledByLegacy(t, ada)

	own := w.startLegacy(t, user)
	require.Equal(t, "STABLE", w.ingestLegacy(t, own, legacyFrames(ada, "score", 10)))
	trust := w.Server.get(t, "/v2/trust/"+own).is(200).isLegacy("test", "/api/v1/sessions/"+own+"/assessment")
	require.Equal(t, "STABLE", trust.string("state"))
	require.Greater(t, trust.value("score"), 0.5)
	require.NotEmpty(t, trust.strings("reason_codes"))

	fallen := 0
	for _, name := range []string{"mallory", "eve", "oscar", "trudy"} {
		stolen := w.startLegacy(t, user)
		state := w.ingestLegacy(t, stolen, legacyFrames(typist(name+" of the trust sessions"), "score", 10))
		require.NotEqual(t, "STABLE", state, name)
		require.Less(t, w.Server.get(t, "/v2/trust/"+stolen).is(200).value("score"), trust.value("score"), name)
		if state == "DEGRADED" || state == "BROKEN" {
			fallen++
		}
	}
	require.GreaterOrEqual(t, fallen, 2, "trust falls when other people type")

	ended := w.Server.post(t, "/v2/sessions/end", object{"session_id": own}).is(200).isLegacy("test", "/api/v1/sessions/"+own+"/end")
	require.Equal(t, "ENDED", ended.string("state"))
	require.Equal(t, "ENDED", w.Server.get(t, "/v2/trust/"+own).is(200).string("state"))
	require.Equal(t, trust.value("score"), ended.value("score"), "the final score is the last one")
	w.Server.post(t, "/v2/ingest", object{"session_id": own, "frames": legacyFrames(ada, "score", 1)}).problem(409, "session_closed")
	require.Equal(t, "ENDED", w.Server.post(t, "/v2/sessions/end", object{"session_id": own}).is(200).string("state"), "ending a session is idempotent")
	require.Equal(t, "ended", w.Server.get(t, "/api/v1/sessions/"+own).is(200).string("status"), "both APIs end the same session")
}

func TestLegacyTrustBreaksOnAutomation(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	ada := typist("ada")
	user := w.enrolledByLegacy(t, ada)
	session := w.startLegacy(t, user)
	frames := legacyFrames(ada, "score", 6)
	for i := range frames {
		text := ada.Type(frameKeys)
		at := 0.0
		for k := range text { // the program presses a key about every 100 ms
			text[k].Press, text[k].Release = at, at+40
			at += 100 + float64((7*i+k)%5)
		}
		frames[i]["features"] = features.Extract(features.Raw{Keys: text, ClockMS: 1})
	}
	require.Equal(t, "BROKEN", w.ingestLegacy(t, session, frames))
}

func TestLegacyTrustLearnsWithoutATemplate(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	session := w.startLegacy(t, "user-"+unique())
	require.Equal(t, "LEARNING", w.ingestLegacy(t, session, legacyFrames(typist("any typist"), "score", 5)))
	require.InDelta(t, 0.5, w.Server.get(t, "/v2/trust/"+session).is(200).value("score"), 0, "the score is neutral without a template")
}

func TestLegacyIngestDeduplicatesAndRejectsContent(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	session := w.startLegacy(t, "user-"+unique())
	frames := legacyFrames(typist("a typist"), "score", 2)
	w.ingestLegacy(t, session, frames)
	w.ingestLegacy(t, session, frames)
	windows := w.Server.get(t, "/api/v1/sessions/"+session+"/status").is(200).value("evidence_windows")
	require.InDelta(t, 2, windows, 0)

	bare := w.Server.post(t, "/v2/ingest", object{"session_id": session, "frames": []object{{"ts": 1, "typed": "hunter2"}}}).is(200)
	require.InDelta(t, 1, bare.value("rejected"), 0, "typed text is rejected")
	require.Empty(t, w.Server.post(t, "/v2/ingest", object{"session_id": session, "frames": []object{}}).is(200).value("error"))

	bad := w.Server.post(t, "/v2/ingest", object{"session_id": session, "frames": []any{object{"ts": "now"}, object{}, 7, object{"ts": 1, "duration_ms": -1, "purpose": "spy"}}})
	require.Equal(t, []string{
		`["body","frames",0,"ts"] int_type`, `["body","frames",1,"ts"] missing`, `["body","frames",2] dict_type`,
		`["body","frames",3,"duration_ms"] greater_than_equal`, `["body","frames",3,"purpose"] enum`,
	}, bad.faults())
}

// phrase types a fixed phrase and returns the hold time of each key and the intervals between presses.
func phrase(who *synthetic.Typist) (reactions, intervals []float64) {
	keys := who.Keys(strings.Split("thequickpayment", ""))
	for i, k := range keys {
		reactions = append(reactions, k.Release-k.Press)
		if i > 0 {
			intervals = append(intervals, k.Press-keys[i-1].Press)
		}
	}
	return reactions, intervals
}

func phraseTimings(user string, who *synthetic.Typist) object {
	reactions, intervals := phrase(who)
	return object{"user_id": user, "reaction_times": reactions, "keystroke_intervals": intervals}
}

func withConsent(body object) object {
	body["consent"] = true
	return body
}

func TestLegacyAuthAcceptsOnlyItsUser(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	user, ada, mallory := "user-"+unique(), typist("ada of the phrase"), typist("mallory of the phrase")
	w.Server.post(t, "/auth", phraseTimings(user, ada)).problem(404, "not_found")

	for n := 1; n <= 12; n++ {
		a := w.Server.post(t, "/enrol", withConsent(phraseTimings(user, ada))).is(200)
		a.isLegacy("test", "/api/v1/subjects/"+user+"/enrollments/complete")
		require.InDelta(t, n, a.value("samples"), 0)
		require.Equal(t, n >= 5, a.value("enrolled"), "after %d", n)
		if n < 5 {
			early := w.Server.post(t, "/auth", phraseTimings(user, ada)).is(200)
			require.Equal(t, false, early.value("ok"))
			require.Equal(t, "challenge", early.string("decision"))
			require.Equal(t, []string{"insufficient:samples"}, early.strings("reason_codes"))
		}
	}

	decisions := map[string]map[string]int{"ada": {}, "mallory": {}}
	const tries = 20
	for range tries {
		for name, who := range map[string]*synthetic.Typist{"ada": ada, "mallory": mallory} {
			a := w.Server.post(t, "/auth", phraseTimings(user, who)).is(200).isLegacy("test", "/api/v1/authorize")
			decision := a.string("decision")
			decisions[name][decision]++
			require.Equal(t, decision == "accept", a.value("ok"))
			want := "mismatch:timing"
			if decision == "accept" {
				want = "match:timing"
			}
			require.Equal(t, []string{want}, a.strings("reason_codes"))
		}
	}
	require.Greater(t, decisions["ada"]["accept"], tries/2, "of ada: %v", decisions["ada"])
	require.Zero(t, decisions["mallory"]["accept"], "of mallory: %v", decisions["mallory"])
	require.Greater(t, decisions["mallory"]["reject"], tries/2, "of mallory: %v", decisions["mallory"])

	w.Server.post(t, "/api/v1/subjects/"+user+"/revoke", nil).is(200)
	gone := w.Server.post(t, "/auth", phraseTimings(user, ada)).is(200)
	require.Equal(t, "reject", gone.string("decision"))
	require.Equal(t, []string{"subject_revoked"}, gone.strings("reason_codes"))
	w.Server.post(t, "/enrol", withConsent(phraseTimings(user, ada))).problem(409, "subject_revoked")
	w.Server.post(t, "/v2/sessions/start", object{"user_id": user, "device_id": "d"}).problem(409, "subject_revoked")
}

func TestLegacyEnrolRequiresConsentAndOnePhrase(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	user, ada := "user-"+unique(), typist("ada of consent")
	w.Server.post(t, "/enrol", phraseTimings(user, ada)).problem(403, "consent_required")
	refusing := phraseTimings(user, ada)
	refusing["consent"] = false
	w.Server.post(t, "/enrol", refusing).problem(403, "consent_required")
	w.Server.get(t, "/api/v1/subjects/"+user).problem(404, "not_found")

	w.Server.post(t, "/enrol", withConsent(phraseTimings(user, ada))).is(200)
	shorter := withConsent(phraseTimings(user, ada))
	shorter["keystroke_intervals"] = []float64{100, 120}
	require.Equal(t, []string{`["body","keystroke_intervals"] value_error`}, w.Server.post(t, "/enrol", shorter).faults())
	shorter = withConsent(phraseTimings(user, ada))
	shorter["reaction_times"] = []float64{100}
	require.Equal(t, []string{`["body","reaction_times"] value_error`}, w.Server.post(t, "/enrol", shorter).faults())
}

func TestLegacyOperationsIsolateTenants(t *testing.T) {
	t.Parallel()
	mine, others := newTenant(t), newTenant(t)
	user, ada := "user-"+unique(), typist("ada among tenants")
	mine.Sandbox.Server.post(t, "/enrol", withConsent(phraseTimings(user, ada))).is(200)
	session := mine.Sandbox.startLegacy(t, user)
	for _, c := range []caller{others.Sandbox.Server, mine.Live.Server} {
		c.get(t, "/v2/trust/"+session).problem(404, "not_found")
		c.post(t, "/v2/ingest", object{"session_id": session, "frames": legacyFrames(ada, "score", 1)}).problem(404, "not_found")
		c.post(t, "/v2/sessions/end", object{"session_id": session}).problem(404, "not_found")
		c.post(t, "/auth", phraseTimings(user, ada)).problem(404, "not_found")
	}
	require.Equal(t, "LEARNING", mine.Sandbox.Server.get(t, "/v2/trust/"+session).is(200).string("state"))
	live := mine.Live.Server.post(t, "/v2/sessions/start", object{"user_id": user, "device_id": "d"}).is(201)
	require.Equal(t, "live", live.string("mode"))
}
