// Package assurance turns what is stored of a subject (a session's sealed state, the heads of its templates) into an
// AssuranceProfile. It stores nothing and judges nothing itself: internal/scoring does. A state is opened here and
// nowhere else; it never leaves the process in clear.
package assurance

import (
	"fmt"
	"time"

	"github.com/countersign-dev/countersign/internal/features"
	"github.com/countersign-dev/countersign/internal/ids"
	"github.com/countersign-dev/countersign/internal/keyring"
	"github.com/countersign-dev/countersign/internal/policy"
	"github.com/countersign-dev/countersign/internal/scoring"
	"github.com/countersign-dev/countersign/internal/wire"
	"github.com/countersign-dev/countersign/models"
)

const (
	statePurpose    = "session-state"
	templatePurpose = "template"
)

// Profile is the contract's AssuranceProfile.
type Profile struct {
	ID         string  `json:"id"`
	Subject    string  `json:"subject"`
	Session    *string `json:"session"`
	AssessedAt string  `json:"assessed_at"`
	scoring.Profile
}

// Assessor judges sessions with one model.
type Assessor struct {
	model *scoring.Model
	keys  *keyring.Keyring
}

// New makes an assessor.
func New(model *scoring.Model, keys *keyring.Keyring) *Assessor { return &Assessor{model, keys} }

// Model is the model that the assessor judges with.
func (a *Assessor) Model() *scoring.Model { return a.model }

// OpenState reads the running assurance of a session; a session without evidence has an empty one.
func (a *Assessor) OpenState(s models.Session) (scoring.State, error) {
	state := scoring.NewState(scoring.DeviceClass(s.DeviceClass))
	if len(s.State) == 0 {
		return state, nil
	}
	raw, err := a.keys.Open(statePurpose, s.State, []byte(s.ID))
	if err != nil {
		return state, fmt.Errorf("state of session %s: %w", s.ID, err)
	}
	return state, state.UnmarshalBinary(raw)
}

// SealState is what is stored of a session's running assurance.
func (a *Assessor) SealState(session string, state scoring.State) ([]byte, error) {
	raw, err := state.MarshalBinary()
	if err != nil {
		return nil, err
	}
	return a.keys.Seal(statePurpose, raw, []byte(session))
}

// OpenTemplate reads a stored template, whole.
func (a *Assessor) OpenTemplate(t models.Template) (scoring.Template, error) {
	var out scoring.Template
	raw, err := a.keys.Open(templatePurpose, t.Data, []byte(t.ID))
	if err != nil {
		return out, fmt.Errorf("template %s: %w", t.ID, err)
	}
	return out, out.UnmarshalBinary(raw)
}

// SealTemplate is what is stored of a template under the row's id.
func (a *Assessor) SealTemplate(id string, t scoring.Template) ([]byte, error) {
	raw, err := t.MarshalBinary()
	if err != nil {
		return nil, err
	}
	return a.keys.Seal(templatePurpose, raw, []byte(id))
}

// Heads are what judging needs of templates; their data need not be loaded.
func Heads(rows []models.Template) scoring.Templates {
	out := make(scoring.Templates, len(rows))
	for i, t := range rows {
		out[i] = scoring.Template{
			Modality: features.Modality(t.Modality), Device: scoring.DeviceClass(t.DeviceClass), ModelVersion: t.ModelVersion,
			Provisional: t.Provisional, Limitations: t.Limitations,
		}
	}
	return out
}

// Assess judges a subject by one session (nil where there is none) at a time.
func (a *Assessor) Assess(subject models.Subject, session *models.Session, heads []models.Template, now time.Time) (Profile, error) {
	p := Profile{ID: ids.New(ids.Profile), Subject: subject.ExternalID, AssessedAt: wire.Time(now)}
	state := scoring.NewState(scoring.UnknownDevice)
	if session != nil {
		p.Session = &session.ID
		var err error
		if state, err = a.OpenState(*session); err != nil {
			return p, err
		}
	}
	capped := subject.ClaimCapUntil != nil && now.Before(*subject.ClaimCapUntil)
	p.Profile = a.model.Assess(state, Heads(heads), now, scoring.AssessOptions{CapLikely: capped})
	return p, nil
}

// Facts is what a policy may ask of the profile.
func (p Profile) Facts() policy.Assurance {
	out := policy.Assurance{
		Coverage: policy.Coverage(p.Coverage), FreshnessMS: p.FreshnessMS, InsufficientEvidence: p.InsufficientEvidence,
		Claims: make([]policy.Claim, len(p.Claims)),
	}
	for i, c := range p.Claims {
		out.Claims[i] = policy.Claim{
			Name: c.Claim, Status: policy.Status(c.Status), Coverage: policy.Coverage(c.Coverage), FreshnessMS: c.FreshnessMS,
			ReasonCodes: c.ReasonCodes,
		}
	}
	return out
}
