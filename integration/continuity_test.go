package integration_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/behavior/features"
	"github.com/countersign-dev/countersign/internal/behavior/synthetic"
)

// scrollFrame is a frame that contains only scrolling.
func scrollFrame(seed uint64) features.Frame {
	rng := rand.New(rand.NewPCG(seed, 1))
	var events []features.ScrollEvent
	for at := 200.0; at < 18_000; at += 900 + 900*rng.Float64() {
		for k := range 4 {
			events = append(events, features.ScrollEvent{T: at + float64(k)*40, DY: 100})
		}
	}
	return features.Extract(features.Raw{Scroll: events})
}

// typingSession is a session of an enrolled typist, on an API whose clock the test advances.
type typingSession struct {
	world
	clock            *movableClock
	who              *synthetic.Typist
	subject, session string
	frames           int
}

// newTypingSession enrolls a typist and types until operator_continuity is confirmed.
func newTypingSession(t *testing.T, name string) *typingSession {
	t.Helper()
	w := newSandbox(t)
	who := typist(name)
	d := &typingSession{world: w, who: who, subject: w.enrolled(t, who)}
	var base string
	d.clock, base = replicaWithMovableClock(t)
	d.Server = d.Server.at(base)
	for day := 0; day < 8; day++ { // a typist is not confirmed every day
		d.session = d.Server.post(t, "/api/v1/sessions", object{"subject": d.subject, "device_class": "desktop"}).is(201).string("id")
		for range 6 {
			d.types(t)
		}
		if d.continuity(t)["status"] == "confirmed" {
			return d
		}
		who.NewDay()
	}
	require.Fail(t, "the typist was never confirmed")
	return nil
}

// send advances the clock by passed and submits a frame of the duration lasted.
func (d *typingSession) send(t *testing.T, f features.Frame, passed, lasted time.Duration) {
	t.Helper()
	d.clock.advance(passed)
	d.frames++
	ack := d.Server.post(t, "/api/v1/sessions/"+d.session+"/evidence", object{
		"frame_id": fmt.Sprint("frame-", d.frames), "timestamp": float64(d.clock.Now().UnixMilli()) / 1000, "duration_ms": lasted.Milliseconds(), "features": f,
	}).is(200)
	require.Equal(t, "accepted", ack.string("status"), "response: %s", ack.body)
}

// types submits a frame of the enrolled typist.
func (d *typingSession) types(t *testing.T) {
	t.Helper()
	d.send(t, d.who.Frame(frameKeys), frameMS*time.Millisecond, frameMS*time.Millisecond)
}

// continuity returns the session's operator_continuity claim.
func (d *typingSession) continuity(t *testing.T) object { return d.claim(t, "operator_continuity") }

func (d *typingSession) claim(t *testing.T, name string) object {
	t.Helper()
	claims, _ := d.Server.get(t, "/api/v1/sessions/"+d.session+"/assessment").is(200).value("claims").([]any)
	for _, c := range claims {
		if o, ok := c.(object); ok && o["claim"] == name {
			return o
		}
	}
	require.Fail(t, "no claim "+name)
	return nil
}

// authorize requests a decision at the time of the session's clock.
func (d *typingSession) authorize(t *testing.T, action string) response {
	t.Helper()
	body := request(d.subject, action)
	body["requested_at"] = d.clock.Now().Unix()
	return d.Server.post(t, "/api/v1/authorize", body).is(200)
}

// The enrolled typist leaves and another person only scrolls. The typing supports a decision for a limited time, whatever
// freshness the policy allows.
func TestContinuityDecaysWithoutTyping(t *testing.T) {
	t.Parallel()
	d := newTypingSession(t, "ada who leaves the desk")
	policy := func(minimum string, more object) string {
		base := object{"claims": object{"operator_continuity": minimum}, "coverage_min": "partial", "freshness_max_ms": 3_600_000}
		_, key := d.action(t, "enforce", with(base, more))
		return key
	}
	confirmed, likely := policy("confirmed", nil), policy("likely", nil)
	held := policy("likely", object{"hold_on": []string{"activity_unattributed"}})
	denied := policy("likely", object{"deny_on": []string{"activity_unattributed"}})
	for _, key := range []string{confirmed, likely, held, denied} {
		require.Equal(t, "allow", d.authorize(t, key).string("decision"))
	}
	for n := range 80 { // forty minutes
		d.send(t, scrollFrame(uint64(n)), 30*time.Second, 20*time.Second)
		passed := time.Duration(n+1) * 30 * time.Second
		switch passed {
		case time.Minute:
			claim := d.continuity(t)
			require.Equal(t, "likely", claim["status"])
			require.Contains(t, claim["reason_codes"], "activity_unattributed")
			require.Equal(t, "challenge", d.authorize(t, confirmed).string("decision"))
			require.Equal(t, "allow", d.authorize(t, likely).string("decision"))
			require.Equal(t, "hold", d.authorize(t, held).string("decision"))
			require.Equal(t, "deny", d.authorize(t, denied).string("decision"))
		case 3 * time.Minute:
			require.Equal(t, "uncertain", d.continuity(t)["status"])
			require.Equal(t, "challenge", d.authorize(t, likely).string("decision"))
			trust := d.Server.get(t, "/v2/trust/"+d.session).is(200)
			require.Equal(t, "WATCH", trust.string("state"))
		case 11 * time.Minute, 40 * time.Minute:
			claim := d.continuity(t)
			require.Equal(t, "insufficient_evidence", claim["status"])
			require.Contains(t, claim["reason_codes"], "evidence_stale")
			answered := d.authorize(t, likely)
			require.Equal(t, "challenge", answered.string("decision"))
			require.Nil(t, answered.value("proof"))
		}
	}
	for range 3 {
		d.types(t)
	}
	require.Equal(t, "allow", d.authorize(t, likely).string("decision"), "typing restores continuity")
}

// The durations that frames report count if they exceed the time that has passed.
func TestContinuityCountsReportedActivity(t *testing.T) {
	t.Parallel()
	for name, lasted := range map[string]time.Duration{"by durations": 30 * time.Second, "by time": 19 * time.Second} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newTypingSession(t, "ada at once "+name)
			want := map[int]string{0: "confirmed", 1: "likely", 3: "likely", 4: "uncertain"}
			for n := range 6 {
				passed := 30 * time.Second
				if lasted >= passed {
					passed = 0
				}
				d.send(t, scrollFrame(uint64(n)), passed, lasted)
				if status, ok := want[n]; ok {
					require.Equal(t, status, d.continuity(t)["status"], "after %d frames", n+1)
				}
			}
			d.types(t)
			require.Contains(t, []string{"confirmed", "likely"}, d.continuity(t)["status"])
			require.NotContains(t, d.continuity(t)["reason_codes"], "activity_unattributed")
		})
	}
}

// freshness_max_ms applies to the claims that a policy requires, and the response names those that are too old.
func TestFreshnessIsCheckedPerRequiredClaim(t *testing.T) {
	t.Parallel()
	d := newTypingSession(t, "ada who is asked late")
	_, continuity := d.action(t, "enforce", object{"claims": object{"operator_continuity": "likely"}})
	_, presence := d.action(t, "enforce", object{"claims": object{"human_presence": "likely", "operator_continuity": "likely"}})
	_, none := d.action(t, "enforce", object{"coverage_min": "partial"})
	d.clock.advance(40 * time.Second)
	d.send(t, scrollFrame(1), 22*time.Second, 20*time.Second)

	profile := d.Server.get(t, "/api/v1/sessions/"+d.session+"/assessment").is(200)
	require.Less(t, profile.value("freshness_ms"), 30_000.0, "the freshness of the profile is that of the newest frame")
	for _, name := range []string{"operator_continuity", "human_presence", "automation", "evidence_replay", "operator_change"} {
		require.GreaterOrEqual(t, d.claim(t, name)["freshness_ms"], 62_000.0, name)
	}
	require.Nil(t, d.claim(t, "agent_mandate")["freshness_ms"])

	late := d.authorize(t, continuity)
	require.Equal(t, "challenge", late.string("decision"))
	require.Equal(t, []any{"freshness_exceeded", "operator_continuity_too_old"}, late.value("reason_codes"))
	stored := d.Server.get(t, "/api/v1/authorizations/"+late.string("id")).is(200)
	row := explained(t, stored, "freshness")
	require.Equal(t, "at most 60000 ms", row["wanted"])
	require.Regexp(t, `^operator_continuity: \d+ ms$`, row["found"])
	require.Equal(t, false, row["passed"])
	both := d.authorize(t, presence)
	require.Equal(t, []any{"freshness_exceeded", "human_presence_too_old", "operator_continuity_too_old"}, both.value("reason_codes"))
	require.Equal(t, "allow", d.authorize(t, none).string("decision"), "without a required claim the freshness of the profile applies")

	d.types(t)
	require.Equal(t, "allow", d.authorize(t, continuity).string("decision"))

	only := d.Server.post(t, "/api/v1/sessions", object{"subject": d.subject, "device_class": "desktop"}).is(201).string("id")
	d.session = only
	d.send(t, scrollFrame(2), 0, 20*time.Second)
	for _, name := range []string{"operator_continuity", "human_presence", "automation", "evidence_replay"} {
		require.Nil(t, d.claim(t, name)["freshness_ms"], "%s: no evidence of this claim", name)
	}
}

func explained(t *testing.T, a response, requirement string) object {
	t.Helper()
	rows, _ := a.value("explanation").([]any)
	for _, r := range rows {
		if row, ok := r.(object); ok && row["requirement"] == requirement {
			return row
		}
	}
	require.Fail(t, "no explanation of "+requirement)
	return nil
}
