package accuracy

import (
	"fmt"
	"math"

	"github.com/countersign-dev/countersign/internal/behavior/scoring"
	"github.com/countersign-dev/countersign/internal/lab/recordings"
)

// The service-level protocol.
const (
	claimFrames    = 10   // frames of a session that are played
	claimFrom      = 3    // the frame from which the summary counts
	takeOverAfter  = 5    // genuine frames before somebody else takes over
	takeOverFrames = 5    // frames of the other
	maxImpostors   = 3000 // sessions of others played, over all targets
)

// subject is a tested person: templates from the early sessions, later sessions as frames.
type subject struct {
	templates scoring.Templates
	later     [][]shot
}

// runClaims enrols on the first three sessions with the service's own training, plays later sessions of the person and of
// others through the service's sessions, and reports the claim status after each frame.
func runClaims(e *env, set recordings.Set) error {
	people, folds, err := e.returning(set)
	if err != nil {
		return err
	}
	var c claimCounts
	for _, f := range folds {
		m := scoring.NewModel(f.bg)
		c.add(e, m, enrolAll(m, pick(people, f.tested)))
	}
	c.report(e, set.Name)
	return e.ctx.Err()
}

func enrolAll(m *scoring.Model, people []typist) []subject {
	out := make([]subject, len(people))
	parallel(len(people), func(i int) {
		var sessions []scoring.SessionFrames
		for k, events := range people[i].sessions {
			if k >= enrolDays {
				out[i].later = append(out[i].later, shots(events, frameKeys, claimFrames))
				continue
			}
			sessions = append(sessions, sessionOf(events, math.MaxInt))
		}
		out[i].templates, _, _ = m.Train(sessions, scoring.TrainOptions{Device: scoring.Desktop, Force: true})
	})
	return out
}

// claimCounts are the verdicts of all trials, grouped by target person.
type claimCounts struct {
	genuine, impostor, takeOver [][][]verdict
}

func (c *claimCounts) add(e *env, m *scoring.Model, subjects []subject) {
	genuine, impostor, takeOver := make([][][]verdict, len(subjects)), make([][][]verdict, len(subjects)), make([][][]verdict, len(subjects))
	others := 0
	for _, s := range subjects {
		others += len(s.later)
	}
	stride := max(1, others*len(subjects)/maxImpostors)
	parallel(len(subjects), func(i int) {
		own := subjects[i]
		for _, frames := range own.later {
			genuine[i] = append(genuine[i], play(m, own.templates, frames))
		}
		k := i
		for j, other := range subjects {
			if i == j || e.ctx.Err() != nil {
				continue
			}
			for _, frames := range other.later {
				if k++; k%stride == 0 {
					impostor[i] = append(impostor[i], play(m, own.templates, frames))
				}
			}
			if mixed := mix(own, other, j); mixed != nil && (i+j)%stride == 0 {
				takeOver[i] = append(takeOver[i], play(m, own.templates, mixed))
			}
		}
	})
	c.genuine, c.impostor, c.takeOver = append(c.genuine, genuine...), append(c.impostor, impostor...), append(c.takeOver, takeOver...)
}

// mix is a session the owner starts and somebody else takes over.
func mix(own, other subject, which int) []shot {
	mine, theirs := own.later[which%len(own.later)], other.later[which%len(other.later)]
	if len(mine) < takeOverAfter || len(theirs) < takeOverFrames {
		return nil
	}
	return append(append([]shot(nil), mine[:takeOverAfter]...), theirs[:takeOverFrames]...)
}

func (c *claimCounts) report(e *env, set string) {
	statuses := []scoring.Status{scoring.Confirmed, scoring.Likely, scoring.Uncertain, scoring.NotConfirmed, scoring.Insufficient}
	for _, side := range []struct {
		name   string
		trials [][][]verdict
	}{{"genuine", c.genuine}, {"impostor", c.impostor}} {
		for _, frame := range []int{1, 2, claimFrom, 5, claimFrames} {
			for _, status := range statuses {
				e.share(Figure{Protocol: "claims", Set: set, Case: fmt.Sprintf("%s, after frame %d", side.name, frame)}, string(status),
					atFrames(side.trials, frame, frame, func(v verdict) bool { return v.continuity == status }), "")
			}
		}
	}
	summary := Figure{Protocol: "claims", Set: set, Case: fmt.Sprintf("frames %d to %d", claimFrom, claimFrames)}
	whole := func(trials [][][]verdict, hit func(verdict) bool) [][]bool {
		return atFrames(trials, claimFrom, claimFrames, hit)
	}
	e.share(summary, "genuine confirmed or likely", whole(c.genuine, func(v verdict) bool { return trusted(v.continuity) }), "target >= 92 %")
	e.share(summary, "impostor not_confirmed", whole(c.impostor, func(v verdict) bool { return v.continuity == scoring.NotConfirmed }), "target >= 95 %")
	e.share(summary, "impostor confirmed (false)", whole(c.impostor, func(v verdict) bool { return v.continuity == scoring.Confirmed }), "target <= 0.3 %")
	e.share(summary, "impostor likely (false)", whole(c.impostor, func(v verdict) bool { return v.continuity == scoring.Likely }), "")
	e.share(summary, "abstention (uncertain or insufficient), genuine", whole(c.genuine, abstained), "")
	e.share(summary, "genuine flagged as automation", whole(c.genuine, func(v verdict) bool { return v.automation == scoring.Detected }), "")
	e.share(summary, "genuine flagged as replay", whole(c.genuine, func(v verdict) bool { return v.replay == scoring.Detected }), "")
	c.reportTakeOver(e, set)
}

func abstained(v verdict) bool {
	return v.continuity == scoring.Uncertain || v.continuity == scoring.Insufficient
}

// reportTakeOver counts only sessions in which the owner was trusted when the other took over.
func (c *claimCounts) reportTakeOver(e *env, set string) {
	f := Figure{Protocol: "claims", Set: set, Case: fmt.Sprintf("take-over after %d frames", takeOverAfter)}
	for _, end := range []struct {
		name string
		over func(scoring.Status) bool
	}{
		{"no longer trusted", func(s scoring.Status) bool { return !trusted(s) }},
		{"not_confirmed", func(s scoring.Status) bool { return s == scoring.NotConfirmed }},
	} {
		var frames, seconds []float64
		within := make([][][]bool, takeOverFrames)
		for k := range within {
			within[k] = make([][]bool, len(c.takeOver))
		}
		for i, trials := range c.takeOver {
			for _, t := range trials {
				if !trusted(t[takeOverAfter-1].continuity) {
					continue
				}
				at := detection(t[takeOverAfter:], end.over)
				for k := range within {
					within[k][i] = append(within[k][i], at <= k)
				}
				if at < takeOverFrames {
					frames = append(frames, float64(at+1))
					seconds = append(seconds, t[takeOverAfter+at].seconds-t[takeOverAfter-1].seconds)
				}
			}
		}
		for k := range within {
			e.share(f, fmt.Sprintf("%s within %d frames", end.name, k+1), within[k], "")
		}
		if len(frames) > 0 {
			e.plain(f, end.name+", mean frames where noticed", "frames", mean(frames), "")
			e.plain(f, end.name+", median seconds where noticed", "s", quantile(sorted(seconds), .5), "")
		}
	}
}

func detection(vs []verdict, over func(scoring.Status) bool) int {
	for k, v := range vs {
		if over(v.continuity) {
			return k
		}
	}
	return len(vs)
}

// atFrames collects a condition over frames from..to (counted from 1) of every trial, by target person.
func atFrames(trials [][][]verdict, from, to int, hit func(verdict) bool) [][]bool {
	out := make([][]bool, len(trials))
	for i, person := range trials {
		for _, t := range person {
			for k := from - 1; k < min(to, len(t)); k++ {
				out[i] = append(out[i], hit(t[k]))
			}
		}
	}
	return out
}
