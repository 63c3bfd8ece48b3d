package integration_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/behavior/features"
	"github.com/countersign-dev/countersign/internal/behavior/synthetic"
	"github.com/countersign-dev/countersign/internal/platform/clock"
)

// movable is the machine's clock, which a test moves ahead.
type movable struct{ ahead atomic.Int64 }

func (m *movable) Now() time.Time { return clock.System().Now().Add(time.Duration(m.ahead.Load())) }

func (m *movable) move(d time.Duration) { m.ahead.Add(int64(d)) }

// moved is an API on the shared data that goes by a clock of the test's own.
func moved(t *testing.T) (*movable, string) {
	t.Helper()
	c := &movable{}
	p, l, err := shared.process(t.Context(), c)
	require.NoError(t, err)
	stop, err := p.StartAPI(context.WithoutCancel(t.Context()), make(chan error, 2), l.api)
	require.NoError(t, err)
	require.NoError(t, l.ops.Close())
	t.Cleanup(func() {
		stop()
		p.Close()
		p.Core.Close()
	})
	return c, "http://" + l.api.Addr().String()
}

// scrolls is a frame of scrolling and nothing else.
func scrolls(seed uint64) features.Frame {
	rng := rand.New(rand.NewPCG(seed, 1))
	var events []features.ScrollEvent
	for at := 200.0; at < 18_000; at += 900 + 900*rng.Float64() {
		for k := range 4 {
			events = append(events, features.ScrollEvent{T: at + float64(k)*40, DY: 100})
		}
	}
	return features.Extract(features.Raw{Scroll: events})
}

// desk is a session of an enrolled user, on an API with a clock that the test moves.
type desk struct {
	world
	clock            *movable
	who              *synthetic.Typist
	subject, session string
	frames           int
}

// seated enrolls a typist and has the typing of a session confirmed.
func seated(t *testing.T, name string) *desk {
	t.Helper()
	w := newSandbox(t)
	who := typist(name)
	d := &desk{world: w, who: who, subject: w.enrolled(t, who)}
	var base string
	d.clock, base = moved(t)
	d.Server = d.Server.at(base)
	for day := 0; day < 8; day++ { // not every day of a person is confirmed
		d.session = d.Server.post(t, "/api/v1/sessions", object{"subject": d.subject, "device_class": "desktop"}).is(201).string("id")
		for range 6 {
			d.types(t)
		}
		if d.continuity(t)["status"] == "confirmed" {
			return d
		}
		who.NewDay()
	}
	require.Fail(t, "the owner was never confirmed")
	return nil
}

// send lets time pass and sends a frame that lasted so long.
func (d *desk) send(t *testing.T, f features.Frame, passed, lasted time.Duration) {
	t.Helper()
	d.clock.move(passed)
	d.frames++
	ack := d.Server.post(t, "/api/v1/sessions/"+d.session+"/evidence", object{
		"frame_id": fmt.Sprint("frame-", d.frames), "timestamp": float64(d.clock.Now().UnixMilli()) / 1000, "duration_ms": lasted.Milliseconds(), "features": f,
	}).is(200)
	require.Equal(t, "accepted", ack.string("status"), "answered: %s", ack.body)
}

// types lets the owner type a frame.
func (d *desk) types(t *testing.T) {
	t.Helper()
	d.send(t, d.who.Frame(frameKeys), frameMS*time.Millisecond, frameMS*time.Millisecond)
}

// continuity is the session's operator_continuity.
func (d *desk) continuity(t *testing.T) object { return d.claim(t, "operator_continuity") }

func (d *desk) claim(t *testing.T, name string) object {
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

// ask authorizes at the desk's time.
func (d *desk) ask(t *testing.T, action string) answer {
	t.Helper()
	body := request(d.subject, action)
	body["requested_at"] = d.clock.Now().Unix()
	return d.Server.post(t, "/api/v1/authorize", body).is(200)
}

// The owner types and walks away; another person uses the session and only scrolls. What was typed carries a decision no
// longer than it can, whatever freshness the policy allows.
func TestContinuityDecaysWithoutTyping(t *testing.T) {
	t.Parallel()
	d := seated(t, "ada who walks away")
	policy := func(minimum string, more object) string {
		base := object{"claims": object{"operator_continuity": minimum}, "coverage_min": "partial", "freshness_max_ms": 3_600_000}
		_, key := d.action(t, "enforce", with(base, more))
		return key
	}
	confirmed, likely := policy("confirmed", nil), policy("likely", nil)
	held := policy("likely", object{"hold_on": []string{"activity_unattributed"}})
	denied := policy("likely", object{"deny_on": []string{"activity_unattributed"}})
	for _, key := range []string{confirmed, likely, held, denied} {
		require.Equal(t, "allow", d.ask(t, key).string("decision"))
	}
	for n := range 80 { // forty minutes
		d.send(t, scrolls(uint64(n)), 30*time.Second, 20*time.Second)
		passed := time.Duration(n+1) * 30 * time.Second
		switch passed {
		case time.Minute:
			claim := d.continuity(t)
			require.Equal(t, "likely", claim["status"])
			require.Contains(t, claim["reason_codes"], "activity_unattributed")
			require.Equal(t, "challenge", d.ask(t, confirmed).string("decision"))
			require.Equal(t, "allow", d.ask(t, likely).string("decision"))
			require.Equal(t, "hold", d.ask(t, held).string("decision"))
			require.Equal(t, "deny", d.ask(t, denied).string("decision"))
		case 3 * time.Minute:
			require.Equal(t, "uncertain", d.continuity(t)["status"])
			require.Equal(t, "challenge", d.ask(t, likely).string("decision"))
			trust := d.Server.get(t, "/v2/trust/"+d.session).is(200)
			require.Equal(t, "WATCH", trust.string("state"))
		case 11 * time.Minute, 40 * time.Minute:
			claim := d.continuity(t)
			require.Equal(t, "insufficient_evidence", claim["status"])
			require.Contains(t, claim["reason_codes"], "evidence_stale")
			answered := d.ask(t, likely)
			require.Equal(t, "challenge", answered.string("decision"))
			require.Nil(t, answered.value("proof"))
		}
	}
	for range 3 {
		d.types(t)
	}
	require.Equal(t, "allow", d.ask(t, likely).string("decision"), "typing brings it back")
}

// No clock needs to move: what frames say of their own length counts where it is longer.
func TestContinuityCountsReportedActivity(t *testing.T) {
	t.Parallel()
	for name, lasted := range map[string]time.Duration{"by durations": 30 * time.Second, "by time": 19 * time.Second} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := seated(t, "ada at once "+name)
			want := map[int]string{0: "confirmed", 1: "likely", 3: "likely", 4: "uncertain"}
			for n := range 6 {
				passed := 30 * time.Second
				if lasted >= passed {
					passed = 0
				}
				d.send(t, scrolls(uint64(n)), passed, lasted)
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

// freshness_max_ms is held against the claims a policy asks for, and the answer names the one that was too old.
func TestFreshnessIsCheckedPerRequiredClaim(t *testing.T) {
	t.Parallel()
	d := seated(t, "ada who is asked late")
	_, continuity := d.action(t, "enforce", object{"claims": object{"operator_continuity": "likely"}})
	_, presence := d.action(t, "enforce", object{"claims": object{"human_presence": "likely", "operator_continuity": "likely"}})
	_, none := d.action(t, "enforce", object{"coverage_min": "partial"})
	d.clock.move(40 * time.Second)
	d.send(t, scrolls(1), 22*time.Second, 20*time.Second)

	profile := d.Server.get(t, "/api/v1/sessions/"+d.session+"/assessment").is(200)
	require.Less(t, profile.value("freshness_ms"), 30_000.0, "the profile's is that of the newest frame")
	for _, name := range []string{"operator_continuity", "human_presence", "automation", "evidence_replay", "operator_change"} {
		require.GreaterOrEqual(t, d.claim(t, name)["freshness_ms"], 62_000.0, name)
	}
	require.Nil(t, d.claim(t, "agent_mandate")["freshness_ms"])

	late := d.ask(t, continuity)
	require.Equal(t, "challenge", late.string("decision"))
	require.Equal(t, []any{"freshness_exceeded", "operator_continuity_too_old"}, late.value("reason_codes"))
	stored := d.Server.get(t, "/api/v1/authorizations/"+late.string("id")).is(200)
	row := explained(t, stored, "freshness")
	require.Equal(t, "at most 60000 ms", row["wanted"])
	require.Regexp(t, `^operator_continuity: \d+ ms$`, row["found"])
	require.Equal(t, false, row["passed"])
	both := d.ask(t, presence)
	require.Equal(t, []any{"freshness_exceeded", "human_presence_too_old", "operator_continuity_too_old"}, both.value("reason_codes"))
	require.Equal(t, "allow", d.ask(t, none).string("decision"), "without a minimum the profile's freshness counts")

	d.types(t)
	require.Equal(t, "allow", d.ask(t, continuity).string("decision"))

	only := d.Server.post(t, "/api/v1/sessions", object{"subject": d.subject, "device_class": "desktop"}).is(201).string("id")
	d.session = only
	d.send(t, scrolls(2), 0, 20*time.Second)
	for _, name := range []string{"operator_continuity", "human_presence", "automation", "evidence_replay"} {
		require.Nil(t, d.claim(t, name)["freshness_ms"], "%s: nothing it could be told by has come", name)
	}
}

func explained(t *testing.T, a answer, requirement string) object {
	t.Helper()
	rows, _ := a.value("explanation").([]any)
	for _, r := range rows {
		if row, ok := r.(object); ok && row["requirement"] == requirement {
			return row
		}
	}
	require.Fail(t, "not explained: "+requirement)
	return nil
}

// amr says behaviour only where the behaviour of the person met a claim: not where a program typed, a challenge stood in, or
// coverage alone was asked for.
func TestProofAMRListsBehaviourOnlyForMetClaims(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	confirmed := func(subject, action string) []string {
		t.Helper()
		asked := w.authorize(t, subject, action, "challenge")
		done := w.Server.post(t, "/api/v1/challenges/"+asked.string("challenge.id")+"/complete", object{"method": "sandbox_confirm"}).is(200)
		return w.methods(t, w.Server.get(t, "/api/v1/authorizations/"+done.string("authorization")).is(200).string("proof.compact"))
	}
	program := func(subject string) {
		t.Helper()
		id := w.Server.post(t, "/api/v1/sessions", object{"subject": subject, "device_class": "desktop"}).is(201).string("id")
		const uniform = 4 // of the attacks: times that ignore the keys
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
	require.Equal(t, []string{"sandbox_confirm"}, confirmed(stranger, coverage), "never enrolled, and a program typed")
	require.Equal(t, []string{"sandbox_confirm"}, confirmed(stranger, continuity))

	ada := typist("ada of the methods")
	subject := w.enrolled(t, ada)
	w.session(t, subject, "score", ada, 5)
	require.Equal(t, []string{"behaviour"}, w.methods(t, w.authorize(t, subject, continuity, "allow").string("proof")))
	require.Equal(t, []string{}, w.methods(t, w.authorize(t, subject, coverage, "allow").string("proof")), "coverage is no behaviour of the person")
	program(subject)
	_, anybody := w.action(t, "enforce", object{"claims": object{"operator_continuity": "not_confirmed"}})
	require.NotContains(t, w.methods(t, w.authorize(t, subject, anybody, "allow").string("proof")), "behaviour", "a program typed in the session")
}
