package accuracy

import (
	"fmt"
	"math"

	"github.com/countersign-dev/countersign/internal/behavior/scoring"
	"github.com/countersign-dev/countersign/internal/lab/recordings"
)

// The protocol at the level of the service: what a relying party sees after each
// frame of a session.
const (
	claimFrames    = 10   // frames of a session that are played
	claimFrom      = 3    // the frame from which the summary counts
	takeOverAfter  = 5    // genuine frames before another person takes over
	takeOverFrames = 5    // frames of the other person
	maxImpostors   = 3000 // sessions of others played, over all targets
)

// Metrics that learning curves are drawn of.
const (
	genuineTrusted  = "genuine confirmed or likely"
	impostorRefused = "impostor not_confirmed"
)

// subject is a tested person: templates trained on the early sessions, and the
// later sessions as frames.
type subject struct {
	templates scoring.Templates
	later     [][]shot
}

// runClaims enrolls on the first three sessions with the service's own training,
// plays later sessions of the person and of others through the service's sessions,
// and reports the claim status after each frame. It measures the whole path,
// thresholds and rules included, where the days protocol measures scores.
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

// enrolAll trains the templates of each person on the first enrolDays sessions and
// cuts the later ones into frames. Force trains with little evidence too, so that
// no person drops out of the measurement.
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

// claimCounts are the verdicts of all trials: by target person, trial and frame.
type claimCounts struct {
	genuine, impostor, takeOver [][][]verdict
}

// add plays the genuine, impostor and take-over trials of one fold. The model was
// not learned from its subjects. Impostor trials are thinned to maxImpostors,
// evenly over targets and impostors.
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

// mix returns a session that the owner starts and another person continues; nil if
// either is too short.
func mix(own, other subject, which int) []shot {
	mine, theirs := own.later[which%len(own.later)], other.later[which%len(other.later)]
	if len(mine) < takeOverAfter || len(theirs) < takeOverFrames {
		return nil
	}
	return append(append([]shot(nil), mine[:takeOverAfter]...), theirs[:takeOverFrames]...)
}

// report adds a figure for each status after chosen frames, and a summary of the
// frames that decisions are made on.
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
	e.share(summary, genuineTrusted, whole(c.genuine, func(v verdict) bool { return trusted(v.continuity) }), "target >= 92 %")
	e.share(summary, impostorRefused, whole(c.impostor, func(v verdict) bool { return v.continuity == scoring.NotConfirmed }), "target >= 95 %")
	e.share(summary, "impostor confirmed (false)", whole(c.impostor, func(v verdict) bool { return v.continuity == scoring.Confirmed }), "target <= 0.3 %")
	e.share(summary, "impostor likely (false)", whole(c.impostor, func(v verdict) bool { return v.continuity == scoring.Likely }), "")
	e.share(summary, "abstention (uncertain or insufficient), genuine", whole(c.genuine, abstained), "")
	e.share(summary, "genuine flagged as automation", whole(c.genuine, func(v verdict) bool { return v.automation == scoring.Detected }), "")
	e.share(summary, "genuine flagged as replay", whole(c.genuine, func(v verdict) bool { return v.replay == scoring.Detected }), "")
	c.reportTakeOver(e, set)
}

// abstained reports whether the service did not commit itself to either answer.
func abstained(v verdict) bool {
	return v.continuity == scoring.Uncertain || v.continuity == scoring.Insufficient
}

// reportTakeOver reports after how many frames and seconds a take-over is noticed.
// Only sessions in which the owner was trusted when the other person took over
// count, since in the others there was no trust to lose.
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

// detection returns the index of the first verdict for which over is true; len(vs)
// if there is none.
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
