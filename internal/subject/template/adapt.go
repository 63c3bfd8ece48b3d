package template

import (
	"context"
	"errors"
	"time"

	"github.com/countersign-dev/countersign/internal/behavior/features"
	"github.com/countersign-dev/countersign/internal/behavior/scoring"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/outbox"
	"github.com/countersign-dev/countersign/internal/platform/store"
	"github.com/countersign-dev/countersign/models"
)

// adaptInterval is the least time between two adaptations of a subject on one class of device. The scorer keeps to the
// same by what the template holds; this one counts versions that were rolled back as well.
const adaptInterval = 20 * time.Hour

// Outcomes of taking a session in, and why one was not.
const (
	Adapted   = "adapted"
	Unchanged = "unchanged"

	ReasonGone         = "subject_gone"
	ReasonNotEnded     = "session_not_ended"
	ReasonFrozen       = "frozen"
	ReasonNoTemplate   = "no_template"
	ReasonNotConfirmed = "not_confirmed"
	ReasonTooSoon      = "too_soon"
	ReasonRecovery     = "before_recovery"
)

// AfterSession asks for a session that ended to be taken in, in the transaction that ends it. A session too short to be
// confirmed needs no run.
func AfterSession(ctx context.Context, q *store.Q, session models.Session, at time.Time) error {
	if session.Coverage != string(scoring.CoverageSufficient) {
		return nil
	}
	return outbox.Add(ctx, q, outbox.Item{Topic: outbox.TopicAdaptationStart, Environment: session.EnvironmentID, Ref: session.ID, At: at})
}

// Run is what the run of an adaptation is started with.
type WorkflowInput struct {
	Session     string
	Environment string
}

// Run looks up what the run is started with; false where the session is gone.
func (s *Service) WorkflowInput(ctx context.Context, session string) (WorkflowInput, bool, error) {
	row, err := s.store.Sessions().ByID(ctx, session)
	if errors.Is(err, store.ErrNotFound) {
		return WorkflowInput{}, false, nil
	}
	return WorkflowInput{Session: row.ID, Environment: row.EnvironmentID}, err == nil, err
}

// Step asks for one ended session to be taken in.
type Step struct {
	Session    string
	At         time.Time
	WorkflowID string
}

// Outcome is what became of it.
type AdaptationResult struct {
	Status string // Adapted or Unchanged
	Reason string // why it is unchanged; empty where adapted
}

// Adapt takes an ended session into the subject's template as a new version, where its typing was confirmed to its end by
// the templates in force, no program and no replay was in it, adaptation is not frozen, and the last one is long enough
// ago. A session that was trusted and is not taken in is remembered, so that its recording is known when it comes again.
// It is safe to repeat: a session adapts once.
func (s *Service) Adapt(ctx context.Context, step Step) (AdaptationResult, error) {
	var out AdaptationResult
	err := s.store.Write(ctx, func(q *store.Q) error {
		session, err := q.Sessions().ByID(ctx, step.Session)
		if errors.Is(err, store.ErrNotFound) {
			out = unchanged(ReasonGone)
			return nil
		}
		if err != nil {
			return err
		}
		scope := store.Scope{Tenant: session.TenantID, Environment: session.EnvironmentID}
		sub, err := q.Subjects().LockByUID(ctx, scope, session.SubjectUID)
		if errors.Is(err, store.ErrNotFound) || err == nil && sub.Status != models.SubjectActive {
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

func (s *Service) adapt(ctx context.Context, q *store.Q, scope store.Scope, sub models.Subject, session models.Session, step Step) (AdaptationResult, error) {
	if session.Status == models.SessionActive {
		return unchanged(ReasonNotEnded), nil
	}
	did, last, err := q.Templates().AdaptedBy(ctx, scope, sub.UID, session.DeviceClass, session.ID)
	if err != nil {
		return AdaptationResult{}, err
	}
	if did {
		return AdaptationResult{Status: Adapted}, nil
	}
	if before, err := beganBeforeRecovery(ctx, q, scope, session); err != nil || before {
		return unchanged(ReasonRecovery), err
	}
	e, why, err := s.evaluate(ctx, q, scope, sub, session)
	if err != nil || why != "" {
		return unchanged(why), err
	}
	switch {
	case sub.AdaptationFrozen:
		why = ReasonFrozen
	case last != nil && session.LastEvidenceAt.Sub(*last) < adaptInterval:
		why = ReasonTooSoon
	case !e.clean():
		why = ReasonNotConfirmed
	default:
		return s.takeIn(ctx, q, scope, sub, session, e, step)
	}
	return unchanged(why), s.saveFingerprints(ctx, q, e, step.At)
}

// beganBeforeRecovery reports whether frames of the session may be older than the end of the cool-down of the subject's last
// recovery: nothing is learned from those.
func beganBeforeRecovery(ctx context.Context, q *store.Q, scope store.Scope, session models.Session) (bool, error) {
	r, err := q.Recoveries().Newest(ctx, scope, session.SubjectUID)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return session.StartedAt.Before(r.ReadyAt), err
}

// examined is a session with what the templates in force say of it as of its last frame.
type evaluation struct {
	model     *scoring.Model
	rows      []models.Template
	templates scoring.Templates
	state     scoring.State
	profile   scoring.Profile
}

func (s *Service) evaluate(ctx context.Context, q *store.Q, scope store.Scope, sub models.Subject, session models.Session) (evaluation, string, error) {
	e := evaluation{model: s.assessor.Model()}
	if len(session.State) == 0 || session.LastEvidenceAt == nil {
		return e, ReasonNotConfirmed, nil
	}
	var err error
	if e.rows, err = q.Templates().Active(ctx, scope, sub.UID); err != nil {
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
	// What is learned from is the typing: reading on after it takes nothing from it.
	e.profile = e.model.Assess(e.state, e.templates, at, scoring.AssessOptions{CapLikely: sub.Capped(at), TypingOnly: true})
	return e, "", nil
}

// clean reports whether the session was the person's from what can be seen: confirmed, no doubt of a person, no program, no
// replay, no change of hands.
func (e evaluation) clean() bool {
	status := func(claim string) scoring.Status { return e.profile.Claim(claim).Status }
	human := status(scoring.ClaimPresence)
	return status(scoring.ClaimContinuity) == scoring.Confirmed && (human == scoring.Confirmed || human == scoring.Likely) &&
		status(scoring.ClaimAutomation) != scoring.Detected && status(scoring.ClaimReplay) != scoring.Detected &&
		status(scoring.ClaimChange) != scoring.Detected
}

func (s *Service) takeIn(ctx context.Context, q *store.Q, scope store.Scope, sub models.Subject, session models.Session, e evaluation, step Step) (AdaptationResult, error) {
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
			Scope: scope, Type: events.TemplateAdapted, At: step.At, SubjectUID: sub.UID, Subject: sub.ExternalID,
			Actor: "workflow:" + step.WorkflowID, WorkflowID: step.WorkflowID, Data: map[string]any{
				"template": row.ID, "modality": row.Modality, "device_class": row.DeviceClass, "session": session.ID,
				"adaptations": t.Adaptations, "model_version": t.ModelVersion,
			},
		})
		if err != nil {
			return AdaptationResult{}, err
		}
	}
	return AdaptationResult{Status: Adapted}, nil
}

// remember keeps the fingerprints of a session that was trusted. What a template says of its person is not changed.
func (s *Service) saveFingerprints(ctx context.Context, q *store.Q, e evaluation, at time.Time) error {
	next := e.model.Remember(e.templates, e.state, e.profile)
	status := e.profile.Claim(scoring.ClaimContinuity).Status
	if status != scoring.Confirmed && status != scoring.Likely {
		return nil
	}
	for i, t := range next {
		if t.Modality != features.Keystroke || t.Device != e.state.Device || t.ModelVersion != e.rows[i].ModelVersion {
			continue // one that was carried over for this look only is not stored by the way
		}
		data, err := s.assessor.SealTemplate(e.rows[i].ID, t)
		if err != nil {
			return err
		}
		if _, err := q.Templates().SaveData(ctx, e.rows[i].ID, data, at); err != nil {
			return err
		}
	}
	return nil
}

func unchanged(why string) AdaptationResult { return AdaptationResult{Status: Unchanged, Reason: why} }
