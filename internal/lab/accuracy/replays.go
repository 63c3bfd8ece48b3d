package accuracy

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/countersign-dev/countersign/internal/behavior/features"
	"github.com/countersign-dev/countersign/internal/behavior/scoring"
	"github.com/countersign-dev/countersign/internal/lab/recordings"
)

// copyAttack sends what a person typed a second time. The frames of the copy need not begin where the captured ones did.
type copyAttack struct {
	name           string
	captured, sent int     // keys a frame
	skipped        int     // keys left out before the first frame
	jitterMS       float64 // standard deviation of the error added to every press and release, in milliseconds
}

// copies are the attacks without jitter; runReplays adds it.
var copies = []copyAttack{
	{"frames of 50 keys sent again", 50, 50, 0, 0},
	{"frames of 39 keys sent again", 39, 39, 0, 0},
	{"frames of 39 keys sent again, without the first", 39, 39, 39, 0},
	{"frames of 15 keys sent again", 15, 15, 0, 0},
	{"frames of 50 keys cut to 39", 50, 39, 0, 0},
	{"frames of 50 keys cut to 20", 50, 20, 0, 0},
	{"frames of 50 keys cut 25 keys later", 50, 50, 25, 0},
}

const (
	// people of a set that are played, at most
	replayPeople  = 60
	replayTargets = 3 // sessions of a person that are sent again
)

// runReplays sends everything a person typed, session by session, and counts the
// sessions in which the service detects a replay of the person's own typing; each
// one is a false positive. Then it sends sessions a second time, as copies.
func runReplays(e *env, set recordings.Set) error {
	people, err := e.readTypists(set)
	if err != nil {
		return err
	}
	if people = having(people, 2, 40); len(people) < fewest {
		return errUnfit
	}
	people = people[:min(len(people), replayPeople)]
	for _, c := range copies {
		for _, ms := range []float64{0, 1, 5, 10} {
			if err := e.ctx.Err(); err != nil {
				return err
			}
			c.jitterMS = ms
			c.report(e, set.Name, people)
		}
	}
	return nil
}

// report plays the sessions of people and then copies of their first ones, against everything typed before.
func (c copyAttack) report(e *env, set string, people []typist) {
	honest, first, second, fourth := make([][]bool, len(people)), make([][]bool, len(people)), make([][]bool, len(people)), make([][]bool, len(people))
	whole := make([][]bool, len(people))
	parallel(len(people), func(i int) {
		rng := rand.New(rand.NewPCG(e.opt.Seed+uint64(i), 11))
		var known scoring.Passages
		for _, s := range people[i].sessions {
			var at int
			known, at = playKnown(e.opt.Model, known, s, c.captured)
			honest[i] = append(honest[i], at > 0)
		}
		for _, s := range people[i].sessions[:min(len(people[i].sessions), replayTargets)] {
			if len(s) < c.skipped+c.sent {
				continue
			}
			again := jitteredKeys(rng, s[c.skipped:], c.jitterMS)
			_, at := playKnown(e.opt.Model, known, again, c.sent)
			hit := func(n int) bool { return at > 0 && (n == 0 || at <= n*50) }
			first[i], second[i], fourth[i] = append(first[i], hit(1)), append(second[i], hit(2)), append(fourth[i], hit(4))
			whole[i] = append(whole[i], hit(0))
		}
	})
	f := Figure{Protocol: "replays", Set: set, Case: fmt.Sprintf("%s, %g ms jitter", c.name, c.jitterMS)}
	if c.jitterMS == 0 {
		e.share(f, "sessions of people flagged", honest, "target 0 %")
	}
	e.share(f, "caught within 50 keys", first, "")
	e.share(f, "caught within 100 keys", second, "")
	e.share(f, "caught within 200 keys", fourth, "")
	e.share(f, "caught in the session", whole, "")
}

// playKnown plays a session against the stored passages of its person. It returns
// the passages stored afterwards, and after how many keys a replay was detected; 0
// if none was.
func playKnown(m *scoring.Model, known scoring.Passages, events []features.KeyEvent, keys int) (scoring.Passages, int) {
	s, at := scoring.NewState(scoring.Desktop), trialStart
	detected, typed := 0, 0
	for _, part := range cut(events, keys) {
		f := shots(part, len(part), 1)[0]
		took := time.Duration(f.seconds * float64(time.Second))
		at, typed = at.Add(took), typed+len(part)
		var ack scoring.Ack
		s, ack = m.Add(s, scoring.Input{Frame: f.frame, Timestamp: at, Duration: took + time.Second, Known: known}, nil, at)
		known = append(known, ack.Passage...)
		if detected == 0 && m.Assess(s, nil, at, scoring.AssessOptions{}).Claim(scoring.ClaimReplay).Status == scoring.Detected {
			detected = typed
		}
	}
	return known, detected
}

// jitteredKeys copies a recording and moves every press and release by a normal
// error with a standard deviation of ms milliseconds. The copy is sorted by press.
func jitteredKeys(rng *rand.Rand, keys []features.KeyEvent, ms float64) []features.KeyEvent {
	out := make([]features.KeyEvent, len(keys))
	for i, k := range keys {
		k.Press, k.Release = k.Press+ms*rng.NormFloat64(), k.Release+ms*rng.NormFloat64()
		k.Release = max(k.Release, k.Press+1)
		out[i] = k
	}
	slices.SortStableFunc(out, func(a, b features.KeyEvent) int {
		switch {
		case a.Press < b.Press:
			return -1
		case a.Press > b.Press:
			return 1
		}
		return 0
	})
	return out
}
