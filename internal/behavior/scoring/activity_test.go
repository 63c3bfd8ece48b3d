package scoring

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/behavior/features"
)

// scrolled is a frame of scrolling and rhythm: neither has a template.
func scrolled() features.Frame {
	f := features.Frame{Blocks: map[features.Modality]features.Block{}}
	for _, mod := range []features.Modality{features.Scroll, features.Rhythm} {
		b := features.Block{Cells: features.NewVector(features.Dim(mod)), Events: 12, ActiveMS: 900}
		for i, c := range features.Cells(mod) {
			b.Cells.N[i], b.Cells.M[i] = features.CountFew, c.Min
		}
		f.Blocks[mod] = b
	}
	return f
}

// few is a frame with so many keys of a person and some scrolling around them.
func few(d *drawn, day []float64, keys int) features.Frame {
	f := scrolled()
	f.Blocks[features.Keystroke] = d.frame(day, keys).Blocks[features.Keystroke]
	return f
}

// trustedOwner is a person with templates and a session that is confirmed.
func trustedOwner(t *testing.T, m *Model, seed uint64) (*drawn, []float64, Templates, State, time.Time) {
	t.Helper()
	owner := drawPerson(m.Background(features.Keystroke), seed)
	ts := enrolled(m, owner)
	s, at, day := NewState(Desktop), testStart, owner.day()
	for range 5 {
		at = at.Add(15 * time.Second)
		s, _ = m.Add(s, input(owner.frame(day, 50), at), ts, at)
	}
	require.Equal(t, Confirmed, continuity(m, s, ts, at).Status)
	return owner, day, ts, s, at
}

// Whatever its form, activity without typing lowers trust: a minute of it ends confirmed, three end likely, and the codes
// say why. The longest of what the service's clock, the client's clock and the durations say counts.
func TestUnattributedActivityWearsTrustDown(t *testing.T) {
	t.Parallel()
	m := populated()
	owner, day, ts, start, from := trustedOwner(t, m, 3)
	frame := func(f features.Frame, at time.Time, duration time.Duration) Input {
		return Input{Frame: f, Timestamp: at, Duration: duration}
	}
	for name, next := range map[string]func(k int, now time.Time) (Input, time.Time){
		"a frame every 30 s by the service's clock, each claiming nothing": func(_ int, now time.Time) (Input, time.Time) {
			return frame(scrolled(), from, time.Second), now.Add(30 * time.Second)
		},
		"all at once, by their durations": func(k int, now time.Time) (Input, time.Time) {
			return frame(scrolled(), from.Add(time.Duration(k+1)*time.Second), 30*time.Second), now
		},
		"all at once, by the client's clock": func(k int, now time.Time) (Input, time.Time) {
			return frame(scrolled(), from.Add(time.Duration(k+1)*30*time.Second), time.Second), now
		},
		"all at once, by the windows they name": func(k int, now time.Time) (Input, time.Time) {
			in := frame(scrolled(), from, time.Second)
			in.WindowEnd = from.Add(time.Duration(k+1) * 30 * time.Second)
			return in, now
		},
		"a handful of keys in each": func(_ int, now time.Time) (Input, time.Time) {
			now = now.Add(30 * time.Second)
			return frame(few(owner, day, 4), now, 30*time.Second), now
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, now := start, from
			for k := range 8 {
				var in Input
				in, now = next(k, now)
				s, _ = m.Add(s, in, ts, now)
				c := continuity(m, s, ts, now)
				switch passed := time.Duration(k+1) * 30 * time.Second; {
				case passed < 60*time.Second:
					require.Equal(t, Confirmed, c.Status)
				case passed < 150*time.Second:
					require.Equal(t, Likely, c.Status, "after %s", passed)
					require.Contains(t, c.ReasonCodes, ReasonUnattributed)
				default:
					require.Equal(t, Uncertain, c.Status, "after %s", passed)
					require.Contains(t, c.ReasonCodes, ReasonUnattributed)
				}
			}
		})
	}
}

// Typing that matches brings trust back, at once where a frame holds enough of it; that of another person does not, nor do a
// few keys that complete what the owner left.
func TestOnlyMatchingTypingBringsTrustBack(t *testing.T) {
	t.Parallel()
	m := populated()
	owner, day, ts, start, from := trustedOwner(t, m, 3)
	thief := drawPerson(m.Background(features.Keystroke), 4)
	s, at := start, from
	s, _ = m.Add(s, input(owner.frame(day, 34), at), ts, at) // the owner leaves a chunk behind that is not complete
	for range 10 {
		at = at.Add(20 * time.Second)
		s, _ = m.Add(s, input(scrolled(), at), ts, at)
	}
	require.Equal(t, Uncertain, continuity(m, s, ts, at).Status)
	at = at.Add(10 * time.Second)
	for name, c := range map[string]struct {
		frame features.Frame
		want  []Status
	}{
		"the owner types":                         {owner.frame(day, 50), []Status{Confirmed}},
		"the owner types a line":                  {owner.frame(day, 25), []Status{Confirmed}},
		"a handful of keys completes the chunk":   {few(owner, day, 8), []Status{Uncertain}},
		"another person types":                    {thief.frame(thief.day(), 50), []Status{Uncertain, NotConfirmed}},
		"the owner scrolls on without typing":     {scrolled(), []Status{Uncertain}},
		"one key is pressed again and again here": {oneKey(), []Status{Uncertain}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _ := m.Add(s, input(c.frame, at), ts, at)
			require.Contains(t, c.want, continuity(m, s, ts, at).Status)
		})
	}
}

// A frame with enough typing to be judged is no unattributed activity, but a line in ten minutes is not ten minutes of typing.
func TestALineDoesNotStandForMinutes(t *testing.T) {
	t.Parallel()
	m := populated()
	_, _, ts, s, at := trustedOwner(t, m, 3)
	thief := drawPerson(m.Background(features.Keystroke), 4)
	for _, c := range []struct {
		lasted time.Duration
		adds   int64
	}{{20 * time.Second, 0}, {30 * time.Second, 0}, {10 * time.Minute, 570_000}} {
		in := Input{Frame: few(thief, thief.day(), 21), Timestamp: at, Duration: c.lasted}
		next, _ := m.Add(s, in, ts, at)
		require.Equal(t, c.adds, next.Activity.SpanMS-s.Activity.SpanMS)
		next, _ = m.Add(s, in, nil, at)
		require.Equal(t, c.lasted.Milliseconds(), next.Activity.SpanMS-s.Activity.SpanMS, "without a template all of it counts")
	}
}

// oneKey is a frame of many presses that fill few cells.
func oneKey() features.Frame {
	b := features.Block{Cells: features.NewVector(features.Dim(features.Keystroke)), Events: 60, ActiveMS: 9000}
	for i := range 6 {
		b.Cells.N[i], b.Cells.M[i] = features.CountMany, features.Cells(features.Keystroke)[i].Min
	}
	return features.Frame{Blocks: map[features.Modality]features.Block{features.Keystroke: b}}
}

// Each claim is as old as the newest evidence that can carry it.
func TestFreshnessIsThatOfTheClaimsOwnEvidence(t *testing.T) {
	t.Parallel()
	m := populated()
	_, _, ts, start, from := trustedOwner(t, m, 3)
	ages := func(s State, ts Templates, at time.Time) map[string]*int64 {
		p := m.Assess(s, ts, at, AssessOptions{})
		out := map[string]*int64{"profile": p.FreshnessMS}
		for _, c := range p.Claims {
			out[c.Claim] = c.FreshnessMS
		}
		return out
	}
	ms := func(d time.Duration) *int64 { v := d.Milliseconds(); return &v }

	scrolling, at := start, from
	for range 3 {
		at = at.Add(20 * time.Second)
		scrolling, _ = m.Add(scrolling, input(scrolled(), at), ts, at)
	}
	at = at.Add(time.Second)
	got := ages(scrolling, ts, at)
	require.Equal(t, ms(time.Second), got["profile"])
	require.Equal(t, ms(61*time.Second), got[ClaimContinuity])
	require.Equal(t, ms(61*time.Second), got[ClaimReplay])
	require.Equal(t, ms(61*time.Second), got[ClaimChange])
	require.Nil(t, got[ClaimPresence], "drawn frames hold nothing the presence tests read")
	require.Nil(t, got[ClaimMandate])

	only, _ := m.Add(NewState(Desktop), input(scrolled(), at), ts, at)
	got = ages(only, ts, at)
	require.Equal(t, ms(0), got["profile"])
	for _, name := range []string{ClaimContinuity, ClaimPresence, ClaimAutomation, ClaimReplay, ClaimChange} {
		require.Nil(t, got[name], name)
	}
	require.Nil(t, ages(start, nil, from)[ClaimContinuity], "without a template nothing can carry it")
}

// A pointer without a template never makes continuity fresh; one that is enrolled carries it if it decides.
func TestPointerCarriesContinuityOnlyWithATemplate(t *testing.T) {
	t.Parallel()
	m := populated()
	_, _, ts, start, from := trustedOwner(t, m, 3)
	hand := drawPerson(m.Background(features.Pointer), 5)
	var sessions []SessionFrames
	for range 3 {
		sessions = append(sessions, moving(hand, 6))
	}
	pointer, _, err := m.Train(sessions, TrainOptions{Device: Desktop})
	require.NoError(t, err)
	both := append(append(Templates(nil), ts...), pointer...)
	play := func(ts Templates, who *drawn) (all []Claim) {
		s, at := start, from
		for _, f := range moving(who, 16).Frames {
			at = at.Add(15 * time.Second)
			s, _ = m.Add(s, input(f, at), ts, at)
			all = append(all, continuity(m, s, ts, at))
		}
		return all
	}
	const minute, three, last = 60/15 - 1, 180/15 - 1, 15 // frames of 15 s

	none := play(ts, hand)
	require.Equal(t, (16 * 15 * time.Second).Milliseconds(), *none[last].FreshnessMS, "not the pointer's")
	require.Equal(t, Likely, none[minute].Status)
	require.Equal(t, Uncertain, none[three].Status)

	carried := 0
	for _, c := range play(both, hand)[minute:] {
		require.NotEqual(t, Confirmed, c.Status, "a pointer alone never confirms")
		if c.Status == Likely && *c.FreshnessMS == 0 {
			require.Contains(t, c.Limitations, ReasonPointerOnly)
			require.NotContains(t, c.ReasonCodes, ReasonUnattributed)
			carried++
		}
	}
	require.Positive(t, carried, "the person's own pointer carries likely")

	for k, c := range play(both, drawPerson(m.Background(features.Pointer), 77))[minute:] {
		require.NotEqual(t, Confirmed, c.Status)
		require.False(t, k >= three-minute && trustedStatus(c.Status), "another person's pointer carries nothing")
	}
}

// moving is a session of pointer frames of 14 s in use.
func moving(d *drawn, frames int) SessionFrames {
	day := d.day()
	s := SessionFrames{AtMS: testStart.UnixMilli()}
	for range frames {
		f := d.frame(day, 200)
		b := f.Blocks[features.Pointer]
		b.ActiveMS = 14_000
		f.Blocks[features.Pointer] = b
		s.Frames = append(s.Frames, f)
	}
	return s
}

// What was typed more than ten minutes ago counts for nothing when the session is assessed, though no key was pressed since and
// whether or not frames came meanwhile.
func TestWindowsAreTrimmedWhenAssessed(t *testing.T) {
	t.Parallel()
	m := populated()
	_, _, ts, start, from := trustedOwner(t, m, 3)
	scrolling, at := start, from
	for range 9 {
		at = at.Add(time.Minute)
		scrolling, _ = m.Add(scrolling, input(scrolled(), at), ts, at)
	}
	for name, s := range map[string]State{"nothing came": start, "frames came": scrolling} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// Frames came 60, 45, 30, 15 and 0 s before: as each leaves the window there are 50 keys less.
			for k, keys := range []int{250, 200, 150, 100, 50, 0} {
				now := from.Add(10*time.Minute - time.Minute + time.Duration(k)*15*time.Second)
				aged := s.aged(now.UnixMilli())
				require.Equal(t, keys, aged.Keystroke.keys(), "%d", k)
				require.LessOrEqual(t, aged.Keystroke.Long, s.Keystroke.Long*float64(keys)/250+1e-9)
				c := m.Assess(s, ts, now, AssessOptions{TypingOnly: true}).Claim(ClaimContinuity)
				require.Equal(t, keys == 0, c.Status == Insufficient, "%d keys", keys)
				if keys < confirmKeys {
					require.NotEqual(t, Confirmed, c.Status)
				}
			}
			late := from.Add(10*time.Minute + time.Second)
			p := m.Assess(s, ts, late, AssessOptions{})
			require.Equal(t, CoverageNone, p.Coverage)
			require.True(t, p.InsufficientEvidence)
			require.Equal(t, []string{ReasonStale}, p.Claim(ClaimContinuity).ReasonCodes)
		})
	}
	require.Equal(t, 250, start.Keystroke.keys(), "assessing changes nothing")
}

// A negative ratio is not made smaller by evidence that is gone, and what is left over of before is no part of a new window.
func TestOldEvidenceNeverHelps(t *testing.T) {
	t.Parallel()
	m := populated()
	owner, day, ts, _, _ := trustedOwner(t, m, 3)
	thief := drawPerson(m.Background(features.Keystroke), 4)
	s, at := run(m, thief, ts, 4, NewState(Desktop), testStart)
	require.Negative(t, s.Keystroke.Long)
	require.InDelta(t, s.Keystroke.Long, s.aged(at.Add(10*time.Minute-20*time.Second).UnixMilli()).Keystroke.Long, 0)

	s, _ = m.Add(NewState(Desktop), input(owner.frame(day, 30), testStart), ts, testStart)
	at = testStart.Add(11 * time.Minute)
	s, _ = m.Add(s, input(owner.frame(day, 12), at), ts, at)
	require.Equal(t, 12, s.Keystroke.keys())
}

// The legacy view follows the claim: the score is no more than even once it is not known who is there.
func TestLegacyTrustFollowsTheWear(t *testing.T) {
	t.Parallel()
	m := populated()
	_, _, ts, s, at := trustedOwner(t, m, 3)
	require.Greater(t, LegacyTrust(s, m.Assess(s, ts, at, AssessOptions{})).Score, .5)
	for range 10 {
		at = at.Add(20 * time.Second)
		s, _ = m.Add(s, input(scrolled(), at), ts, at)
	}
	got := LegacyTrust(s, m.Assess(s, ts, at, AssessOptions{}))
	require.Equal(t, TrustWatch, got.State)
	require.LessOrEqual(t, got.Score, .5)
	require.Contains(t, got.Reasons, ReasonUnattributed)
	typing := m.Assess(s, ts, at, AssessOptions{TypingOnly: true}).Claim(ClaimContinuity)
	require.Equal(t, Confirmed, typing.Status, "the typing is unchanged")
}

func BenchmarkAssess(b *testing.B) {
	m := populated()
	owner := drawPerson(m.Background(features.Keystroke), 3)
	ts := enrolled(m, owner)
	s, at := run(m, owner, ts, 6, NewState(Desktop), testStart)
	b.ReportAllocs()
	for b.Loop() {
		m.Assess(s, ts, at, AssessOptions{})
	}
}
