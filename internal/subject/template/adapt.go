package template

import (
	"context"
	"errors"
	"time"

	"github.com/countersign-dev/countersign/internal/account/subjectrow"
	"github.com/countersign-dev/countersign/internal/authz/backgrounds"
	"github.com/countersign-dev/countersign/internal/behavior/features"
	"github.com/countersign-dev/countersign/internal/behavior/scoring"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/outbox"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/subject/recovery"
	"github.com/countersign-dev/countersign/models"
)

// adaptInterval is the minimum time between two adaptations of a subject's template for one class of device. The scoring model
// enforces the same interval from the template alone; this one also counts versions that were rolled back since.
const adaptInterval = 20 * time.Hour

// Statuses of an adaptation, and the reasons for which a template is left unchanged. They are in workflow histories and must
// not change.
const (
	Adapted   = "adapted"
	Unchanged = "unchanged"

	ReasonGone         = "subject_gone"      // the subject or the session was erased or the subject revoked
	ReasonNotEnded     = "session_not_ended" // the session is still active
	ReasonFrozen       = "frozen"            // adaptation of the subject is frozen
	ReasonNoTemplate   = "no_template"       // no active template for the class of device
	ReasonNotConfirmed = "not_confirmed"     // the session was not confirmed, or not to its end
	ReasonTooSoon      = "too_soon"          // the last adaptation is less than adaptInterval ago
	ReasonRecovery     = "before_recovery"   // the session began before the last recovery was ready
)

// AfterSession schedules the adaptation to a session in the transaction that ends it. A session with too little evidence to be
// confirmed starts no workflow.
func AfterSession(ctx context.Context, q *pg.Q, session models.Session, at time.Time) error {
	if session.Coverage != string(scoring.CoverageSufficient) {
		return nil
	}
	return outbox.Add(ctx, q, outbox.Item{Topic: outbox.TopicAdaptationStart, Environment: session.EnvironmentID, Ref: session.ID, At: at})
}

// WorkflowInput is the input of the adaptation workflow.
type WorkflowInput struct {
	Session     string
	Environment string
}

// WorkflowInput returns the input of the session's workflow for the outbox relay; false if the session was deleted.
func (s *Service) WorkflowInput(ctx context.Context, environment, session string) (WorkflowInput, bool, error) {
	row, err := sessionByID(ctx, s.store.Q, environment, session)
	if errors.Is(err, pg.ErrNotFound) {
		return WorkflowInput{}, false, nil
	}
	return WorkflowInput{Session: row.ID, Environment: row.EnvironmentID}, err == nil, err
}

// Step is the input of Adapt.
type Step struct {
	Session     string // id of the ended session
	Environment string
	At          time.Time // of the workflow, so that a repetition has the same times
	WorkflowID  string    // for events
}

// AdaptationResult is the result of Adapt.
type AdaptationResult struct {
	Status string // Adapted or Unchanged
	Reason string // one of the Reason constants; empty if adapted
}

// Adapt adapts the subject's template to an ended session, as a new version. It does so if the active templates confirmed the
// typing to its end, no automation, replay or change of person was detected, adaptation is not frozen, and the last adaptation
// is at least adaptInterval ago.
//
// A trusted session that is not adapted to is fingerprinted in the template, so that a replay of it is recognised. Adapt is
// safe to repeat: a template adapts to a session once.
func (s *Service) Adapt(ctx context.Context, step Step) (AdaptationResult, error) {
	var out AdaptationResult
	err := s.store.Write(ctx, func(q *pg.Q) error {
		session, err := sessionByID(ctx, q, step.Environment, step.Session)
		if errors.Is(err, pg.ErrNotFound) {
			out = unchanged(ReasonGone)
			return nil
		}
		if err != nil {
			return err
		}
		scope := pg.Scope{Tenant: session.TenantID, Environment: session.EnvironmentID}
		sub, err := subjectrow.LockByUID(ctx, q, scope, session.SubjectUID)
		if errors.Is(err, pg.ErrNotFound) || err == nil && sub.Status != models.SubjectActive {
			out = unchanged(ReasonGone)
			return nil
		}
		if err != nil {
			return err
		}
		out, err = s.adapt(ctx, q, scope, sub, session, step)
		return err
	})
	return out, err
}

// adapt decides whether to adapt to a session of a locked subject, and does.
func (s *Service) adapt(ctx context.Context, q *pg.Q, scope pg.Scope, sub models.Subject, session models.Session, step Step) (AdaptationResult, error) {
	if session.Status == models.SessionActive {
		return unchanged(ReasonNotEnded), nil
	}
	did, last, err := adaptedBySession(ctx, q, scope, sub.UID, session.DeviceClass, session.ID)
	if err != nil {
		return AdaptationResult{}, err
	}
	if did {
		return AdaptationResult{Status: Adapted}, nil
	}
	if before, err := beganBeforeRecovery(ctx, q, scope, session); err != nil || before {
		return unchanged(ReasonRecovery), err
	}
	e, reason, err := s.evaluate(ctx, q, scope, sub, session)
	if err != nil || reason != "" {
		return unchanged(reason), err
	}
	switch {
	case sub.AdaptationFrozen:
		reason = ReasonFrozen
	case last != nil && session.LastEvidenceAt.Sub(*last) < adaptInterval:
		reason = ReasonTooSoon
	case !e.clean():
		reason = ReasonNotConfirmed
	default:
		return s.saveAdaptation(ctx, q, e, step)
	}
	return unchanged(reason), s.saveFingerprints(ctx, q, e, step.At)
}

// beganBeforeRecovery reports whether frames of the session may be older than the end of the cool-down of the subject's last
// recovery. Templates must not adapt to those: they may be the attacker's.
func beganBeforeRecovery(ctx context.Context, q *pg.Q, scope pg.Scope, session models.Session) (bool, error) {
	r, err := recovery.NewestRecovery(ctx, q, scope, session.SubjectUID)
	if errors.Is(err, pg.ErrNotFound) {
		return false, nil
	}
	return session.StartedAt.Before(r.ReadyAt), err
}

// evaluation is a session with its profile against the active templates, as of its last frame.
type evaluation struct {
	subject   models.Subject
	session   models.Session
	model     *scoring.Model
	rows      []models.Template // the active templates
	templates scoring.Templates // rows unsealed, parallel to rows
	state     scoring.State
	profile   scoring.Profile
}

// evaluate assesses the session, or returns the reason for which it cannot be adapted to.
func (s *Service) evaluate(ctx context.Context, q *pg.Q, scope pg.Scope, sub models.Subject, session models.Session) (evaluation, string, error) {
	e := evaluation{subject: sub, session: session, model: s.assessor.ModelOf(scope.Environment)}
	if len(session.State) == 0 || session.LastEvidenceAt == nil {
		return e, ReasonNotConfirmed, nil
	}
	var err error
	if e.rows, err = backgrounds.ActiveTemplate(ctx, q, scope, sub.UID); err != nil {
		return e, "", err
	}
	if e.templates, err = s.assessor.Templates(e.rows); err != nil {
		return e, "", err
	}
	if e.templates.Find(features.Keystroke, scoring.DeviceClass(session.DeviceClass)) == nil {
		return e, ReasonNoTemplate, nil
	}
	if e.state, err = s.assessor.OpenState(session); err != nil {
		return e, "", err
	}
	// The session may have been scored against templates that were replaced or rolled back since.
	e.state = e.model.Rescore(e.state, e.templates)
	at := *session.LastEvidenceAt
	// Adaptation uses typing only: reading without typing at the end of the session must not weaken it.
	e.profile = e.model.Assess(e.state, e.templates, at, scoring.AssessOptions{CapLikely: sub.Capped(at), TypingOnly: true})
	return e, "", nil
}

// clean reports whether the session is certain to be the subject's: continuity is confirmed, a human is at least
// likely, and no automation, replay or change of person was detected.
func (e evaluation) clean() bool {
	status := func(claim string) scoring.Status { return e.profile.Claim(claim).Status }
	human := status(scoring.ClaimPresence)
	return status(scoring.ClaimContinuity) == scoring.Confirmed && (human == scoring.Confirmed || human == scoring.Likely) &&
		status(scoring.ClaimAutomation) != scoring.Detected && status(scoring.ClaimReplay) != scoring.Detected &&
		status(scoring.ClaimChange) != scoring.Detected
}

// saveAdaptation adapts the templates of the session's class of device and stores the new versions. The scoring model has rules
// of its own, by which it may decline.
func (s *Service) saveAdaptation(ctx context.Context, q *pg.Q, e evaluation, step Step) (AdaptationResult, error) {
	sub, session := e.subject, e.session
	next, err := e.model.Adapt(e.templates, e.state, e.profile)
	switch {
	case errors.Is(err, scoring.ErrTooSoon):
		return unchanged(ReasonTooSoon), s.saveFingerprints(ctx, q, e, step.At)
	case errors.Is(err, scoring.ErrNotConfirmed), errors.Is(err, scoring.ErrNotAdaptable):
		return unchanged(ReasonNotConfirmed), s.saveFingerprints(ctx, q, e, step.At)
	case err != nil:
		return AdaptationResult{}, err
	}
	for i, t := range next {
		if t.Modality != features.Keystroke || string(t.Device) != session.DeviceClass {
			continue
		}
		row := e.rows[i]
		row.Origin, row.OriginRef = models.OriginAdaptation, session.ID
		if row, err = s.saveVersion(ctx, q, row, t, step.At); err != nil {
			return AdaptationResult{}, err
		}
		err = events.Append(ctx, q, events.Entry{
			Scope: pg.Scope{Tenant: session.TenantID, Environment: session.EnvironmentID}, At: step.At, SubjectUID: sub.UID, Subject: sub.ExternalID,
			Actor: "workflow:" + step.WorkflowID, WorkflowID: step.WorkflowID, Data: events.TemplateAdaptedData{
				Template: row.ID, Modality: row.Modality, DeviceClass: row.DeviceClass, Session: session.ID,
				Adaptations: t.Adaptations, ModelVersion: t.ModelVersion,
			},
		})
		if err != nil {
			return AdaptationResult{}, err
		}
	}
	return AdaptationResult{Status: Adapted}, nil
}

// saveFingerprints adds the fingerprints of a trusted session to the templates, for recognising replays. It does not change
// what the templates know about the subject.
func (s *Service) saveFingerprints(ctx context.Context, q *pg.Q, e evaluation, at time.Time) error {
	next := e.model.Remember(e.templates, e.state, e.profile)
	status := e.profile.Claim(scoring.ClaimContinuity).Status
	if status != scoring.Confirmed && status != scoring.Likely {
		return nil
	}
	for i, t := range next {
		if t.Modality != features.Keystroke || t.Device != e.state.Device || t.ModelVersion != e.rows[i].ModelVersion {
			continue // retrained in memory only: RetrainOutdated stores it
		}
		data, err := s.assessor.SealTemplate(e.rows[i], t)
		if err != nil {
			return err
		}
		if _, err := saveTemplateData(ctx, q, e.rows[i].EnvironmentID, e.rows[i].ID, data, at); err != nil {
			return err
		}
	}
	return nil
}

// unchanged returns the result of a session that a template was not adapted to.
func unchanged(reason string) AdaptationResult {
	return AdaptationResult{Status: Unchanged, Reason: reason}
}
