package scoring

import (
	"errors"
	"math"

	"github.com/countersign-dev/countersign/internal/behavior/features"
)

// Errors of Adapt: why a session is not used. The template is unchanged.
var (
	ErrNotConfirmed = errors.New("scoring: only a confirmed session may adapt a template")
	ErrTooSoon      = errors.New("scoring: the template adapted less than twenty hours ago")
	ErrNotAdaptable = errors.New("scoring: the template cannot adapt")
)

// Adapt returns the subject's keystroke template updated with the confirmed session, as a new value: store the old one for rollback.
// profile must be the assessment of this state at the session's end.
//
// Adaptation is limited in rate (one session per twenty hours) and in distance: the first sessions of the enrollment are never
// replaced, and every cell of an adapted session is kept close to them. An attacker who shifts the template by small steps
// therefore cannot move it far, however many sessions are used.
func (m *Model) Adapt(ts Templates, s State, profile Profile) (Templates, error) {
	bg := m.backgrounds[features.Keystroke]
	at := -1
	for i := range ts {
		if ts[i].Modality == features.Keystroke && ts[i].Device == s.Device {
			at = i
		}
	}
	if at < 0 || m.usable(ts, features.Keystroke, s.Device) == nil {
		return ts, ErrNotAdaptable
	}
	if profile.Claim(ClaimContinuity).Status != Confirmed || s.Keystroke.keys() < adaptMinKeys {
		return ts, ErrNotConfirmed
	}
	t := ts[at]
	if s.LastMS-t.lastAdapted() < adaptMinIntervalMS {
		return ts, ErrTooSoon
	}
	t.Sessions = t.withSession(bg, s)
	t.Adaptations++
	t.gallery = lastN(append(append([]fingerprint(nil), t.gallery...), s.Replay.prints...), galleryFrames)
	if err := t.learn(bg); err != nil {
		return ts, err
	}
	out := append(Templates(nil), ts...)
	out[at] = t
	return out, nil
}

// lastAdapted returns the end of the newest adapted session in Unix milliseconds; 0 for none.
func (t *Template) lastAdapted() int64 {
	last := int64(math.MinInt64 / 2)
	for _, s := range t.Sessions {
		if s.Adapted {
			last = max(last, s.AtMS)
		}
	}
	return last
}

// withSession returns the template's sessions with the state's window added. Anchors are permanent; the remaining places go to
// the newest adapted sessions.
func (t *Template) withSession(bg *Background, s State) []SessionVector {
	cells := s.Keystroke.merged(bg.Dim())
	coarsen(cells)
	anchor := t.anchors()
	t.holdNear(bg, cells, anchor)
	added := SessionVector{Cells: cells, Keys: s.Keystroke.keys(), ActiveMS: s.Keystroke.activeMS(), AtMS: s.LastMS, Adapted: true}
	var adapted []SessionVector
	for _, old := range t.Sessions {
		if old.Adapted {
			adapted = append(adapted, old)
		}
	}
	adapted = lastN(append(adapted, added), maxSessions-min(len(anchor), anchorSessions))
	return append(lastN(anchor, maxSessions-len(adapted)), adapted...)
}

// anchors returns the sessions of the enrollment that adaptation never replaces.
func (t *Template) anchors() []SessionVector {
	var out []SessionVector
	for _, s := range t.Sessions {
		if !s.Adapted {
			out = append(out, s)
		}
	}
	return out
}

// holdNear limits every cell to adaptStep standard deviations of day-to-day change from the mean of the anchors.
func (t *Template) holdNear(bg *Background, cells features.Vector, anchors []SessionVector) {
	vectors := make([]features.Vector, len(anchors))
	for i, s := range anchors {
		vectors[i] = s.Cells
	}
	center := mergeAll(bg.Dim(), vectors...)
	for i, n := range cells.N {
		if n == 0 {
			continue
		}
		if center.N[i] == 0 {
			cells.N[i], cells.M[i] = 0, 0 // the anchors say nothing to hold it near to
			continue
		}
		reach := adaptStep * math.Sqrt(bg.w.at(i, i)+bg.Sig2[i]/center.N[i])
		cells.M[i] = math.Min(math.Max(cells.M[i], center.M[i]-reach), center.M[i]+reach)
	}
}

// Remember returns the templates with the session's frames added to those that replays are compared with, and nothing else
// changed. Only trusted sessions may be remembered: an attacker could otherwise displace the stored frames.
func (m *Model) Remember(ts Templates, s State, profile Profile) Templates {
	status := profile.Claim(ClaimContinuity).Status
	if status != Confirmed && status != Likely {
		return ts
	}
	out := append(Templates(nil), ts...)
	for i, t := range out {
		if t.Modality == features.Keystroke && t.Device == s.Device {
			out[i].gallery = lastN(append(append([]fingerprint(nil), t.gallery...), s.Replay.prints...), galleryFrames)
		}
	}
	return out
}

// Anchors returns the merged sessions of the enrollment that adaptation never replaces, oldest first. A person adds these to a
// background that a deployment learns.
func (t Template) Anchors() []features.Vector {
	var out []features.Vector
	for _, s := range t.Sessions {
		if !s.Adapted {
			out = append(out, s.Cells)
		}
	}
	return lastN(out, anchorSessions)
}
