package scoring_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/behavior/features"
	"github.com/countersign-dev/countersign/internal/behavior/scoring"
	"github.com/countersign-dev/countersign/internal/behavior/synthetic"
)

// enrolSession is a session of another day: three frames of fifty keys.
func enrolSession(who *synthetic.Typist) scoring.SessionFrames {
	who.NewDay()
	var s scoring.SessionFrames
	for range 3 {
		s.Frames = append(s.Frames, features.Extract(features.Raw{Keys: who.Type(50), ClockMS: 1}))
	}
	return s
}

func TestMisfitsNameTheSessionsThatDoNotFit(t *testing.T) {
	t.Parallel()
	m := synthetic.Population()
	ada, eve, zoe := synthetic.NewTypist(7), synthetic.NewTypist(907), synthetic.NewTypist(1303)
	of := func(who ...*synthetic.Typist) (out []scoring.SessionFrames) {
		for _, w := range who {
			out = append(out, enrolSession(w))
		}
		return out
	}
	for name, c := range map[string]struct {
		sessions []scoring.SessionFrames
		want     []int
	}{
		"none":                        {nil, nil},
		"one":                         {of(ada), nil},
		"three of one person":         {of(ada, ada, ada), nil},
		"the first of three":          {of(eve, ada, ada), []int{0}},
		"the last of three":           {of(ada, ada, eve), []int{2}},
		"one of each of two":          {of(ada, eve), []int{0, 1}},
		"two of each of two":          {of(ada, eve, ada, eve), []int{0, 1, 2, 3}},
		"two strangers among five":    {of(ada, eve, ada, zoe, ada), []int{1, 3}},
		"a session without typing":    {append(of(ada, ada, ada), scoring.SessionFrames{}), nil},
		"many of one, and a stranger": {of(ada, ada, ada, ada, ada, eve), []int{5}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, m.Misfits(c.sessions))
		})
	}
}

// slowly stretches all times, so that two people cannot be mistaken for one.
func slowly(keys []features.KeyEvent) []features.KeyEvent {
	out := append([]features.KeyEvent(nil), keys...)
	for i := range out {
		out[i].Press, out[i].Release = 2*out[i].Press, 2*out[i].Release
	}
	return out
}

func TestMisfitsOfVeryManySessionsAreBounded(t *testing.T) {
	t.Parallel()
	ada, eve := synthetic.NewTypist(7), synthetic.NewTypist(907)
	var sessions []scoring.SessionFrames
	for i := range 60 {
		if i%2 == 0 {
			sessions = append(sessions, scoring.SessionFrames{Frames: session(eve, 4, slowly)})
			continue
		}
		sessions = append(sessions, enrolSession(ada))
	}
	require.Len(t, synthetic.Population().Misfits(sessions), 60, "if it is unknown whose they are, nothing is learned")
}
