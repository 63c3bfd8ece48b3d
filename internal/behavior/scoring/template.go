package scoring

import (
	"errors"
	"fmt"
	"math"

	"github.com/countersign-dev/countersign/internal/behavior/features"
)

// DeviceClass is the kind of device a session runs on. Templates are bound to it and never matched across.
type DeviceClass string

// The device classes.
const (
	Desktop       DeviceClass = "desktop"
	Mobile        DeviceClass = "mobile"
	Tablet        DeviceClass = "tablet"
	UnknownDevice DeviceClass = "unknown"
)

// SessionVector is one session merged: the means of its cells and how much they stand on. Counts are kept only as
// powers of two, so that no text can be told from them.
type SessionVector struct {
	Cells    features.Vector
	Keys     int
	ActiveMS float64
	AtMS     int64 // when the session ended, Unix milliseconds
	Adapted  bool  // taken in after enrolment
}

// Template is what is kept of an enrolled person for one modality and device class. It holds no frame: means of
// sessions, the model's posterior of the person, and coarse fingerprints that recognise replayed frames.
type Template struct {
	Modality      features.Modality
	Device        DeviceClass
	ModelVersion  string // version of the background it was learned with
	SchemaVersion string
	Sessions      []SessionVector
	Provisional   bool // claims are capped at likely
	Adaptations   int
	Limitations   []string
	gallery       []fingerprint
	posterior     posterior
}

// Templates are all templates of one subject.
type Templates []Template

// Find returns the template of a modality and device class, nil where there is none.
func (ts Templates) Find(m features.Modality, d DeviceClass) *Template {
	for i := range ts {
		if ts[i].Modality == m && ts[i].Device == d {
			return &ts[i]
		}
	}
	return nil
}

// SessionFrames are the accepted enrolment frames of one session, in order.
type SessionFrames struct {
	AtMS   int64 // when the session ended, Unix milliseconds
	Frames []features.Frame
}

// ErrTooLittle is returned by Train where no modality has enough evidence for a template.
var ErrTooLittle = errors.New("scoring: too little evidence for a template")

// TrainOptions says for which device class to train and whether to accept less than a full enrolment.
type TrainOptions struct {
	Device DeviceClass
	Force  bool // train on any session with partial coverage; the template is provisional
}

// Train learns templates of every scored modality with enough evidence. Limitations name what weakens them. Where none
// has enough it returns ErrTooLittle, with the limitations saying what is missing.
func (m *Model) Train(sessions []SessionFrames, opt TrainOptions) (Templates, []string, error) {
	var out Templates
	limits := set{}
	for _, mod := range features.Modalities() {
		bg := m.backgrounds[mod]
		if bg == nil {
			continue
		}
		merged, prints := mergeSessions(bg, mod, sessions)
		ready, provisional := enough(mod, merged, opt.Force)
		if !ready {
			continue
		}
		t := Template{Modality: mod, Device: opt.Device, ModelVersion: bg.Version, SchemaVersion: bg.SchemaVersion,
			Sessions: latest(merged), Provisional: provisional, gallery: prints}
		if err := t.learn(bg); err != nil {
			return nil, nil, err
		}
		for _, l := range t.Limitations {
			limits.add(l)
		}
		out = append(out, t)
	}
	if opt.Device == UnknownDevice || opt.Device == "" {
		limits.add(ReasonDeviceUnknown)
	}
	if len(out) == 0 {
		limits.add(ReasonTooLittle)
		return nil, limits.list(), ErrTooLittle
	}
	return out, limits.list(), nil
}

func mergeSessions(bg *Background, mod features.Modality, sessions []SessionFrames) ([]SessionVector, []fingerprint) {
	var out []SessionVector
	var prints []fingerprint
	for _, s := range sessions {
		v := SessionVector{Cells: features.NewVector(bg.Dim()), AtMS: s.AtMS}
		for _, f := range s.Frames {
			b, ok := f.Block(mod)
			if !ok {
				continue
			}
			merge(v.Cells, bg.Weigh(b))
			v.ActiveMS += b.ActiveMS
			if mod == features.Keystroke {
				v.Keys += b.Events
				prints = append(prints, newFingerprint(bg, b.Cells))
			}
		}
		coarsen(v.Cells)
		if v.Cells.Filled() > 0 {
			out = append(out, v)
		}
	}
	if len(prints) > galleryFrames {
		prints = prints[len(prints)-galleryFrames:]
	}
	return out, prints
}

// coarsen keeps counts as powers of two up to maxSessionCount.
func coarsen(v features.Vector) {
	for i, n := range v.N {
		if n > 0 {
			v.N[i] = math.Min(math.Exp2(math.Round(math.Log2(n))), maxSessionCount)
		}
	}
}

func latest(sessions []SessionVector) []SessionVector {
	if len(sessions) > maxSessions {
		return sessions[len(sessions)-maxSessions:]
	}
	return sessions
}

// learn computes the posterior and names what is weak about the template.
func (t *Template) learn(bg *Background) error {
	all := make([]information, len(t.Sessions))
	ok := true
	for i, s := range t.Sessions {
		var fine bool
		all[i], fine = inform(bg, s.Cells)
		ok = ok && fine
	}
	p, fine := combine(bg, all)
	if !ok || !fine {
		return fmt.Errorf("scoring: template of %s cannot be computed", t.Modality)
	}
	t.posterior = p
	t.Limitations = t.weaknesses(bg, all)
	return nil
}

// weaknesses names what is weak: provisional, one session only, or sessions that do not fit the others.
func (t *Template) weaknesses(bg *Background, all []information) []string {
	limits := set{}
	if t.Provisional {
		limits.add(ReasonProvisional)
	}
	if len(t.Sessions) == 1 {
		limits.add(ReasonSingleSession)
	}
	if len(t.Sessions) > 1 && t.Modality == features.Keystroke && t.inconsistent(bg, all) {
		limits.add(ReasonInconsistent)
	}
	if t.Adaptations > 0 {
		limits.add(ReasonAdapted)
	}
	return limits.list()
}

func (t *Template) inconsistent(bg *Background, all []information) bool {
	for i := range all {
		others := append(append([]information(nil), all[:i]...), all[i+1:]...)
		if p, ok := combine(bg, others); ok && llr(bg, p, t.Sessions[i].Cells) < inconsistentSession {
			return true
		}
	}
	return false
}

// set is a small ordered set of codes.
type set map[string]int

func (s set) add(codes ...string) {
	for _, code := range codes {
		if _, ok := s[code]; !ok {
			s[code] = len(s)
		}
	}
}

func (s set) list() []string {
	out := make([]string, len(s))
	for code, i := range s {
		out[i] = code
	}
	return out
}
