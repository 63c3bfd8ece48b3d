package accuracy

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/countersign-dev/countersign/internal/behavior/scoring"
	"github.com/countersign-dev/countersign/internal/lab/recordings"
)

// strangerSeconds is how long the other person uses the session.
const strangerSeconds = 240

// silence is one way to use a session without typing.
type silence struct {
	name    string
	pointer bool // the owner's pointer is enrolled and was used before the take-over
	frames  func(w worker, rng *rand.Rand) []shot
}

// silences lists the ways; those with a mouse need pointer recordings (hands).
func silences(hands bool) []silence {
	scroll := func(_ worker, rng *rand.Rand) []shot {
		return several(strangerSeconds, func() shot { return scrolling(rng) })
	}
	mouse := func(w worker, _ *rand.Rand) []shot { return w.other }
	out := []silence{
		{"scroll only", false, scroll},
		{"paste only", false, func(_ worker, rng *rand.Rand) []shot {
			return several(strangerSeconds, func() shot { return pasting(rng) })
		}},
	}
	if hands {
		out = append(out, silence{"mouse only, no pointer template", false, mouse}, silence{"mouse only, pointer template", true, mouse},
			silence{"scroll only, pointer template", true, scroll})
	}
	return out
}

// runTakeOver lets the owner type five frames and another person continue without a
// key press, in each way. Only sessions in which the owner was trusted count.
func runTakeOver(e *env, set recordings.Set) error {
	all, err := e.workers(set)
	if err != nil {
		return err
	}
	for k, way := range silences(len(all[0].pointing) > 0) {
		trials := make([][]takeOver, len(all))
		parallel(len(all), func(i int) {
			rng := rand.New(rand.NewPCG(e.opt.Seed+uint64(i), uint64(k)))
			for _, typing := range all[i].later {
				if len(typing) >= takeOverAfter && e.ctx.Err() == nil {
					trials[i] = append(trials[i], all[i].takenOver(way, typing, rng))
				}
			}
		})
		reportSilence(e, Figure{Protocol: "take-over", Set: set.Name, Case: way.name}, trials)
	}
	return e.ctx.Err()
}

// takeOver has the status at the end of the owner's part, and the verdicts of the
// other person's part.
type takeOver struct {
	before scoring.Status
	after  []verdict // seconds count from the take-over
}

// takenOver plays one session that is taken over. Its verdicts count seconds from
// the take-over.
func (w worker) takenOver(way silence, typing []shot, rng *rand.Rand) takeOver {
	templates := w.typing
	var frames []shot
	for k, f := range typing[:takeOverAfter] {
		frames = append(frames, f)
		if way.pointer && k < len(w.own) {
			frames = append(frames, w.own[k])
		}
	}
	if way.pointer {
		templates = slices.Concat(templates, w.pointing)
	}
	owner := len(frames)
	out := play(w.model, templates, append(frames, way.frames(w, rng)...))
	t := takeOver{before: out[owner-1].continuity, after: out[owner:]}
	for k := range t.after {
		t.after[k].seconds -= lasting(frames)
	}
	return t
}

// still reports whether the status is a hit at any time from so many seconds after
// the take-over on.
func (t takeOver) still(hit func(scoring.Status) bool, seconds float64) bool {
	const rounding = .5
	return slices.ContainsFunc(t.after, func(v verdict) bool { return v.seconds >= seconds-rounding && hit(v.continuity) })
}

// reportSilence reports for how long a session stays confirmed, or trusted, after
// the take-over.
func reportSilence(e *env, f Figure, trials [][]takeOver) {
	count := func(hit func(scoring.Status) bool, seconds float64) [][]bool {
		out := make([][]bool, len(trials))
		for i, person := range trials {
			for _, t := range person {
				if hit(t.before) {
					out[i] = append(out[i], t.still(hit, seconds))
				}
			}
		}
		return out
	}
	confirmed := func(s scoring.Status) bool { return s == scoring.Confirmed }
	target := map[float64]string{60: "target 0 %"}
	for _, s := range []float64{20, 40, 60} {
		e.share(f, fmt.Sprintf("confirmed after %g s or later", s), count(confirmed, s), target[s])
	}
	target = map[float64]string{180: "target 0 %"}
	for _, s := range []float64{60, 120, 180} {
		e.share(f, fmt.Sprintf("confirmed or likely after %g s or later", s), count(trusted, s), target[s])
	}
}
