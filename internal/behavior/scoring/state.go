package scoring

import (
	"math"
	"slices"
	"time"

	"github.com/countersign-dev/countersign/internal/behavior/features"
)

// State is the running assurance of one session: what the rules need of its frames and nothing more. Its size is bounded
// whatever a client sends. It is a value: Add returns a new one. Store it with MarshalBinary.
type State struct {
	Device   DeviceClass               `json:"device"`
	Frames   int                       `json:"frames"`    // accepted frames
	Keys     int                       `json:"keys"`      // presses in all accepted frames
	ActiveMS float64                   `json:"active_ms"` // active time over all accepted frames
	Amounts  map[features.Modality]int `json:"amounts,omitempty"`

	LastMS     int64   `json:"last_ms"`     // when the last accepted frame arrived, Unix milliseconds
	LastEndMS  float64 `json:"last_end_ms"` // when the latest frame ended, by its own clock
	FirstMS    int64   `json:"first_ms"`
	DurationMS float64 `json:"duration_ms"` // sum of the frames' own durations
	ClockMS    float64 `json:"clock_ms"`
	TableCov   float64 `json:"table_cov"`
	TableKeys  int     `json:"table_keys"`

	Keystroke window `json:"keystroke"`
	Pointer   window `json:"pointer"`

	Presence []presenceFrame `json:"presence,omitempty"`
	Replay   replayState     `json:"replay"`
	Activity activity        `json:"activity"`
	Oddities []string        `json:"oddities,omitempty"` // limitations from clocks and order
}

type replayState struct {
	Exact     int      `json:"exact,omitempty"`
	Near      int      `json:"near,omitempty"`
	Elsewhere int      `json:"elsewhere,omitempty"`
	Digests   []uint64 `json:"digests,omitempty"`
	Sizes     []int    `json:"sizes,omitempty"` // keys of each of prints; the last is still growing below passageKeys
	prints    []fingerprint
}

// NewState is the state of a session that has no evidence yet.
func NewState(device DeviceClass) State {
	if device == "" {
		device = UnknownDevice
	}
	return State{Device: device}
}

// Input is one parsed, accepted frame with what the service knows of it.
type Input struct {
	Frame         features.Frame
	Ref           string        // id of the stored frame, listed in evidence_refs
	Timestamp     time.Time     // the frame's own time
	Duration      time.Duration // the frame's own duration
	WindowStart   time.Time     // zero where the frame does not say
	WindowEnd     time.Time
	SeenBefore    bool // the service has seen Frame.Digest() before in this session
	SeenElsewhere bool // the service has seen Frame.Digest() before, in another session or of another subject
	Known         Passages
}

// Ack is what becomes of a frame, in the terms of an EvidenceAck.
type Ack struct {
	Status          features.Status
	Coverage        Coverage
	EvidenceWindows int
	ActiveSeconds   float64
	Modalities      []string
	Reasons         []string
	Passage         Passages // what to add to Input.Known for the frames to come; empty if the frame completed no passage
}

// Add takes a frame into the session's state, scoring it against the subject's templates. at is the time of arrival. The
// state passed in is not changed. A frame whose parts contradict each other is rejected and the state comes back as it was.
func (m *Model) Add(s State, in Input, ts Templates, at time.Time) (State, Ack) {
	now := at.UnixMilli()
	duration := float64(in.Duration.Milliseconds())
	if len(in.Frame.Blocks) == 0 {
		return s, s.ack(features.Neutral, []string{features.ReasonEmpty})
	}
	if in.Frame.ActiveMS() > duration*1.1+contradictSlack {
		return s, s.ack(features.Rejected, []string{ReasonContradictDuration})
	}
	if !in.WindowEnd.IsZero() && in.WindowStart.After(in.WindowEnd) {
		return s, s.ack(features.Rejected, []string{features.ReasonContradicts})
	}
	odd := set{}
	s.Activity = m.observeActivity(s, in, ts, now)
	s = s.observeClock(in, now, odd)
	kind, passage := m.observeReplay(&s, in, ts, odd)
	if kind == ReasonReplayExact || kind == ReasonReplayElsewhere {
		s.LastMS = now
		return s, s.ack(features.Neutral, odd.list())
	}
	if len(passage) > 0 {
		s.Activity.ComparedMS = now
	}
	s = m.observeBlocks(s, in, ts, now)
	if p, ok := newPresenceFrame(in.Frame); ok {
		s.Presence = lastN(append(append([]presenceFrame(nil), s.Presence...), p), presenceFrames)
		s.Activity.PresenceMS = now
	}
	s.Frames++
	s.LastMS = now
	ack := s.ack(features.Accepted, odd.list())
	if s.couldMatch() {
		ack.Passage = passage
	}
	return s, ack
}

// couldMatch says whether what was typed last could pass as the enrolled person's when it comes again. Other typing need not
// be recognised, and must not push out what has to be.
func (s State) couldMatch() bool {
	last, ok := s.Keystroke.short()
	return !s.Keystroke.Scored || !ok || last >= revokeLLR
}

func (m *Model) observeBlocks(s State, in Input, ts Templates, now int64) State {
	s.Keys += in.Frame.Keys()
	s.ActiveMS += in.Frame.ActiveMS()
	s.ClockMS = math.Max(s.ClockMS, in.Frame.ClockMS)
	amounts := map[features.Modality]int{}
	for mod, n := range s.Amounts {
		amounts[mod] = n
	}
	for _, mod := range in.Frame.Present() {
		amounts[mod]++
	}
	s.Amounts = amounts
	if cov, ok := in.Frame.Presence.Get("table_cov"); ok {
		keys := in.Frame.Keys()
		s.TableCov = (s.TableCov*float64(s.TableKeys) + cov*float64(keys)) / math.Max(float64(s.TableKeys+keys), 1)
		s.TableKeys = min(s.TableKeys+keys, windowKeys)
	}
	s = s.aged(now)
	at := moment{now, s.Activity.SpanMS}
	s.Keystroke = m.observeWindow(s.Keystroke, in, m.usable(ts, features.Keystroke, s.Device), features.Keystroke, at)
	s.Pointer = m.observeWindow(s.Pointer, in, m.usable(ts, features.Pointer, s.Device), features.Pointer, at)
	return s
}

func (m *Model) observeWindow(w window, in Input, t *Template, mod features.Modality, at moment) window {
	b, ok := in.Frame.Block(mod)
	if !ok || b.Cells.Filled() == 0 {
		return w
	}
	bg, carried := m.backgrounds[mod], carries(mod, b)
	if bg != nil {
		b.Cells = bg.Weigh(b)
	}
	w, completed := w.push(mod, b, at, in.Ref)
	if carried {
		w.FreshMS = at.ms
	}
	return w.score(bg, t, completed).vouched(bg, t, b, at)
}

// current is the template of the modality and device, if it was learned under the background in force. Its data may not
// be loaded: that is enough to judge a state that was scored before.
func (m *Model) current(ts Templates, mod features.Modality, device DeviceClass) *Template {
	t := ts.Find(mod, device)
	if bg := m.backgrounds[mod]; t == nil || bg == nil || t.ModelVersion != bg.Version {
		return nil
	}
	return t
}

// usable is a current template that can be scored against.
func (m *Model) usable(ts Templates, mod features.Modality, device DeviceClass) *Template {
	if t := m.current(ts, mod, device); t != nil && t.posterior.mean != nil {
		return t
	}
	return nil
}

// Rescore scores the windows of a state again, after templates were trained, adapted, rolled back or removed.
func (m *Model) Rescore(s State, ts Templates) State {
	rescore := func(w window, mod features.Modality) window {
		t, bg := m.usable(ts, mod, s.Device), m.backgrounds[mod]
		chunks := w.chunks
		w.chunks, w.Shorts, w.Restarted, w.WasOperator, w.MatchedMS = nil, nil, false, false, 0
		for _, c := range chunks {
			w.chunks = append(slices.Clone(w.chunks), c)
			w = w.score(bg, t, complete(mod, c))
		}
		return w
	}
	s.Keystroke, s.Pointer = rescore(s.Keystroke, features.Keystroke), rescore(s.Pointer, features.Pointer)
	return s
}

func (s State) observeClock(in Input, now int64, odd set) State {
	end, start := in.WindowEnd, in.WindowStart
	if end.IsZero() {
		end = in.Timestamp
	}
	if start.IsZero() {
		start = end.Add(-in.Duration)
	}
	if s.FirstMS == 0 {
		s.FirstMS = now - in.Duration.Milliseconds()
	}
	s.DurationMS += float64(in.Duration.Milliseconds())
	endMS, startMS := float64(end.UnixMilli()), float64(start.UnixMilli())
	ahead := math.Max(math.Max(endMS, startMS), float64(in.Timestamp.UnixMilli())) > float64(now)+futureSkewMS
	if ahead || s.DurationMS > float64(now-s.FirstMS)+futureSkewMS || start.After(end) {
		odd.add(ReasonClock)
	}
	if ahead { // says nothing of the order of frames: those that come with the right time are not late
		s.Oddities = union(s.Oddities, odd.list())
		return s
	}
	if s.LastEndMS > 0 {
		overlap := s.LastEndMS - startMS
		switch {
		case endMS < s.LastEndMS:
			odd.add(ReasonOutOfOrder)
		case overlap > 1000 && overlap > .1*(endMS-startMS):
			odd.add(ReasonOverlap)
		}
	}
	s.LastEndMS = math.Max(s.LastEndMS, endMS)
	s.Oddities = union(s.Oddities, odd.list())
	return s
}

func lastN[T any](v []T, n int) []T { return v[max(0, len(v)-n):] }

func union(a, b []string) []string {
	s := set{}
	s.add(a...)
	s.add(b...)
	return s.list()
}

func (s State) ack(status features.Status, reasons []string) Ack {
	return Ack{Status: status, Coverage: s.Coverage(), EvidenceWindows: s.Frames, ActiveSeconds: s.activeSeconds(),
		Modalities: s.modalities(), Reasons: reasons}
}

func (s State) activeSeconds() float64 { return math.Round(s.ActiveMS/100) / 10 }

func (s State) modalities() []string {
	out := []string{}
	for _, mod := range features.Modalities() {
		if s.Amounts[mod] > 0 {
			out = append(out, string(mod))
		}
	}
	return out
}
