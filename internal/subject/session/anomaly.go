package session

import (
	"time"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/behavior/scoring"
	"github.com/countersign-dev/countersign/internal/platform/events"

	"github.com/countersign-dev/countersign/models"
)

// anomalyClaims are the claims whose detection is recorded as an anomaly of the session.
var anomalyClaims = []string{scoring.ClaimAutomation, scoring.ClaimReplay, scoring.ClaimChange}

// anomaly is the input of anomalies: the profile after a frame, and the session before it.
type anomaly struct {
	principal identity.Principal
	subject   identity.SubjectSession
	before    models.Session // the session before the frame
	frame     string         // id of the frame
	templates scoring.Templates
	profile   scoring.Profile // after the frame
	at        time.Time
}

// anomalies returns session.anomaly for each anomaly claim that the frame newly caused. A claim that stays detected is
// recorded once; one that ceased and is detected again is recorded again.
func (s *Service) anomalies(a anomaly) (recorded []events.Entry, err error) {
	var was *scoring.Profile
	for _, name := range anomalyClaims {
		claim := a.profile.Claim(name)
		if claim.Status != scoring.Detected {
			continue
		}
		if was == nil { // assessed only if a claim is detected, which is rare
			profile, err := s.assessBefore(a)
			if err != nil {
				return nil, err
			}
			was = &profile
		}
		if was.Claim(name).Status == scoring.Detected {
			continue
		}
		recorded = append(recorded, entry(a.principal, a.subject, a.at, events.SessionAnomalyData{
			Session: a.before.ID, Claim: name, Status: string(claim.Status), Frame: a.frame, ReasonCodes: append([]string{}, claim.ReasonCodes...),
		}))
	}
	return recorded, nil
}

// assessBefore returns the profile of the session before the frame.
func (s *Service) assessBefore(a anomaly) (scoring.Profile, error) {
	state, err := s.assessor.OpenState(a.before)
	if err != nil {
		return scoring.Profile{}, err
	}
	return s.assessor.ModelOf(a.before.EnvironmentID).Assess(state, a.templates, a.at, scoring.AssessOptions{}), nil
}
