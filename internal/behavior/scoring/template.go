package scoring

import (
	"errors"
	"fmt"
	"math"

	"github.com/countersign-dev/countersign/internal/behavior/features"
)

// DeviceClass is the class of device of a session. Templates are never compared across classes.
type DeviceClass string

// The device classes.
const (
	Desktop       DeviceClass = "desktop"
	Mobile        DeviceClass = "mobile"
	Tablet        DeviceClass = "tablet"
	UnknownDevice DeviceClass = "unknown"
)

// SessionVector is one merged session: the means of its cells and their counts. Counts are rounded to powers of two, so that no text
// can be inferred from them.
type SessionVector struct {
	Cells    features.Vector
	Keys     int
	ActiveMS float64
	// When the session ended, Unix milliseconds.
	AtMS int64
	// Taken in after enrolment.
	Adapted bool
}

// Template describes an enrolled person for one modality and device class. It contains no frames: means of sessions, the posterior of
// the person, and coarse fingerprints that recognize replayed frames.
type Template struct {
	Modality features.Modality
	Device   DeviceClass
	// Version of the background it was learned with.
	ModelVersion  string
	SchemaVersion string
	Sessions      []SessionVector
	// Claims are capped at likely.
	Provisional bool
	Adaptations int
	Limitations []string
	gallery     []fingerprint
	posterior   posterior
}

// Templates are all templates of one subject.
type Templates []Template

// Find returns the template of a modality and device class; nil if there is none.
func (ts Templates) Find(m features.Modality, d DeviceClass) *Template {
	for i := range ts {
		if ts[i].Modality == m && ts[i].Device == d {
			return &ts[i]
		}
	}
	return nil
}

// SessionFrames are the accepted enrollment frames of one session, in order.
type SessionFrames struct {
	// When the session ended, Unix milliseconds.
	AtMS   int64
	Frames []features.Frame
}

// ErrTooLittle is returned by Train if no modality has enough evidence for a template.
var ErrTooLittle = errors.New("scoring: too little evidence for a template")

// TrainOptions select the device class, and whether less than a full enrollment is accepted.
type TrainOptions struct {
	Device DeviceClass
	// Train on any session with partial coverage; the template is provisional.
	Force bool
}

// Train trains a template for every scored modality with enough evidence. Limitations name its weaknesses. If no modality has enough,
// it returns ErrTooLittle, with limitations that name what is missing.
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

// mergeSessions merges each session's frames into one vector, and returns the fingerprints of the frames for the detection
// of replays. Sessions without evidence of the modality are omitted.
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

// coarsen rounds counts to powers of two up to maxSessionCount.
func coarsen(v features.Vector) {
	for i, n := range v.N {
		if n > 0 {
			v.N[i] = math.Min(math.Exp2(math.Round(math.Log2(n))), maxSessionCount)
		}
	}
}

// latest returns the newest maxSessions sessions.
func latest(sessions []SessionVector) []SessionVector {
	if len(sessions) > maxSessions {
		return sessions[len(sessions)-maxSessions:]
	}
	return sessions
}

// learn computes the posterior and the weaknesses of the template.
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

// weaknesses returns the limitations: provisional, one session only, or inconsistent sessions.
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

// inconsistent reports whether a session has a ratio below inconsistentSession against the posterior of the others.
func (t *Template) inconsistent(bg *Background, all []information) bool {
	for i := range all {
		others := append(append([]information(nil), all[:i]...), all[i+1:]...)
		if p, ok := combine(bg, others); ok && llr(bg, p, t.Sessions[i].Cells) < inconsistentSession+bg.margin()/2 {
			return true
		}
	}
	return false
}

// set is a small ordered set of codes.
type set map[string]int

// add appends the codes that the set does not contain yet.
func (s set) add(codes ...string) {
	for _, code := range codes {
		if _, ok := s[code]; !ok {
			s[code] = len(s)
		}
	}
}

// list returns the codes in the order in which they were added; never nil.
func (s set) list() []string {
	out := make([]string, len(s))
	for code, i := range s {
		out[i] = code
	}
	return out
}
