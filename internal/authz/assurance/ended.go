package assurance

import (
	"time"

	"github.com/countersign-dev/countersign/internal/behavior/scoring"
	"github.com/countersign-dev/countersign/internal/platform/reason"
	"github.com/countersign-dev/countersign/models"
)

// SessionIdle is the time without activity after which a session is expired.
const SessionIdle = 30 * time.Minute

// SessionLife is how long a session lasts at most. Nothing needs its ending after that.
const SessionLife = 30 * 24 * time.Hour

// Effective returns the status of a session at a time: one without activity for SessionIdle, or older than SessionLife, is expired, even before
// upkeep has expired it.
func Effective(s models.Session, now time.Time) models.SessionStatus {
	if s.Status == models.SessionActive && (now.Sub(s.LastActivityAt) >= SessionIdle || now.Sub(s.StartedAt) >= SessionLife) {
		return models.SessionExpired
	}
	return s.Status
}

// overCode returns the reason code of a session that has ended or expired at a time; empty for an active one.
func overCode(s models.Session, now time.Time) reason.Code {
	switch Effective(s, now) {
	case models.SessionActive:
		return ""
	case models.SessionExpired:
		return reason.SessionExpired
	default:
		return reason.SessionEnded
	}
}

// Current returns the evidence of a session that counts at a time. A session that has ended or expired has none, and its reason code
// is returned.
func (a *Assessor) Current(s models.Session, now time.Time) (scoring.State, reason.Code, error) {
	return a.current(nil, s, now)
}

// current is Current into memory, if it is not nil.
func (a *Assessor) current(mem *scoring.Memory, s models.Session, now time.Time) (scoring.State, reason.Code, error) {
	if code := overCode(s, now); code != "" {
		return scoring.NewState(scoring.DeviceClass(s.DeviceClass)), code, nil
	}
	state, err := a.openState(mem, s)
	return state, "", err
}

// Marked adds a reason code to the profile's claim of operator continuity and to its limitations; an empty code adds nothing.
func Marked(p scoring.Profile, code reason.Code) scoring.Profile {
	if code == "" {
		return p
	}
	for i, c := range p.Claims {
		if c.Claim == scoring.ClaimContinuity {
			p.Claims[i].ReasonCodes = append([]string{code}, c.ReasonCodes...)
			p.Claims[i].Limitations = append([]string{code}, c.Limitations...)
		}
	}
	p.Limitations = append([]string{code}, p.Limitations...)
	return p
}
