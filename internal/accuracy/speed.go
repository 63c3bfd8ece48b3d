package accuracy

import (
	"time"

	"github.com/countersign-dev/countersign/internal/recordings"
	"github.com/countersign-dev/countersign/internal/scoring"
)

// runSpeed times the service's own calls on recorded frames: one frame into a session with a full window, and training.
func runSpeed(e *env, set recordings.Set) error {
	people, err := e.readTypists(set)
	if err != nil {
		return err
	}
	if people = having(people, enrolDays+1, 200); len(people) < 2 {
		return errUnfit
	}
	m := e.opt.Model
	subjects := enrolAll(m, people[:2])
	frames := subjects[0].later[0]
	play(m, subjects[0].templates, frames)
	const rounds = 20
	start := time.Now()
	for range rounds {
		play(m, subjects[0].templates, frames)
	}
	f := Figure{Protocol: "speed", Set: set.Name, Case: "104 cells, one core"}
	e.plain(f, "add a frame and assess", "ms", time.Since(start).Seconds()*1000/float64(rounds*len(frames)), "target < 1 ms")
	var sessions []scoring.SessionFrames
	for _, events := range people[0].sessions[:enrolDays] {
		var s scoring.SessionFrames
		for _, shot := range shots(events, frameKeys, 10) {
			s.Frames = append(s.Frames, shot.frame)
		}
		sessions = append(sessions, s)
	}
	start = time.Now()
	for range rounds {
		if _, _, err := m.Train(sessions, scoring.TrainOptions{Device: scoring.Desktop}); err != nil {
			return err
		}
	}
	e.plain(f, "train a template", "ms", time.Since(start).Seconds()*1000/rounds, "target < 5 ms")
	return nil
}
