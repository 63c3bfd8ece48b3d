package scoring

import (
	"github.com/countersign-dev/countersign/internal/behavior/features"
)

// stateVersion and templateVersion are the first byte of the stored forms.
const (
	stateVersion    = 6
	templateVersion = 2
)

// MarshalBinary encodes the state for storage, in at most about 6 kB.
func (s State) MarshalBinary() ([]byte, error) { return s.AppendBinary(make([]byte, 0, 6<<10)) }

// AppendBinary appends the output of MarshalBinary.
func (s State) AppendBinary(out []byte) ([]byte, error) { return encode(out, stateVersion, s.pack) }

// UnmarshalBinary decodes the output of MarshalBinary. Empty input is a state without evidence.
func (s *State) UnmarshalBinary(data []byte) error { return s.DecodeIn(nil, data) }

// DecodeIn is UnmarshalBinary into memory: the state is valid until the memory is reset. It copies what it stores.
func (s *State) DecodeIn(mem *Memory, data []byte) error {
	if len(data) == 0 {
		*s = NewState(UnknownDevice)
		return nil
	}
	var out State
	if err := decode(stateVersion, data, mem, out.pack); err != nil {
		return err
	}
	*s = out
	return nil
}

// pack lists the fields of a state in the order of the stored form.
func (s *State) pack(p *packer) {
	text(p, &s.Device)
	p.count(&s.Frames)
	p.count(&s.Keys)
	p.double(&s.ActiveMS)
	s.packAmounts(p)
	p.whole(&s.LastMS)
	p.double(&s.LastEndMS)
	p.whole(&s.FirstMS)
	p.double(&s.DurationMS)
	p.double(&s.ClockMS)
	s.Pattern.pack(p)
	s.Scatter.pack(p)
	s.Keystroke.pack(p, features.Keystroke)
	s.Pointer.pack(p, features.Pointer)
	list(p, &s.Presence, presenceFrames, func(f *presenceFrame) { f.pack(p) })
	s.Replay.pack(p)
	texts(p, &s.Oddities, maxCodes)
	s.Activity.pack(p)
}

// pack lists the fields of the activity.
func (a *activity) pack(p *packer) {
	p.whole(&a.SpanMS)
	p.whole(&a.PresenceMS)
	p.whole(&a.ComparedMS)
}

// maxCodes exceeds the number of codes in any list.
const maxCodes = 64

// countedModalities are those whose frames a stored state counts, in the order of its stored form.
var countedModalities = []features.Modality{features.Keystroke, features.Pointer, features.Scroll, features.Rhythm, features.Gaze}

// packAmounts packs the number of frames with each of countedModalities.
func (s *State) packAmounts(p *packer) {
	for _, mod := range countedModalities {
		n := s.Amounts[mod]
		if p.count(&n); p.reading && n > 0 {
			if s.Amounts == nil {
				s.Amounts = map[features.Modality]int{}
			}
			s.Amounts[mod] = n
		}
	}
}

// pack lists the fields of a window.
func (w *window) pack(p *packer, mod features.Modality) {
	list(p, &w.chunks, maxChunks, func(c *chunk) {
		p.cells(features.Dim(mod), &c.cells)
		p.count(&c.Keys)
		p.double(&c.ActiveMS)
		p.whole(&c.EndMS)
		texts(p, &c.Refs, maxRefs)
		p.whole(&c.BeganMS)
		p.whole(&c.BeganSpanMS)
	})
	list(p, &w.Aside, maxChunks, func(a *aside) {
		p.count(&a.Keys)
		p.whole(&a.EndMS)
	})
	list(p, &w.Shorts, recentVerdicts, p.double)
	p.double(&w.Long)
	p.flag(&w.Scored)
	p.flag(&w.Restarted)
	p.flag(&w.WasOperator)
	p.whole(&w.FreshMS)
	p.whole(&w.MatchedMS)
}

// pack lists the fields of the pattern.
func (t *pattern) pack(p *packer) {
	p.double(&t.Keys)
	p.double(&t.Ratio)
	p.cells(features.Dim(features.Keystroke), &t.cells)
}

// pack lists the fields of one frame's presence values.
func (f *presenceFrame) pack(p *packer) {
	p.count(&f.Keys)
	p.count(&f.Ranges)
	p.flag(&f.Tested)
	p.count(&f.PointerRules)
	p.flag(&f.HasPointer)
}

// pack lists the counters, digests and fingerprints by which replays are found.
func (r *replayState) pack(p *packer) {
	p.count(&r.Exact)
	p.count(&r.Near)
	p.count(&r.Elsewhere)
	list(p, &r.Digests, recentDigests, p.bits)
	list(p, &r.prints, storedPrints, p.print)
	list(p, &r.Sizes, storedPrints, p.count)
	if len(r.Sizes) != len(r.prints) {
		p.fail()
	}
}

// MarshalBinary encodes the template for storage, in about 35 kB for keystrokes: means of sessions, the posterior, and
// fingerprints. It is personal data: seal it.
func (t Template) MarshalBinary() ([]byte, error) {
	return encode(make([]byte, 0, 40<<10), templateVersion, t.pack)
}

// UnmarshalBinary decodes the output of MarshalBinary.
func (t *Template) UnmarshalBinary(data []byte) error { return t.DecodeIn(nil, data) }

// DecodeIn is UnmarshalBinary into memory: the template is valid until the memory is reset. It copies what it stores.
func (t *Template) DecodeIn(mem *Memory, data []byte) error {
	var out Template
	if err := decode(templateVersion, data, mem, out.pack); err != nil {
		return err
	}
	*t = out
	return nil
}

// pack lists the fields of a template in the order of the stored form.
func (t *Template) pack(p *packer) {
	text(p, &t.Modality)
	text(p, &t.Device)
	text(p, &t.ModelVersion)
	text(p, &t.SchemaVersion)
	p.flag(&t.Provisional)
	p.count(&t.Adaptations)
	texts(p, &t.Limitations, maxCodes)
	dim := features.Dim(t.Modality)
	if dim == 0 {
		p.fail()
		return
	}
	list(p, &t.Sessions, maxSessions, func(s *SessionVector) {
		p.vector(dim, &s.Cells)
		p.count(&s.Keys)
		p.double(&s.ActiveMS)
		p.whole(&s.AtMS)
		p.flag(&s.Adapted)
	})
	list(p, &t.gallery, galleryFrames, p.print)
	if p.reading {
		t.posterior = p.newPosterior(dim)
	} else if len(t.posterior.mean) != dim {
		p.fail() // without its data it is no template
		return
	}
	p.singles(t.posterior.mean)
	p.singles(t.posterior.cov)
}
