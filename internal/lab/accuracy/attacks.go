package accuracy

import (
	"fmt"
	"math/rand/v2"

	"github.com/countersign-dev/countersign/internal/behavior/features"
	"github.com/countersign-dev/countersign/internal/behavior/scoring"
	"github.com/countersign-dev/countersign/internal/behavior/synthetic"
	"github.com/countersign-dev/countersign/internal/lab/recordings"
)

const (
	// frames of each person and attack: what the service sees in half a minute of
	// typing
	attackFrames = 3
	// at most; a set with more people adds time and no precision
	attackPeople = 400
)

// runAttacks plays three frames of people and of programs that type the same texts,
// and counts whom the service takes for a program: false positives (BPCER) and
// missed attacks (APCER, ISO/IEC 30107-3). If people come back on other days, it
// also counts how often an attack is trusted as the enrolled person.
func runAttacks(e *env, set recordings.Set) error {
	people, err := e.readTypists(set)
	if err != nil {
		return err
	}
	if len(attackTexts(people)) < 10 {
		return errUnfit
	}
	folds, err := e.keyFolds(set, people)
	if err != nil {
		return err
	}
	people = pick(people, folds[0].tested) // one model plays every attack
	texts, m := attackTexts(people), scoring.NewModel(folds[0].bg)
	human := Figure{Protocol: "attacks", Set: set.Name, Case: "people"}
	verdicts := make([][]verdict, len(texts))
	parallel(len(texts), func(i int) { verdicts[i] = play(m, nil, extractAll(texts[i])) })
	e.share(human, "flagged as automation in 3 frames (BPCER)", flagged(verdicts), "target <= 1 %")
	e.share(human, "flagged as replay in 3 frames", replayed(verdicts), "")
	e.share(human, "presence doubted after 3 frames", doubted(verdicts), "")
	returning := having(people, enrolDays+1, 200)
	trained := enrolAll(m, returning)
	if len(trained) >= 10 {
		reportReplay(e, m, set.Name, returning, trained)
	}
	for k, attack := range synthetic.Attacks() {
		caught := make([][]verdict, len(texts))
		parallel(len(texts), func(i int) {
			rng := rand.New(rand.NewPCG(e.opt.Seed+uint64(i), uint64(k)))
			caught[i] = play(m, nil, extractAll(attackOn(rng, attack, texts[i])))
		})
		note := "target >= 98 %"
		if attack.Informed {
			note = "varies its times with the keys; no target"
		}
		e.share(Figure{Protocol: "attacks", Set: set.Name, Case: attack.Name}, "caught as automation in 3 frames", flagged(caught), note)
		e.share(Figure{Protocol: "attacks", Set: set.Name, Case: attack.Name}, "presence doubted or refused after 3 frames", doubted(caught), "")
		if len(trained) >= 10 {
			reportImpersonation(e, m, set.Name, func(int) synthetic.Attack { return attack }, returning, trained)
		}
	}
	if len(trained) >= 10 {
		reportLearned(e, m, set.Name, returning, trained)
	}
	return e.ctx.Err()
}

// attackTexts returns three frames of each person. Where sessions are short, each
// frame is from a session of its own. People with fewer frames are left out.
func attackTexts(people []typist) [][][]features.KeyEvent {
	var out [][][]features.KeyEvent
	for _, p := range people {
		var frames [][]features.KeyEvent
		for _, s := range p.sessions {
			for _, part := range cut(s, frameKeys) {
				if len(part) >= 30 && len(frames) < attackFrames {
					frames = append(frames, part)
				}
			}
		}
		if len(frames) == attackFrames && len(out) < attackPeople {
			out = append(out, frames)
		}
	}
	return out
}

// attackOn applies the attack to each frame of a text. The same rng state gives the
// same attack.
func attackOn(rng *rand.Rand, attack synthetic.Attack, text [][]features.KeyEvent) [][]features.KeyEvent {
	var out [][]features.KeyEvent
	for _, part := range text {
		out = append(out, attack.Make(rng, part))
	}
	return out
}

func extractAll(parts [][]features.KeyEvent) []shot {
	var out []shot
	for _, part := range parts {
		out = append(out, shots(part, len(part), 1)...)
	}
	return out
}

// flagged reports for each trial whether automation was detected in any frame.
func flagged(trials [][]verdict) [][]bool {
	return anyVerdict(trials, func(v verdict) bool { return v.automation == scoring.Detected })
}

// replayed reports for each trial whether a replay was detected in any frame.
func replayed(trials [][]verdict) [][]bool {
	return anyVerdict(trials, func(v verdict) bool { return v.replay == scoring.Detected })
}

// doubted reports for each trial whether, after the last frame, the presence of a
// person is rated below likely.
func doubted(trials [][]verdict) [][]bool {
	out := make([][]bool, len(trials))
	for i, t := range trials {
		out[i] = []bool{!trusted(t[len(t)-1].presence)}
	}
	return out
}

// anyVerdict reports for each trial whether any of its verdicts is a hit. Each
// trial is a group of its own, because each is of a different person.
func anyVerdict(trials [][]verdict, hit func(verdict) bool) [][]bool {
	out := make([][]bool, len(trials))
	for i, t := range trials {
		found := false
		for _, v := range t {
			found = found || hit(v)
		}
		out[i] = []bool{found}
	}
	return out
}

// reportImpersonation plays the attack with recordings of the victim's later
// sessions against the victim's template: the worst case, in which the attacker has
// recorded the victim's own typing.
func reportImpersonation(e *env, m *scoring.Model, set string, attack func(person int) synthetic.Attack, people []typist, trained []subject) {
	confirmed, trustedBy := make([][]bool, len(people)), make([][]bool, len(people))
	parallel(len(people), func(i int) {
		rng := rand.New(rand.NewPCG(e.opt.Seed+uint64(i), 99))
		for _, session := range people[i].sessions[enrolDays:] {
			parts := cut(session, frameKeys)
			vs := play(m, trained[i].templates, extractAll(attackOn(rng, attack(i), parts[:min(5, len(parts))])))
			end := vs[len(vs)-1].continuity
			confirmed[i] = append(confirmed[i], end == scoring.Confirmed)
			trustedBy[i] = append(trustedBy[i], trusted(end))
		}
	})
	f := Figure{Protocol: "attacks", Set: set, Case: attack(0).Name}
	e.share(f, "confirmed as the victim after 5 frames", confirmed, "")
	e.share(f, "confirmed or likely as the victim after 5 frames", trustedBy, "")
}

// reportLearned plays programs that know the victim from the sessions of the
// enrollment and imitate later ones.
func reportLearned(e *env, m *scoring.Model, set string, people []typist, trained []subject) {
	learned := make([][]synthetic.Attack, len(people))
	for i, p := range people {
		learned[i] = synthetic.Learned(p.sessions[:enrolDays])
	}
	for k := range learned[0] {
		reportImpersonation(e, m, set, func(i int) synthetic.Attack { return learned[i][k] }, people, trained)
	}
}

// reportReplay sends enrollment frames a second time with jitter, after training,
// so that the template knows them. The replay attack of runAttacks is different:
// its recordings were made elsewhere and the template has never seen them.
func reportReplay(e *env, m *scoring.Model, set string, people []typist, trained []subject) {
	for _, ms := range []float64{0, 1, 5, 10, 20} {
		attack := synthetic.Replay(ms)
		caught := make([][]bool, len(people))
		parallel(len(people), func(i int) {
			rng := rand.New(rand.NewPCG(e.opt.Seed+uint64(i), 7))
			for _, part := range cut(people[i].sessions[enrolDays-1], frameKeys) {
				vs := play(m, trained[i].templates, extractAll(attackOn(rng, attack, [][]features.KeyEvent{part})))
				caught[i] = append(caught[i], vs[0].replay == scoring.Detected)
			}
		})
		e.share(Figure{Protocol: "attacks", Set: set, Case: fmt.Sprintf("enrolled frame replayed, %g ms jitter", ms)}, "caught as replay", caught, "")
	}
}
