package assurance

import (
	"time"

	"github.com/countersign-dev/countersign/internal/behavior/scoring"
	"github.com/countersign-dev/countersign/internal/platform/reason"
	"github.com/countersign-dev/countersign/models"
)

// SessionIdle is how long a session may be without activity before it is expired.
const SessionIdle = 30 * time.Minute

// Effective is a session's status at a time: one without activity for SessionIdle is expired, however late upkeep is.
func Effective(s models.Session, now time.Time) models.SessionStatus {
	if s.Status == models.SessionActive && now.Sub(s.LastActivityAt) >= SessionIdle {
		return models.SessionExpired
	}
	return s.Status
}

// overCode is the reason code of a session that is over at a time, whose evidence counts for nothing; empty for an active one.
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

// Current is the evidence of a session that counts at a time: none of one that is over, whose reason code it returns.
func (a *Assessor) Current(s models.Session, now time.Time) (scoring.State, reason.Code, error) {
	if code := overCode(s, now); code != "" {
		return scoring.NewState(scoring.DeviceClass(s.DeviceClass)), code, nil
	}
	state, err := a.OpenState(s)
	return state, "", err
}

// Marked adds the code to what the profile says of the operator's continuity, and to its limitations.
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
