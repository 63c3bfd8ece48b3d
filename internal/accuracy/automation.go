package accuracy

import (
	"github.com/countersign-dev/countersign/internal/features"
	"github.com/countersign-dev/countersign/internal/recordings"
	"github.com/countersign-dev/countersign/internal/scoring"
)

// runAutomation plays labelled pointer sessions through the service and asks whether each was taken for a program. The
// rules are fixed, so nothing is trained on the set's training split; both splits are shown.
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
	return nil
}

func reportAutomation(e *env, set, split string, sessions []recordings.PointerSession) {
	m := e.opt.Model
	caught := make([]bool, len(sessions))
	parallel(len(sessions), func(i int) {
		var frames []shot
		for _, f := range byTime(sessions[i].Events) {
			frames = append(frames, shot{features.Extract(features.Raw{Pointer: f}), max(span(f)/1000, 1)})
		}
		for _, v := range play(m, nil, frames) {
			caught[i] = caught[i] || v.automation == scoring.Detected
		}
	})
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
