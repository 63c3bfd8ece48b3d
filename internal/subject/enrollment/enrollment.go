// Package enrollment trains the templates of a subject from the evidence of its enroll frames.
//
// Begin records the request; a workflow then calls Train, so that training survives a crash, and Train settles the record by
// one conditional update:
//
//	pending -> completed
//	        -> failed     too little evidence, or the subject is no longer active
//
// The package assesses no session, and it reads no vectors but those stored for enrolling.
package enrollment

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/account/subjectrow"
	"github.com/countersign-dev/countersign/internal/authz/assurance"
	"github.com/countersign-dev/countersign/internal/authz/backgrounds"
	"github.com/countersign-dev/countersign/internal/behavior/features"
	"github.com/countersign-dev/countersign/internal/behavior/scoring"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/platform/outbox"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	subjects "github.com/countersign-dev/countersign/internal/subject"
	"github.com/countersign-dev/countersign/internal/subject/recovery"
	"github.com/countersign-dev/countersign/internal/subject/template"
	"github.com/countersign-dev/countersign/models"
)

// Service manages enrollments.
type Service struct {
	store    *pg.Store
	clock    clock.Clock
	assessor *assurance.Assessor
}

// New returns the service.
func New(st *pg.Store, c clock.Clock, assessor *assurance.Assessor) *Service {
	return &Service{store: st, clock: c, assessor: assessor}
}

// View is an enrollment with the relying party's id of its subject.
type View struct {
	models.Enrollment
	Subject string
}

// Begin requests the training of the subject's templates from the frames collected up to and including the session. Force
// permits provisional templates from little evidence. A repeated request for the session returns the existing enrollment while
// it is pending or completed; after a failed one it creates a new enrollment.
//
// It returns the problem subject_revoked or recovery_not_ready if the subject cannot enroll.
func (s *Service) Begin(ctx context.Context, p identity.Principal, subjectID, session string, force bool) (View, error) {
	now := s.clock.Now()
	var out View
	err := s.store.Write(ctx, func(q *pg.Q) error {
		sub, err := subjects.RequireActive(subjectrow.Lock(ctx, q, p.Store(), subjectID))
		if err != nil {
			return err
		}
		// The session must be the subject's; it may have ended.
		v, err := identity.GetSession(ctx, q, p.Store(), session)
		if errors.Is(err, pg.ErrNotFound) || err == nil && v.Session.SubjectUID != sub.UID {
			return problem.NotFoundBy("session")
		}
		if err != nil {
			return err
		}
		prior, err := getEnrollment(ctx, q, p.Store(), sub.UID, session)
		if err == nil && prior.Status != models.EnrollmentFailed {
			out = View{prior, sub.ExternalID}
			return nil
		}
		if err != nil && !errors.Is(err, pg.ErrNotFound) {
			return err
		}
		out, err = s.begin(ctx, q, request{caller: p, subject: sub, session: session, force: force, at: now})
		return err
	})
	return out, err
}

// request is a request for an enrollment of a subject that may enroll.
type request struct {
	caller  identity.Principal
	subject models.Subject
	session string
	force   bool
	at      time.Time
}

// begin stores a new enrollment, its event and the outbox item that starts its workflow.
func (s *Service) begin(ctx context.Context, q *pg.Q, r request) (View, error) {
	p, sub := r.caller, r.subject
	anchor, err := recovery.EnsureEnrollable(ctx, q, sub, r.at)
	if err != nil {
		return View{}, err
	}
	e := models.Enrollment{
		ID: ids.New(ids.Enrollment), TenantID: p.TenantID, EnvironmentID: p.EnvironmentID, SubjectUID: sub.UID, SessionID: r.session,
		Anchor: anchor, Status: models.EnrollmentPending, Force: r.force, Limitations: models.Strings{}, CreatedAt: r.at,
	}
	if err := CreateEnrollment(ctx, q, e); err != nil {
		return View{}, err
	}
	err = events.Append(ctx, q, events.Entry{
		Scope: p.Store(), At: r.at, SubjectUID: sub.UID, Subject: sub.ExternalID, Actor: p.Actor(),
		RequestID: p.RequestID, Data: events.EnrollmentRequestedData{Enrollment: e.ID, Session: r.session, Forced: r.force},
	})
	if err != nil {
		return View{}, err
	}
	return View{e, sub.ExternalID}, outbox.Add(ctx, q, outbox.Item{
		Topic: outbox.TopicEnrollmentStart, Environment: e.EnvironmentID, Ref: e.ID, At: r.at,
	})
}

// get reads an enrollment again.
func (s *Service) get(ctx context.Context, v View) (View, error) {
	e, err := ByID(ctx, s.store.Q, v.EnvironmentID, v.ID)
	return View{e, v.Subject}, err
}

// List returns a page of the enrollments of a subject, newest first, and the cursor of the next page.
func (s *Service) List(ctx context.Context, scope pg.Scope, subjectID string, p pg.Page) ([]View, string, error) {
	sub, err := subjectrow.Get(ctx, s.store.Q, scope, subjectID)
	if errors.Is(err, pg.ErrNotFound) {
		return nil, "", problem.NewNotFound()
	}
	if err != nil {
		return nil, "", err
	}
	rows, next, err := listEnrollments(ctx, s.store.Q, scope, sub.UID, p)
	out := make([]View, len(rows))
	for i, r := range rows {
		out[i] = View{r, sub.ExternalID}
	}
	return out, next, err
}

// WorkflowInput is the input of the enrollment workflow.
type WorkflowInput struct {
	Enrollment  string
	Environment string
}

// WorkflowInput returns the input of the enrollment's workflow for the outbox relay; false if the enrollment is settled.
func (s *Service) WorkflowInput(ctx context.Context, environment, id string) (WorkflowInput, bool, error) {
	e, err := ByID(ctx, s.store.Q, environment, id)
	if errors.Is(err, pg.ErrNotFound) {
		return WorkflowInput{}, false, nil
	}
	return WorkflowInput{Enrollment: e.ID, Environment: e.EnvironmentID}, e.Status == models.EnrollmentPending, err
}

// Step is the input of Train.
type Step struct {
	ID          string // of the enrollment
	Environment string
	At          time.Time // of the workflow, so that a repetition has the same times and trains on the same frames
	WorkflowID  string    // for events
}

// Train trains the templates and settles the enrollment as completed or failed. It is safe to repeat: for a settled enrollment
// it returns the status. It also rescores the subject's active sessions against the new templates.
func (s *Service) Train(ctx context.Context, step Step) (models.EnrollmentStatus, error) {
	var status models.EnrollmentStatus
	var trained pg.Scope
	var uid string
	err := s.store.Write(ctx, func(q *pg.Q) error {
		e, err := ByID(ctx, q, step.Environment, step.ID)
		if errors.Is(err, pg.ErrNotFound) {
			status = models.EnrollmentFailed // its subject was erased
			return nil
		}
		if err != nil {
			return err
		}
		scope := pg.Scope{Tenant: e.TenantID, Environment: e.EnvironmentID}
		sub, err := subjectrow.LockByUID(ctx, q, scope, e.SubjectUID)
		if errors.Is(err, pg.ErrNotFound) {
			status = models.EnrollmentFailed
			return nil
		}
		if err != nil {
			return err
		}
		// Read it again under the subject's lock: a concurrent attempt may have settled it meanwhile.
		if e, err = ByID(ctx, q, step.Environment, step.ID); err != nil || e.Status != models.EnrollmentPending {
			status = e.Status
			return err
		}
		// The workflow's clock may be behind the one that timed the frames and the request, which asks for all frames before it.
		if step.At.Before(e.CreatedAt) {
			step.At = e.CreatedAt
		}
		status, err = s.train(ctx, q, scope, sub, e, step)
		trained, uid = scope, sub.UID
		return err
	})
	if err == nil && uid != "" && status == models.EnrollmentCompleted {
		err = template.Rescore(ctx, s.store, s.assessor, trained, uid)
	}
	return status, err
}

// train trains and settles a pending enrollment of a locked subject.
func (s *Service) train(ctx context.Context, q *pg.Q, scope pg.Scope, sub models.Subject, e models.Enrollment, step Step) (models.EnrollmentStatus, error) {
	session, err := identity.GetSession(ctx, q, scope, e.SessionID)
	if err != nil {
		return "", err
	}
	device := session.Session.DeviceClass
	c, err := s.collectFrames(ctx, q, sub, device, step.At)
	if err != nil {
		return "", err
	}
	model := s.assessor.ModelOf(scope.Environment)
	c.removeMisfits(model)
	templates, limitations, err := model.Train(c.sessions, scoring.TrainOptions{Device: scoring.DeviceClass(device), Force: e.Force})
	e.Status, e.WindowsAccepted, e.RefusedSessions = models.EnrollmentCompleted, c.windows(), c.refused
	if errors.Is(err, scoring.ErrTooLittle) || sub.Status != models.SubjectActive {
		e.Status, templates = models.EnrollmentFailed, nil
	} else if err != nil {
		return "", err
	}
	// Reason codes of what limits the templates. Assessments against them repeat these.
	e.Limitations = append(models.Strings{}, limitations...)
	if len(c.refused) > 0 && !slices.Contains(limitations, scoring.ReasonInconsistent) {
		e.Limitations = append(e.Limitations, scoring.ReasonInconsistent)
	}
	if granted, err := s.enrollmentGranted(ctx, q, scope, sub); err != nil {
		return "", err
	} else if !granted {
		e.Limitations = append(e.Limitations, scoring.ReasonNotGranted)
	}
	if _, err := settleEnrollment(ctx, q, e, step.At); err != nil {
		return "", err
	}
	modalities := []string{} // never null in the event
	for _, t := range templates {
		if err := s.saveTemplate(ctx, q, e, t, step.At); err != nil {
			return "", err
		}
		modalities = append(modalities, string(t.Modality))
	}
	if len(templates) > 0 {
		if err := backgrounds.NewCounter(s.assessor).Recount(ctx, q, scope, sub.UID, step.At); err != nil {
			return "", err
		}
	}
	if err := recordSettled(ctx, q, sub, e, training{device, modalities}, step); err != nil {
		return "", err
	}
	if e.Status != models.EnrollmentCompleted {
		return e.Status, nil
	}
	return e.Status, markEnrolled(ctx, q, sub, step.At)
}

// markEnrolled updates the subject after a new template: it is enrolled, its enrollment grant is used up, and an open recovery
// is complete.
func markEnrolled(ctx context.Context, q *pg.Q, sub models.Subject, at time.Time) error {
	scope := pg.Scope{Tenant: sub.TenantID, Environment: sub.EnvironmentID}
	if err := subjects.SetEnrollment(ctx, q, scope, sub.UID, models.EnrollmentEnrolled, at); err != nil {
		return err
	}
	if err := subjectrow.ClearEnrollmentRequest(ctx, q, scope, sub.UID); err != nil {
		return err
	}
	return recovery.CompleteByEnrollment(ctx, q, sub, at)
}

// enrollmentGranted reports whether a client token that names the purpose enroll requested the enrollment, or the environment
// does not require that.
func (s *Service) enrollmentGranted(ctx context.Context, q *pg.Q, scope pg.Scope, sub models.Subject) (bool, error) {
	terms, err := subjects.EnrollmentTermsOf(ctx, q, scope, sub.UID)
	return !terms.GrantRequired || terms.AskedAt != nil, err
}

// collection is the evidence of an enrollment, by session.
type collection struct {
	ids      []string                // of the sessions
	sessions []scoring.SessionFrames // parallel to ids
	refused  models.Strings          // ids of sessions that are inconsistent with the others
}

// collectFrames reads the vectors of the subject's enroll frames on a class of device that were received until the given time, grouped by
// session, oldest first.
func (s *Service) collectFrames(ctx context.Context, q *pg.Q, sub models.Subject, device string, until time.Time) (collection, error) {
	var c collection
	rows, err := FramesOfEnrollment(ctx, q, sub.EnvironmentID, sub.UID, device, until)
	if err != nil {
		return c, err
	}
	for _, r := range rows {
		var f features.Frame
		if err := f.UnmarshalBinary(r.Vector); err != nil {
			return c, err
		}
		if n := len(c.ids); n == 0 || c.ids[n-1] != r.SessionID {
			c.ids, c.sessions = append(c.ids, r.SessionID), append(c.sessions, scoring.SessionFrames{})
		}
		current := &c.sessions[len(c.sessions)-1]
		current.AtMS, current.Frames = r.ReceivedAt.UnixMilli(), append(current.Frames, f)
	}
	return c, nil
}

// removeMisfits removes the sessions that are inconsistent with the others, which may be another person's.
func (c *collection) removeMisfits(model *scoring.Model) {
	misfits := model.Misfits(c.sessions)
	for i := len(misfits) - 1; i >= 0; i-- {
		at := misfits[i]
		c.refused = append(c.refused, c.ids[at])
		c.ids, c.sessions = slices.Delete(c.ids, at, at+1), slices.Delete(c.sessions, at, at+1)
	}
	slices.Reverse(c.refused)
}

// windows returns the number of frames in all sessions.
func (c *collection) windows() (n int) {
	for _, s := range c.sessions {
		n += len(s.Frames)
	}
	return n
}

// saveTemplate seals a template that the enrollment trained and makes it the active version.
func (s *Service) saveTemplate(ctx context.Context, q *pg.Q, e models.Enrollment, t scoring.Template, at time.Time) error {
	row := models.Template{
		ID: ids.New(ids.Template), TenantID: e.TenantID, EnvironmentID: e.EnvironmentID, SubjectUID: e.SubjectUID, Modality: string(t.Modality),
		DeviceClass: string(t.Device), Status: models.TemplateActive, ModelVersion: t.ModelVersion, Provisional: t.Provisional,
		Limitations: append(models.Strings{}, t.Limitations...), CreatedAt: at, UpdatedAt: at, Origin: models.OriginEnrollment, OriginRef: e.ID,
	}
	var err error
	if row.Data, err = s.assessor.SealTemplate(row, t); err != nil {
		return err
	}
	return template.ReplaceTemplate(ctx, q, row)
}

// training describes a finished training for its event: the class of device and the modalities that have a template.
type training struct {
	device     string
	modalities []string
}

// recordSettled records enrollment.completed or enrollment.failed.
func recordSettled(ctx context.Context, q *pg.Q, sub models.Subject, e models.Enrollment, done training, step Step) error {
	result := events.EnrollmentCompletedData{
		Enrollment: e.ID, Session: e.SessionID, Anchor: e.Anchor, Forced: &e.Force, WindowsAccepted: e.WindowsAccepted,
		Limitations: e.Limitations, Modalities: done.modalities, DeviceClass: done.device,
		RefusedSessions: append([]string{}, e.RefusedSessions...),
	}
	var data events.Data = result
	if e.Status == models.EnrollmentFailed {
		data = events.EnrollmentFailedData(result)
	}
	return events.Append(ctx, q, events.Entry{
		Scope: pg.Scope{Tenant: sub.TenantID, Environment: sub.EnvironmentID}, At: step.At, SubjectUID: sub.UID,
		Subject: sub.ExternalID, Actor: "workflow:" + step.WorkflowID, WorkflowID: step.WorkflowID, Data: data,
	})
}
