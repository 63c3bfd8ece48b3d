package accuracy

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/countersign-dev/countersign/internal/behavior/scoring"
	"github.com/countersign-dev/countersign/internal/lab/recordings"
)

// Honest mixed work: frames typed, a time of reading, frames typed again.
const (
	mixedBefore = 3
	mixedAfter  = 2
)

// readings are how long people read, in seconds.
var readings = []float64{30, 60, 120, 300}

// runMixed lets people type, read and type again, and reports the trust they lose
// by reading: during it, and once they have typed again. The same typing without
// reading is the control, because trust varies without it too.
func runMixed(e *env, set recordings.Set) error {
	all, err := e.workers(set)
	if err != nil {
		return err
	}
	ways := []bool{false}
	if len(all[0].pointing) > 0 {
		ways = append(ways, true)
	}
	for _, pointer := range ways {
		for _, seconds := range readings {
			trials := make([][]mixedWork, len(all))
			parallel(len(all), func(i int) {
				rng := rand.New(rand.NewPCG(e.opt.Seed+uint64(i), uint64(seconds)))
				for _, typing := range all[i].later {
					if len(typing) >= mixedBefore+mixedAfter && e.ctx.Err() == nil {
						trials[i] = append(trials[i], all[i].mixed(typing, seconds, pointer, rng))
					}
				}
			})
			name := "scrolls"
			if pointer {
				name = "scrolls and moves the mouse, pointer template"
			}
			reportMixed(e, Figure{Protocol: "mixed", Set: set.Name, Case: fmt.Sprintf("%s for %g s", name, seconds)}, trials)
		}
	}
	return e.ctx.Err()
}

// mixedWork has the status of one session before reading, at the end of reading,
// after each frame typed since, and after the same frames without reading.
type mixedWork struct {
	before, read   scoring.Status
	again, control [mixedAfter]scoring.Status
}

// mixed plays one session with reading and one without. With pointer, half of the
// frames of reading are of the person's own mouse and the rest are of scrolling.
func (w worker) mixed(typing []shot, seconds float64, pointer bool, rng *rand.Rand) mixedWork {
	templates, own := w.typing, []shot(nil)
	if pointer {
		templates, own = slices.Concat(w.typing, w.pointing), w.own
	}
	before, after := typing[:mixedBefore], typing[mixedBefore:mixedBefore+mixedAfter]
	reading := several(seconds, func() shot {
		if len(own) > 0 && rng.IntN(2) == 0 {
			next := own[0]
			own = own[1:]
			return next
		}
		return scrolling(rng)
	})
	with := play(w.model, templates, slices.Concat(before, reading, after))
	without := play(w.model, templates, slices.Concat(before, after))
	out := mixedWork{before: with[mixedBefore-1].continuity, read: with[mixedBefore+len(reading)-1].continuity}
	for k := range mixedAfter {
		out.again[k], out.control[k] = with[mixedBefore+len(reading)+k].continuity, without[mixedBefore+k].continuity
	}
	return out
}

// reportMixed reports losses among the sessions that had the trust in question
// before reading.
func reportMixed(e *env, f Figure, trials [][]mixedWork) {
	count := func(had func(scoring.Status) bool, lost func(mixedWork) bool) [][]bool {
		out := make([][]bool, len(trials))
		for i, person := range trials {
			for _, t := range person {
				if had(t.before) {
					out[i] = append(out[i], lost(t))
				}
			}
		}
		return out
	}
	confirmed := func(s scoring.Status) bool { return s == scoring.Confirmed }
	e.share(f, "confirmed before, not at the end of reading", count(confirmed, func(t mixedWork) bool { return !confirmed(t.read) }), "")
	e.share(f, "trusted before, not at the end of reading", count(trusted, func(t mixedWork) bool { return !trusted(t.read) }), "")
	for k := range mixedAfter {
		again := []string{"one frame typed again", "two frames typed again"}[k]
		for _, had := range []struct {
			name   string
			status func(scoring.Status) bool
			target string
		}{{"confirmed", confirmed, ""}, {"trusted", trusted, "target <= 2 %"}} {
			e.share(f, had.name+" before, not after "+again+" without the reading",
				count(had.status, func(t mixedWork) bool { return !had.status(t.control[k]) }), "")
			e.share(f, had.name+" before, lost by the reading after "+again,
				count(had.status, func(t mixedWork) bool { return had.status(t.control[k]) && !had.status(t.again[k]) }), had.target)
		}
	}
}
