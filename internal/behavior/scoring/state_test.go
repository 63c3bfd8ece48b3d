package scoring

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/countersign-dev/countersign/internal/behavior/features"
)

func run(m *Model, d *drawn, ts Templates, frames int, s State, at time.Time) (State, time.Time) {
	day := d.day()
	for range frames {
		at = at.Add(15 * time.Second)
		s, _ = m.Add(s, input(d.frame(day, 50), at), ts, at)
	}
	return s, at
}

func continuity(m *Model, s State, ts Templates, at time.Time) Claim {
	return m.Assess(s, ts, at, AssessOptions{}).Claim(ClaimContinuity)
}

func TestGenuineIsConfirmedAndStrangerIsNot(t *testing.T) {
	t.Parallel()
	m := populated()
	bg := m.Background(features.Keystroke)
	confirmed, rejected, falseMatches := 0, 0, 0
	const people = 20
	for i := range uint64(people) {
		owner, other := drawPerson(bg, i), drawPerson(bg, 1000+i)
		ts := enrolled(m, owner)
		s, at := run(m, owner, ts, 5, NewState(Desktop), testStart.AddDate(0, 0, 9))
		if st := continuity(m, s, ts, at).Status; st == Confirmed || st == Likely {
			confirmed++
		}
		s, at = run(m, other, ts, 5, NewState(Desktop), testStart.AddDate(0, 0, 9))
		switch continuity(m, s, ts, at).Status {
		case NotConfirmed:
			rejected++
		case Confirmed, Likely:
			falseMatches++
		}
	}
	require.GreaterOrEqual(t, confirmed, people-2)
	require.GreaterOrEqual(t, rejected, people-2)
	require.Zero(t, falseMatches)
}

func TestTakeOverIsNoticed(t *testing.T) {
	t.Parallel()
	m := populated()
	bg := m.Background(features.Keystroke)
	owner, thief := drawPerson(bg, 3), drawPerson(bg, 4)
	ts := enrolled(m, owner)
	s, at := run(m, owner, ts, 5, NewState(Desktop), testStart.AddDate(0, 0, 9))
	require.Equal(t, Confirmed, continuity(m, s, ts, at).Status)
	s, at = run(m, thief, ts, 3, s, at)
	p := m.Assess(s, ts, at, AssessOptions{})
	require.Equal(t, NotConfirmed, p.Claim(ClaimContinuity).Status)
	require.Equal(t, Detected, p.Claim(ClaimChange).Status)
}

func TestHonestWithoutEvidenceOrTemplate(t *testing.T) {
	t.Parallel()
	m := populated()
	owner := drawPerson(m.Background(features.Keystroke), 5)
	ts := enrolled(m, owner)
	frames, at := run(m, owner, nil, 1, NewState(Desktop), testStart)
	five, _ := run(m, owner, ts, 5, NewState(Desktop), testStart)
	mobile, _ := run(m, owner, ts, 5, NewState(Mobile), testStart)
	otherModel := append(Templates(nil), ts...)
	otherModel[0].ModelVersion = "older"
	cases := map[string]struct {
		state  State
		ts     Templates
		at     time.Time
		status Status
		reason string
	}{
		"nothing at all":      {NewState(Desktop), nil, at, Insufficient, ReasonNoEvidence},
		"never enrolled":      {frames, nil, at, Insufficient, ReasonNotEnrolled},
		"another device":      {mobile, ts, at, Insufficient, ReasonNoTemplateDevice},
		"another model":       {m.Rescore(five, otherModel), otherModel, at, Insufficient, ReasonTemplateModel},
		"hours later":         {five, ts, testStart.Add(3 * time.Hour), Insufficient, ReasonStale},
		"a quarter hour late": {five, ts, testStart.Add(16 * time.Minute), Insufficient, ReasonStale},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := m.Assess(c.state, c.ts, c.at, AssessOptions{})
			got := p.Claim(ClaimContinuity)
			require.Equal(t, c.status, got.Status)
			require.Contains(t, got.ReasonCodes, c.reason)
			require.Equal(t, c.status == Insufficient, p.InsufficientEvidence)
		})
	}
}

func TestRecoveryCapsAtLikely(t *testing.T) {
	t.Parallel()
	m := populated()
	owner := drawPerson(m.Background(features.Keystroke), 6)
	ts := enrolled(m, owner)
	s, at := run(m, owner, ts, 5, NewState(Desktop), testStart)
	require.Equal(t, Confirmed, continuity(m, s, ts, at).Status)
	p := m.Assess(s, ts, at, AssessOptions{CapLikely: true})
	require.Equal(t, Likely, p.Claim(ClaimContinuity).Status)
	require.Contains(t, p.Limitations, ReasonRecoveryCap)
}

func TestReplayIsDetected(t *testing.T) {
	t.Parallel()
	m := populated()
	owner := drawPerson(m.Background(features.Keystroke), 7)
	ts := enrolled(m, owner)
	s, at := run(m, owner, ts, 5, NewState(Desktop), testStart)
	day := owner.day()
	f := owner.frame(day, 50)
	s, ack := m.Add(s, input(f, at.Add(15*time.Second)), ts, at.Add(15*time.Second))
	require.Equal(t, features.Accepted, ack.Status)

	exact, ack := m.Add(s, input(f, at.Add(30*time.Second)), ts, at.Add(30*time.Second))
	require.Equal(t, features.Neutral, ack.Status)
	require.Contains(t, ack.Reasons, ReasonReplayExact)
	p := m.Assess(exact, ts, at.Add(30*time.Second), AssessOptions{})
	require.Equal(t, Detected, p.Claim(ClaimReplay).Status)
	require.Equal(t, Uncertain, p.Claim(ClaimContinuity).Status)

	jittered := owner.frame(day, 50)
	copy(jittered.Blocks[features.Keystroke].Cells.N, f.Blocks[features.Keystroke].Cells.N)
	for i, v := range f.Blocks[features.Keystroke].Cells.M {
		jittered.Blocks[features.Keystroke].Cells.M[i] = v + .01*float64(i%2)
	}
	near, ack := m.Add(s, input(jittered, at.Add(30*time.Second)), ts, at.Add(30*time.Second))
	require.Contains(t, ack.Reasons, ReasonReplayNear)
	require.Equal(t, Detected, m.Assess(near, ts, at.Add(30*time.Second), AssessOptions{}).Claim(ClaimReplay).Status)

	elsewhere := input(owner.frame(day, 50), at.Add(30*time.Second))
	elsewhere.SeenElsewhere = true
	_, ack = m.Add(s, elsewhere, ts, at.Add(30*time.Second))
	require.Contains(t, ack.Reasons, ReasonReplayElsewhere)
}

func TestEnrolmentFramesCannotBeReplayed(t *testing.T) {
	t.Parallel()
	m := populated()
	owner := drawPerson(m.Background(features.Keystroke), 8)
	session := owner.session(6, testStart)
	ts, limits, err := m.Train([]SessionFrames{session}, TrainOptions{Device: Desktop})
	require.NoError(t, err)
	require.Contains(t, limits, ReasonProvisional)
	_, ack := m.Add(NewState(Desktop), input(session.Frames[2], testStart), ts, testStart)
	require.Contains(t, ack.Reasons, ReasonReplayNear)
}

func TestStateAndTemplateSurviveStorage(t *testing.T) {
	t.Parallel()
	m := populated()
	owner := drawPerson(m.Background(features.Keystroke), 9)
	ts := enrolled(m, owner)
	var back Templates
	for _, tmpl := range ts {
		raw, err := tmpl.MarshalBinary()
		require.NoError(t, err)
		var got Template
		require.NoError(t, got.UnmarshalBinary(raw))
		again, err := got.MarshalBinary()
		require.NoError(t, err)
		require.Equal(t, raw, again)
		back = append(back, got)
	}
	direct, at := run(m, owner, ts, 3, NewState(Desktop), testStart)
	raw, err := direct.MarshalBinary()
	require.NoError(t, err)
	require.Less(t, len(raw), 20<<10)
	var stored State
	require.NoError(t, stored.UnmarshalBinary(raw))
	require.Equal(t, m.Assess(direct, ts, at, AssessOptions{}), m.Assess(stored, back, at, AssessOptions{}))
}

// Decisions are made from the stored state: the heads of templates, without their data, must give the same profile.
func TestAssessNeedsOnlyTheHeadsOfTemplates(t *testing.T) {
	t.Parallel()
	m := populated()
	owner := drawPerson(m.Background(features.Keystroke), 16)
	ts := enrolled(m, owner)
	s, at := run(m, owner, ts, 5, NewState(Desktop), testStart)
	heads := make(Templates, len(ts))
	for i, tmpl := range ts {
		heads[i] = Template{Modality: tmpl.Modality, Device: tmpl.Device, ModelVersion: tmpl.ModelVersion,
			Provisional: tmpl.Provisional, Limitations: tmpl.Limitations}
	}
	whole := m.Assess(s, ts, at, AssessOptions{})
	require.True(t, trustedStatus(whole.Claim(ClaimContinuity).Status))
	require.Equal(t, whole, m.Assess(s, heads, at, AssessOptions{}))
}

func TestTenThousandFramesStayBounded(t *testing.T) {
	t.Parallel()
	m := populated()
	owner := drawPerson(m.Background(features.Keystroke), 10)
	ts := enrolled(m, owner)
	s := NewState(Desktop)
	at, day := testStart, owner.day()
	for i := range 10_000 {
		at = at.Add(time.Second)
		s, _ = m.Add(s, input(owner.frame(day, 1+i%7), at), ts, at)
	}
	raw, err := s.MarshalBinary()
	require.NoError(t, err)
	require.Less(t, len(raw), 32<<10)
	require.Equal(t, 10_000, s.Frames)
	requireHonest(t, m.Assess(s, ts, at, AssessOptions{}))
}

func requireHonest(t require.TestingT, p Profile) {
	require.Len(t, p.Claims, 6)
	body, err := json.Marshal(p) // refuses NaN and infinities
	require.NoError(t, err)
	require.NotContains(t, string(body), "null,\"reason")
	require.False(t, math.IsNaN(p.ActiveSeconds))
}

func TestAnyFramesGiveAProfile(t *testing.T) {
	t.Parallel()
	m := populated()
	owner := drawPerson(m.Background(features.Keystroke), 11)
	ts := enrolled(m, owner)
	rapid.Check(t, func(t *rapid.T) {
		s, at := NewState(rapid.SampledFrom([]DeviceClass{Desktop, Mobile, UnknownDevice}).Draw(t, "device")), testStart
		for range rapid.IntRange(0, 8).Draw(t, "frames") {
			f := features.Frame{Blocks: map[features.Modality]features.Block{}, ClockMS: rapid.Float64Range(0, 1000).Draw(t, "clock")}
			for _, mod := range features.Modalities() {
				if rapid.Bool().Draw(t, "has") {
					f.Blocks[mod] = drawBlock(t, mod)
				}
			}
			in := input(f, at.Add(time.Duration(rapid.IntRange(-1000, 1000).Draw(t, "skew"))*time.Second))
			in.Duration = time.Duration(rapid.IntRange(0, 600_000).Draw(t, "duration")) * time.Millisecond
			in.SeenElsewhere = rapid.Float64Range(0, 1).Draw(t, "seen") < .05
			at = at.Add(time.Duration(rapid.IntRange(0, 900).Draw(t, "pause")) * time.Second)
			s, _ = m.Add(s, in, ts, at)
		}
		raw, err := s.MarshalBinary()
		require.NoError(t, err)
		var back State
		require.NoError(t, back.UnmarshalBinary(raw))
		p := m.Assess(s, ts, at, AssessOptions{CapLikely: rapid.Bool().Draw(t, "cap")})
		requireHonest(t, p)
		require.NotEqual(t, Confirmed, m.Assess(back, nil, at, AssessOptions{}).Claim(ClaimContinuity).Status)
	})
}

func drawBlock(t *rapid.T, mod features.Modality) features.Block {
	b := features.Block{Cells: features.NewVector(features.Dim(mod)), Events: rapid.IntRange(0, 500).Draw(t, "events"),
		ActiveMS: rapid.Float64Range(0, 60_000).Draw(t, "active")}
	extreme := rapid.Bool().Draw(t, "extreme")
	for i, c := range features.Cells(mod) {
		b.Cells.N[i] = rapid.SampledFrom([]float64{0, features.CountFew, features.CountMany}).Draw(t, "n")
		b.Cells.M[i] = c.Max
		if !extreme {
			b.Cells.M[i] = rapid.Float64Range(c.Min, c.Max).Draw(t, "m")
		}
	}
	return b
}

func FuzzStateUnmarshal(f *testing.F) {
	m := populated()
	owner := drawPerson(m.Background(features.Keystroke), 12)
	s, _ := run(m, owner, nil, 2, NewState(Desktop), testStart)
	raw, err := s.MarshalBinary()
	require.NoError(f, err)
	f.Add(raw)
	ts := enrolled(m, owner)
	f.Fuzz(func(t *testing.T, raw []byte) {
		var s State
		if s.UnmarshalBinary(raw) == nil {
			requireHonest(t, m.Assess(m.Rescore(s, ts), ts, testStart, AssessOptions{}))
		}
	})
}

// The budget is one millisecond and 100 kB of garbage a frame; see docs/accuracy.md for what it measures.
func BenchmarkAddFrame(b *testing.B) {
	m := populated()
	owner := drawPerson(m.Background(features.Keystroke), 13)
	ts := enrolled(m, owner)
	s, at := run(m, owner, ts, 6, NewState(Desktop), testStart)
	f := owner.frame(owner.day(), 50)
	b.ReportAllocs()
	for b.Loop() {
		m.Add(s, input(f, at), ts, at)
	}
}

func BenchmarkTrain(b *testing.B) {
	m := populated()
	owner := drawPerson(m.Background(features.Keystroke), 14)
	var sessions []SessionFrames
	for range 3 {
		sessions = append(sessions, owner.session(5, testStart))
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := m.Train(sessions, TrainOptions{Device: Desktop}); err != nil {
			b.Fatal(err)
		}
	}
}

// Whatever was enrolled, training and scoring give numbers.
func TestAnythingEnrolledGivesAHonestProfile(t *testing.T) {
	t.Parallel()
	m := populated()
	rapid.Check(t, func(t *rapid.T) {
		var sessions []SessionFrames
		for range rapid.IntRange(0, 4).Draw(t, "sessions") {
			var s SessionFrames
			for range rapid.IntRange(0, 3).Draw(t, "frames") {
				f := features.Frame{Blocks: map[features.Modality]features.Block{}}
				for _, mod := range features.Modalities() {
					if rapid.Bool().Draw(t, "has") {
						f.Blocks[mod] = drawBlock(t, mod)
					}
				}
				s.Frames = append(s.Frames, f)
			}
			sessions = append(sessions, s)
		}
		ts, limits, err := m.Train(sessions, TrainOptions{Device: Desktop, Force: rapid.Bool().Draw(t, "force")})
		if err != nil {
			require.ErrorIs(t, err, ErrTooLittle)
			require.Contains(t, limits, ReasonTooLittle)
			return
		}
		s, at := NewState(Desktop), testStart
		for range 3 {
			f := features.Frame{Blocks: map[features.Modality]features.Block{features.Keystroke: drawBlock(t, features.Keystroke)}}
			at = at.Add(time.Minute)
			in := input(f, at)
			in.Duration = time.Minute
			s, _ = m.Add(s, in, ts, at)
		}
		p := m.Assess(s, ts, at, AssessOptions{})
		requireHonest(t, p)
		if next, err := m.Adapt(ts, s, p); err == nil {
			requireHonest(t, m.Assess(m.Rescore(s, next), next, at, AssessOptions{}))
		}
	})
}

func FuzzTemplateUnmarshal(f *testing.F) {
	m := populated()
	owner := drawPerson(m.Background(features.Keystroke), 15)
	ts := enrolled(m, owner)
	raw, err := ts[0].MarshalBinary()
	require.NoError(f, err)
	f.Add(raw)
	frame := owner.frame(owner.day(), 60)
	f.Fuzz(func(t *testing.T, raw []byte) {
		var tmpl Template
		if tmpl.UnmarshalBinary(raw) != nil {
			return
		}
		s, _ := m.Add(NewState(Desktop), input(frame, testStart), Templates{tmpl}, testStart)
		requireHonest(t, m.Assess(s, Templates{tmpl}, testStart, AssessOptions{}))
	})
}

// The earlier endpoints do not distinguish likely: under the cap of a recovery no session is STABLE.
func TestLegacyTrustObeysTheCap(t *testing.T) {
	t.Parallel()
	m := populated()
	owner := drawPerson(m.Background(features.Keystroke), 3)
	ts := enrolled(m, owner)
	s, at := run(m, owner, ts, 6, NewState(Desktop), testStart.AddDate(0, 0, 9))
	free := LegacyTrust(s, m.Assess(s, ts, at, AssessOptions{}))
	require.Equal(t, TrustStable, free.State)
	require.Greater(t, free.Score, .5)
	capped := LegacyTrust(s, m.Assess(s, ts, at, AssessOptions{CapLikely: true}))
	require.Equal(t, TrustWatch, capped.State)
	require.LessOrEqual(t, capped.Score, .5)
	require.Contains(t, capped.Reasons, ReasonRecoveryCap)
}
