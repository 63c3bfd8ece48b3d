package scoring

import "github.com/countersign-dev/countersign/internal/behavior/features"

// SessionAmount is the amount of enrollment evidence of one session.
type SessionAmount struct {
	Keys            int
	PointerActiveMS float64
}

// Readiness reports whether an enrollment has enough evidence.
type Readiness struct {
	// full: three sessions of 100 keys.
	Ready bool
	// Enough for a template whose claims are capped at likely.
	Provisional bool
	// Sessions with enough keys.
	Sessions       int
	SessionsNeeded int
	Keys           int
	Limitations    []string
}

// Ready evaluates the enrollment sessions of a subject for the keystroke template. enrollment_ready of an EvidenceAck is Ready or
// Provisional: a provisional enrollment can be completed and has a limitation.
func Ready(sessions []SessionAmount) Readiness {
	r := Readiness{SessionsNeeded: readySessions}
	best := 0
	for _, s := range sessions {
		r.Keys += s.Keys
		best = max(best, s.Keys)
		if s.Keys >= readySessionKeys {
			r.Sessions++
		}
	}
	r.Ready = r.Sessions >= readySessions
	r.Provisional = !r.Ready && (best >= provisionalKeys || r.Sessions >= provisionalSessions)
	switch {
	case r.Provisional:
		r.Limitations = append(r.Limitations, ReasonProvisional)
	case !r.Ready:
		r.Limitations = append(r.Limitations, ReasonTooLittle)
	}
	return r
}

// enough reports whether merged sessions suffice for a template of a modality, and whether it is provisional.
func enough(mod features.Modality, sessions []SessionVector, force bool) (ready, provisional bool) {
	if mod == features.Keystroke {
		amounts := make([]SessionAmount, len(sessions))
		keys := 0
		for i, s := range sessions {
			amounts[i].Keys = s.Keys
			keys += s.Keys
		}
		r := Ready(amounts)
		return r.Ready || r.Provisional || force && keys >= partialKeys, !r.Ready
	}
	active := 0.0
	for _, s := range sessions {
		active += s.ActiveMS
	}
	if active >= pointerReadyMS {
		return true, len(sessions) < readySessions
	}
	return force && active >= partialPointer, true
}
