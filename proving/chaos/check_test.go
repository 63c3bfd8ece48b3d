package chaos_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/proving/chaos"
)

// kept is a run in which every promise was kept.
func kept() (*chaos.Journal, chaos.Facts) {
	j := &chaos.Journal{
		Asked: []chaos.Asked{
			{Key: "k1", Want: "allow", Answer: "one", ID: "a1", Decision: "allow", ProofID: "p1"},
			{Key: "k2", Want: "challenge", Answer: "two", ID: "a2", Decision: "challenge"},
			{Key: "k3", Want: "hold", Answer: "three", ID: "a3", Decision: "hold"},
			{Key: "k4", Want: "challenge", Answer: "four", ID: "a4", Decision: "challenge"},
			{Key: "k5", Want: "allow"}, // never returned
		},
		Completed: []chaos.Completed{{Challenge: "c2", Child: "a5"}},
		Cancelled: []string{"c4"},
		Reviewed:  []chaos.Reviewed{{Hold: "a3", Resolution: "approve"}},
		Consumed:  []string{"p1"},
		Taken:     []chaos.Taken{{Session: "s", Frame: "f"}},
		Misused:   []chaos.Misuse{{Name: "a tenant that floods", Effective: 5000, Asked: 20, Decided: 20}},
		Clocks:    []chaos.Clock{{Name: "clock of the api 7m0s", Refused: 80, Said: 7 * time.Minute, Asked: 20, Decided: 20}},
		Expired:   []chaos.Expired{{Opened: 200, Ended: true, Again: 401}},
	}
	f := chaos.Facts{
		Decisions: []chaos.Decision{
			{ID: "a1", Key: "k1", Decision: "allow", Answer: "one"}, {ID: "a2", Key: "k2", Decision: "challenge", Answer: "two"},
			{ID: "a3", Key: "k3", Decision: "hold", Answer: "three"}, {ID: "a4", Key: "k4", Decision: "challenge", Answer: "four"},
			{ID: "a5", Parent: "a2", Decision: "allow"}, {ID: "a6", Parent: "a3", Decision: "allow"},
		},
		Proofs:     map[string]string{"p1": "consumed"},
		Challenges: map[string]chaos.Settled{"c2": {Status: "completed", Child: "a5"}, "c4": {Status: "cancelled"}},
		Holds:      map[string]chaos.Settled{"a3": {Status: "approved", Child: "a6"}},
		Frames:     map[chaos.Taken]int{{Session: "s", Frame: "f"}: 1},
		Events:     map[string]chaos.Event{}, Sealed: map[string]int{}, Received: map[string][]string{},
		Waiting: map[string]int{"deliveries": 0}, Runs: map[string]int{"completed": 4},
	}
	for _, d := range f.Decisions {
		id := "evt-" + d.ID
		f.Events[id] = chaos.Event{Type: "authorization.decided", Authorization: d.ID, Public: true}
		f.Sealed[id], f.Received[id] = 1, []string{"body", "body"} // delivered twice with the same body
	}
	return j, f
}

func TestPromisesThatAreKept(t *testing.T) {
	t.Parallel()
	j, f := kept()
	require.Empty(t, chaos.Check(j, f))
}

func TestABrokenPromiseIsSeen(t *testing.T) {
	t.Parallel()
	for name, harm := range map[string]func(j *chaos.Journal, f *chaos.Facts){
		"a returned decision is lost":   func(_ *chaos.Journal, f *chaos.Facts) { f.Decisions = f.Decisions[1:] },
		"a key made two decisions":      func(_ *chaos.Journal, f *chaos.Facts) { f.Decisions = append(f.Decisions, f.Decisions[0]) },
		"an answer is stored otherwise": func(_ *chaos.Journal, f *chaos.Facts) { f.Decisions[0].Answer = "1" },
		"a decision is not what it was": func(j *chaos.Journal, _ *chaos.Facts) { j.Asked[0].Decision = "deny" },
		"no client asked":               func(j *chaos.Journal, _ *chaos.Facts) { j.Asked = j.Asked[1:] },
		"a proof is lost":               func(_ *chaos.Journal, f *chaos.Facts) { delete(f.Proofs, "p1") },
		"a proof was consumed twice":    func(j *chaos.Journal, _ *chaos.Facts) { j.Consumed = append(j.Consumed, "p1") },
		"a consumed proof is active":    func(_ *chaos.Journal, f *chaos.Facts) { f.Proofs["p1"] = "active" },
		"a completion is lost":          func(_ *chaos.Journal, f *chaos.Facts) { f.Challenges["c2"] = chaos.Settled{Status: "expired"} },
		"a completion led nowhere":      func(_ *chaos.Journal, f *chaos.Facts) { f.Challenges["c2"] = chaos.Settled{Status: "completed"} },
		"a cancelled one went on": func(_ *chaos.Journal, f *chaos.Facts) {
			f.Challenges["c4"] = chaos.Settled{Status: "cancelled", Child: "a5"}
		},
		"a challenge is open": func(_ *chaos.Journal, f *chaos.Facts) { f.Challenges["c9"] = chaos.Settled{Status: "open"} },
		"a hold is pending":   func(_ *chaos.Journal, f *chaos.Facts) { f.Holds["a9"] = chaos.Settled{Status: "pending"} },
		"a review is lost":    func(_ *chaos.Journal, f *chaos.Facts) { f.Holds["a3"] = chaos.Settled{Status: "rejected"} },
		"two reviews won": func(j *chaos.Journal, _ *chaos.Facts) {
			j.Reviewed = append(j.Reviewed, chaos.Reviewed{Hold: "a3", Resolution: "reject"})
		},
		"a hold was decided again twice": func(_ *chaos.Journal, f *chaos.Facts) {
			f.Decisions = append(f.Decisions, chaos.Decision{ID: "a7", Parent: "a3"})
		},
		"a frame is lost":                        func(_ *chaos.Journal, f *chaos.Facts) { clear(f.Frames) },
		"a decision is not in the log":           func(_ *chaos.Journal, f *chaos.Facts) { delete(f.Events, "evt-a5"); delete(f.Received, "evt-a5") },
		"an event is not sealed":                 func(_ *chaos.Journal, f *chaos.Facts) { delete(f.Sealed, "evt-a1") },
		"an event is sealed twice":               func(_ *chaos.Journal, f *chaos.Facts) { f.Sealed["evt-a1"] = 2 },
		"an event was not delivered":             func(_ *chaos.Journal, f *chaos.Facts) { delete(f.Received, "evt-a1") },
		"an event was delivered with two bodies": func(_ *chaos.Journal, f *chaos.Facts) { f.Received["evt-a1"] = []string{"a", "b"} },
		"an event was made up":                   func(_ *chaos.Journal, f *chaos.Facts) { f.Received["evt-x"] = []string{"a"} },
		"the chain is broken":                    func(_ *chaos.Journal, f *chaos.Facts) { f.Audit = "altered" },
		"the outbox is not empty":                func(_ *chaos.Journal, f *chaos.Facts) { f.Waiting["rows of the outbox"] = 1 },
		"a run goes on":                          func(_ *chaos.Journal, f *chaos.Facts) { f.Runs["running"] = 1 },
		"a run failed":                           func(_ *chaos.Journal, f *chaos.Facts) { f.Runs["failed"] = 1 },
		"a flood keeps decisions out":            func(j *chaos.Journal, _ *chaos.Facts) { j.Misused[0].Decided-- },
		"a flood that was none":                  func(j *chaos.Journal, _ *chaos.Facts) { j.Misused[0].Effective = 0 },
		"no request during a flood":              func(j *chaos.Journal, _ *chaos.Facts) { j.Misused[0].Asked, j.Misused[0].Decided = 0, 0 },
		"a stream outlives its key":              func(j *chaos.Journal, _ *chaos.Facts) { j.Expired[0].Ended = false },
		"an expired key opens a stream":          func(j *chaos.Journal, _ *chaos.Facts) { j.Expired[0].Again = 200 },
		"a good key opens no stream":             func(j *chaos.Journal, _ *chaos.Facts) { j.Expired[0].Opened = 503 },
		"a moved clock is not in the metric":     func(j *chaos.Journal, _ *chaos.Facts) { j.Clocks[0].Said = 0 },
		"a corrected clock has an effect":        func(j *chaos.Journal, _ *chaos.Facts) { j.Clocks[0].Decided-- },
		"a response that no fault allows":        func(j *chaos.Journal, _ *chaos.Facts) { j.Odd = []string{"authorize returned 500"} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j, f := kept()
			harm(j, &f)
			require.NotEmpty(t, chaos.Check(j, f))
		})
	}
}
