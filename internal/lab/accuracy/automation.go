package accuracy

import (
	"math/rand/v2"

	"github.com/countersign-dev/countersign/internal/behavior/features"
	"github.com/countersign-dev/countersign/internal/behavior/scoring"
	"github.com/countersign-dev/countersign/internal/behavior/synthetic"
	"github.com/countersign-dev/countersign/internal/lab/recordings"
)

// runAutomation plays labelled pointer sessions through the service and counts how
// often each is taken for a program. The rules are fixed, so nothing is trained on
// the set's training split, and both splits are reported. An unlabelled set of
// people measures false positives only, beside simulated programs.
func runAutomation(e *env, set recordings.Set) error {
	sessions, err := e.readPointers(set)
	if err != nil {
		return err
	}
	bySplit := map[string][]recordings.PointerSession{}
	for _, s := range sessions {
		if s.Label == "human" || s.Label == "bot" {
			bySplit[s.Split] = append(bySplit[s.Split], s)
		}
	}
	for _, split := range []string{"train", "test", ""} {
		if len(bySplit[split]) > 0 {
			reportAutomation(e, set.Name, split, bySplit[split])
		}
	}
	if len(bySplit) > 0 {
		return nil
	}
	if len(movers(sessions)) < 10 {
		return errUnfit
	}
	reportAutomation(e, set.Name, "people only", sessions)
	reportPointerAttacks(e, set.Name)
	return nil
}

const (
	// sessions of each simulated program
	attackSessions = 60
	// length of such a session, in milliseconds
	attackSessionMS = 60_000
)

// reportPointerAttacks plays a minute of each simulated program. Simulated programs
// need no recordings; the people of the set are the ones who must not be flagged.
func reportPointerAttacks(e *env, set string) {
	for k, attack := range synthetic.PointerAttacks() {
		caught := make([][]bool, attackSessions)
		parallel(attackSessions, func(i int) {
			rng := rand.New(rand.NewPCG(e.opt.Seed+uint64(i), uint64(k)))
			caught[i] = []bool{flaggedPointer(e, attack.Make(rng, attackSessionMS))}
		})
		e.share(Figure{Protocol: "automation", Set: set, Case: "made-up programs"}, attack.Name+" caught in a minute", caught, "")
	}
}

// flaggedPointer reports whether the service takes a session for a program after
// any of its frames.
func flaggedPointer(e *env, events []features.PointerEvent) bool {
	var frames []shot
	for _, f := range byTime(events) {
		frames = append(frames, shot{features.Extract(features.Raw{Pointer: f}), max(span(f)/1000, 1)})
	}
	for _, v := range play(e.opt.Model, nil, frames) {
		if v.automation == scoring.Detected {
			return true
		}
	}
	return false
}

// reportAutomation reports the accuracy over sessions, the share of programs caught
// and the share of people flagged.
func reportAutomation(e *env, set, split string, sessions []recordings.PointerSession) {
	caught := make([]bool, len(sessions))
	parallel(len(sessions), func(i int) { caught[i] = flaggedPointer(e, sessions[i].Events) })
	var correct, bots, people [][]bool
	for i, s := range sessions {
		bot := s.Label == "bot"
		correct = append(correct, []bool{caught[i] == bot})
		if bot {
			bots = append(bots, []bool{caught[i]})
		} else {
			people = append(people, []bool{caught[i]})
		}
	}
	f := Figure{Protocol: "automation", Set: set, Case: "sessions, " + split}
	e.share(f, "correct", correct, "published 1.00, target 1.00")
	if len(bots) > 0 {
		e.share(f, "programs caught", bots, "")
	}
	e.share(f, "people flagged (BPCER)", people, "")
}
