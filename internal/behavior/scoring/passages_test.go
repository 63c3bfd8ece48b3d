package scoring

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/behavior/features"
)

// knowing plays frames of a person in sessions of ten and returns what is known of the person then.
func knowing(t testing.TB, m *Model, d *drawn, frames int) Passages {
	t.Helper()
	var known Passages
	s, at, day := NewState(Desktop), testStart, d.day()
	for i := range frames {
		if i%10 == 0 {
			s, day = NewState(Desktop), d.day()
		}
		at = at.Add(time.Minute)
		in := input(d.frame(day, 50), at)
		in.Known = known
		var ack Ack
		s, ack = m.Add(s, in, nil, at)
		require.NotContains(t, ack.Reasons, ReasonReplayNear, "frame %d", i)
		known = append(known, ack.Passage...)
	}
	return known
}

func TestPassageOfAFrameIsKnownInAnotherSession(t *testing.T) {
	t.Parallel()
	m := populated()
	owner := drawPerson(m.Background(features.Keystroke), 90)
	known := knowing(t, m, owner, 100)
	require.Equal(t, 100, known.Len())
	f := owner.frame(owner.day(), 50)
	_, ack := m.Add(NewState(Desktop), Input{Frame: f, Timestamp: testStart, Duration: time.Minute, Known: known}, nil, testStart)
	require.NotContains(t, ack.Reasons, ReasonReplayNear)
	known = append(known, ack.Passage...)

	for i := range f.Blocks[features.Keystroke].Cells.M {
		f.Blocks[features.Keystroke].Cells.M[i] += .01 * float64(i%2)
	}
	s, ack := m.Add(NewState(Desktop), Input{Frame: f, Timestamp: testStart, Duration: time.Minute, Known: known}, nil, testStart)
	require.Contains(t, ack.Reasons, ReasonReplayNear)
	require.Empty(t, ack.Passage, "a copy is not remembered")
	p := m.Assess(s, nil, testStart, AssessOptions{})
	require.Equal(t, Detected, p.Claim(ClaimReplay).Status)
}

func TestShortFramesGrowIntoPassages(t *testing.T) {
	t.Parallel()
	m := populated()
	owner := drawPerson(m.Background(features.Keystroke), 91)
	s, at, day := NewState(Desktop), testStart, owner.day()
	var sizes []int
	for range 9 {
		at = at.Add(time.Minute)
		var ack Ack
		s, ack = m.Add(s, input(owner.frame(day, 7), at), nil, at)
		for i := range ack.Passage.Len() {
			sizes = append(sizes, ack.Passage.keys(i))
		}
	}
	require.Equal(t, []int{21, 21, 21}, sizes)
}

// Typing that could not pass as the person's need not be recognised, and pushes nothing out.
func TestTypingThatCouldNotMatchIsNotRemembered(t *testing.T) {
	t.Parallel()
	m := populated()
	bg := m.Background(features.Keystroke)
	owner, other := drawPerson(bg, 3), drawPerson(bg, 4)
	ts := enrolled(m, owner)
	for who, remembered := range map[*drawn]bool{owner: true, other: false} {
		s, at, day := NewState(Desktop), testStart, who.day()
		for range 3 {
			at = at.Add(time.Minute)
			var ack Ack
			s, ack = m.Add(s, input(who.frame(day, 50), at), ts, at)
			require.Equal(t, remembered, ack.Passage.Len() == 1)
		}
	}
}

func TestPassagesAreReadable(t *testing.T) {
	t.Parallel()
	m := populated()
	owner := drawPerson(m.Background(features.Keystroke), 92)
	f := owner.frame(owner.day(), 50)
	_, ack := m.Add(NewState(Desktop), input(f, testStart), nil, testStart)
	body, err := json.Marshal(ack.Passage)
	require.NoError(t, err)
	var out []struct {
		Keys  int
		Cells map[string]float64
	}
	require.NoError(t, json.Unmarshal(body, &out))
	require.Len(t, out, 1)
	require.Equal(t, 50, out[0].Keys)
	b, _ := f.Block(features.Keystroke)
	require.Len(t, out[0].Cells, b.Cells.Filled())
	for i, c := range features.Cells(features.Keystroke) {
		if b.Cells.N[i] > 0 {
			require.InDelta(t, b.Cells.M[i], out[0].Cells[c.Name], .1, c.Name)
		}
	}
}

// A frame dated ahead is acknowledged as such and says nothing of the order of those that come after it.
func TestFrameDatedAheadPutsNoneOutOfOrder(t *testing.T) {
	t.Parallel()
	m := populated()
	owner := drawPerson(m.Background(features.Keystroke), 93)
	at := testStart
	s, ack := m.Add(NewState(Desktop), input(owner.frame(owner.day(), 50), at.AddDate(0, 0, 1)), nil, at)
	require.Contains(t, ack.Reasons, ReasonClock)
	at = at.Add(time.Minute)
	_, ack = m.Add(s, input(owner.frame(owner.day(), 50), at), nil, at)
	require.Empty(t, ack.Reasons)

	odd := input(owner.frame(owner.day(), 50), at)
	odd.WindowStart, odd.WindowEnd = at, at.Add(-time.Second)
	after, ack := m.Add(s, odd, nil, at)
	require.Equal(t, features.Rejected, ack.Status)
	require.Equal(t, []string{features.ReasonContradicts}, ack.Reasons)
	require.Equal(t, s, after)
}

func BenchmarkAddFrameKnowingMuch(b *testing.B) {
	m := populated()
	owner := drawPerson(m.Background(features.Keystroke), 13)
	ts := enrolled(m, owner)
	known := knowing(b, m, owner, 1024)
	s, at := run(m, owner, ts, 6, NewState(Desktop), testStart)
	in := input(owner.frame(owner.day(), 50), at)
	in.Known = known
	b.ReportAllocs()
	for b.Loop() {
		m.Add(s, in, ts, at)
	}
}

// What the tables and running sums of the comparison with known passages gain over the definition.
func BenchmarkKnownPassages(b *testing.B) {
	m := populated()
	bg := m.Background(features.Keystroke)
	owner := drawPerson(bg, 13)
	known, own := knowing(b, m, owner, 1024), knowing(b, m, owner, 6)
	for name, recorded := range map[string]func(*Background, Passages) bool{"with running sums": own.recorded, "as defined": own.plainRecorded} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				recorded(bg, known)
			}
		})
	}
}
