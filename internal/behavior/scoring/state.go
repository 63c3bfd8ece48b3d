package scoring

import (
	"math"
	"slices"
	"time"

	"github.com/countersign-dev/countersign/internal/behavior/features"
)

// State is the running assurance of one session: only what the rules need of its frames. Its size is bounded regardless of what a
// client sends. It is a value: Add returns a new one. Store it with MarshalBinary.
type State struct {
	Device DeviceClass `json:"device"`
	// Accepted frames.
	Frames int `json:"frames"`
	// Presses in all accepted frames.
	Keys int `json:"keys"`
	// Active time over all accepted frames.
	ActiveMS float64                   `json:"active_ms"`
	Amounts  map[features.Modality]int `json:"amounts,omitempty"`

	// When the last accepted frame arrived, Unix milliseconds.
	LastMS int64 `json:"last_ms"`
	// When the latest frame ended, by its own clock.
	LastEndMS float64 `json:"last_end_ms"`
	FirstMS   int64   `json:"first_ms"`
	// Sum of the frames' own durations.
	DurationMS float64 `json:"duration_ms"`
	ClockMS    float64 `json:"clock_ms"`
	Pattern    pattern `json:"pattern"`
	Scatter    scatter `json:"scatter"`

	Keystroke window `json:"keystroke"`
	Pointer   window `json:"pointer"`

	Presence []presenceFrame `json:"presence,omitempty"`
	Replay   replayState     `json:"replay"`
	Activity activity        `json:"activity"`
	// Limitations from clocks and order.
	Oddities []string `json:"oddities,omitempty"`
}

// replayState holds what detects replays within a session: counters of detections, digests and fingerprints of frames.
type replayState struct {
	Exact     int      `json:"exact,omitempty"`
	Near      int      `json:"near,omitempty"`
	Elsewhere int      `json:"elsewhere,omitempty"`
	Digests   []uint64 `json:"digests,omitempty"`
	// Keys of each of prints; the last is still growing below passageKeys.
	Sizes  []int `json:"sizes,omitempty"`
	prints []fingerprint
}

// NewState returns the state of a session without evidence.
func NewState(device DeviceClass) State {
	if device == "" {
		device = UnknownDevice
	}
	return State{Device: device}
}

// Input is one validated, accepted frame with the service's knowledge of it.
type Input struct {
	Frame features.Frame
	// Id of the stored frame, listed in evidence_refs.
	Ref string
	// The frame's own time.
	Timestamp time.Time
	// The frame's own duration.
	Duration time.Duration
	// Zero where the frame does not say.
	WindowStart time.Time
	WindowEnd   time.Time
	// The service has seen Frame.Digest() before in this session.
	SeenBefore bool
	// The service has seen Frame.Digest() before, in another session or of another subject.
	SeenElsewhere bool
	Known         Passages
}

// Ack is the result of adding a frame, in the terms of an EvidenceAck.
type Ack struct {
	Status          features.Status
	Coverage        Coverage
	EvidenceWindows int
	ActiveSeconds   float64
	Modalities      []string
	Reasons         []string
	// What to add to Input.Known for the frames to come; empty if the frame completed no passage.
	Passage Passages
}

// Add adds a frame to the session's state and scores it against the subject's templates. at is the time of arrival. The argument is
// not modified. A frame that contradicts itself is rejected, and the state is returned unchanged.
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

// couldMatch reports whether the latest typing could pass as the enrolled person's in a replay. Other typing need not be recognized,
// and must not displace passages that must be.
func (s State) couldMatch() bool {
	last, ok := s.Keystroke.short()
	return !s.Keystroke.Scored || !ok || last >= revokeLLR
}

// observeBlocks adds the frame's blocks to the windows and scores them against the templates.
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
	if b, ok := in.Frame.Block(features.Keystroke); ok && b.Cells.Filled() > 0 && m.backgrounds[features.Keystroke] != nil {
		bg := m.backgrounds[features.Keystroke]
		weighed := temporary(bg.Dim())
		defer temporaries.Put(weighed)
		bg.weighInto(*weighed, b)
		s.Scatter = s.Scatter.observe(bg, s.Pattern.cells, *weighed, in.Frame)
		s.Pattern = s.Pattern.observe(bg, *weighed, b.Events)
	}
	s = s.aged(now)
	at := moment{now, s.Activity.SpanMS}
	s.Keystroke = m.observeWindow(s.Keystroke, in, m.usable(ts, features.Keystroke, s.Device), features.Keystroke, at)
	s.Pointer = m.observeWindow(s.Pointer, in, m.usable(ts, features.Pointer, s.Device), features.Pointer, at)
	return s
}

// observeWindow adds one block to the window of its modality, and scores the window.
func (m *Model) observeWindow(w window, in Input, t *Template, mod features.Modality, at moment) window {
	b, ok := in.Frame.Block(mod)
	if !ok || b.Cells.Filled() == 0 {
		return w
	}
	bg, carried := m.backgrounds[mod], carries(mod, b)
	if bg != nil {
		weighed := temporary(bg.Dim())
		defer temporaries.Put(weighed)
		bg.weighInto(*weighed, b)
		b.Cells = *weighed
	}
	w, completed := w.push(mod, b, at, in.Ref)
	if carried {
		w.FreshMS = at.ms
	}
	return w.score(bg, t, completed).vouched(bg, t, b, at)
}

// current returns the template of the modality and device if it was trained with the active background. Its data need not be loaded,
// which suffices to assess a state that was already scored.
func (m *Model) current(ts Templates, mod features.Modality, device DeviceClass) *Template {
	t := ts.Find(mod, device)
	if bg := m.backgrounds[mod]; t == nil || bg == nil || t.ModelVersion != bg.Version {
		return nil
	}
	return t
}

// usable returns a current template whose data is loaded.
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

// observeClock updates the session's times and adds an oddity for frames that overlap, arrive out of order or have an
// inconsistent clock. It uses the frame's own times only for such checks, never as the time of evidence.
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

// lastN returns the last n elements, or all if there are fewer.
func lastN[T any](v []T, n int) []T { return v[max(0, len(v)-n):] }

// union returns the codes of both lists, each once, in order.
func union(a, b []string) []string {
	s := set{}
	s.add(a...)
	s.add(b...)
	return s.list()
}

// ack describes the state after a frame.
func (s State) ack(status features.Status, reasons []string) Ack {
	return Ack{Status: status, Coverage: s.Coverage(), EvidenceWindows: s.Frames, ActiveSeconds: s.activeSeconds(),
		Modalities: s.modalities(), Reasons: reasons}
}

// activeSeconds returns the active time in seconds with one decimal.
func (s State) activeSeconds() float64 { return math.Round(s.ActiveMS/100) / 10 }

// modalities lists the modalities with evidence in the session, in the order of the schema.
func (s State) modalities() []string {
	out := []string{}
	for _, mod := range features.Modalities() {
		if s.Amounts[mod] > 0 {
			out = append(out, string(mod))
		}
	}
	return out
}
