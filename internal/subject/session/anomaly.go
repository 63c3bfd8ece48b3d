package session

import (
	"context"
	"time"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/behavior/scoring"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/store"
	"github.com/countersign-dev/countersign/models"
)

// alarming are the claims whose detection is an anomaly of the session.
var anomalyClaims = []string{scoring.ClaimAutomation, scoring.ClaimReplay, scoring.ClaimChange}

// anomaly is what a frame has shown, beside the session as it was before it.
type anomaly struct {
	principal identity.Principal
	subject   store.SubjectSession
	before    models.Session
	frame     string
	templates scoring.Templates
	profile   scoring.Profile
	at        time.Time
}

// warn tells of each alarming claim that the frame has brought about: once, and again only where it had gone meanwhile.
func (s *Service) recordAnomalies(ctx context.Context, q *store.Q, a anomaly) error {
	var was *scoring.Profile
	for _, name := range anomalyClaims {
		claim := a.profile.Claim(name)
		if claim.Status != scoring.Detected {
			continue
		}
		if was == nil { // looked at only where something is wrong
			profile, err := s.assessBefore(a)
			if err != nil {
				return err
			}
			was = &profile
		}
		if was.Claim(name).Status == scoring.Detected {
			continue
		}
		e := entry(a.principal, a.subject, events.SessionAnomaly, a.at)
		e.Data = map[string]any{
			"session": a.before.ID, "claim": name, "status": string(claim.Status), "frame": a.frame, "reason_codes": append([]string{}, claim.ReasonCodes...),
		}
		if err := events.Append(ctx, q, e); err != nil {
			return err
		}
	}
	return nil
}

func (s *Service) assessBefore(a anomaly) (scoring.Profile, error) {
	state, err := s.assessor.OpenState(a.before)
	if err != nil {
		return scoring.Profile{}, err
	}
	return s.assessor.Model().Assess(state, a.templates, a.at, scoring.AssessOptions{}), nil
}
