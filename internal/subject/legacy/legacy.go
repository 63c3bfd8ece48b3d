// Package legacy implements the timing-based operations of the earlier contract on the current services: trust sessions are
// observation sessions, and /enrol and /auth compare the timings of one fixed phrase.
//
// It adds no scoring rule of its own, and the subjects that it creates are ordinary subjects. Timings are in milliseconds:
// reaction times between stimulus and key, and intervals between keys.
package legacy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/account/subjectrow"
	"github.com/countersign-dev/countersign/internal/authz/assurance"
	"github.com/countersign-dev/countersign/internal/behavior/scoring"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/platform/reason"
	"github.com/countersign-dev/countersign/internal/subject"
	"github.com/countersign-dev/countersign/internal/subject/recovery"
	"github.com/countersign-dev/countersign/internal/subject/session"
	"github.com/countersign-dev/countersign/internal/subject/template"
	"github.com/countersign-dev/countersign/models"
)

// sealPurpose is the keyring purpose of timing templates. Package subject unseals them for exports.
const sealPurpose = subject.TimingPurpose

// Deps are the dependencies of the service; all are required.
type Deps struct {
	Store    *pg.Store
	Clock    clock.Clock
	Keys     *keyring.Keyring // seals the timing templates
	Assessor *assurance.Assessor
	Sessions *session.Service
	Subjects *subject.Service
}

// Service serves the timing-based operations of the earlier contract.
type Service struct {
	store    *pg.Store
	clock    clock.Clock
	keys     *keyring.Keyring
	assessor *assurance.Assessor
	sessions *session.Service
	subjects *subject.Service
}

// New returns the service.
func New(d Deps) *Service {
	return &Service{store: d.Store, clock: d.Clock, keys: d.Keys, assessor: d.Assessor, sessions: d.Sessions, subjects: d.Subjects}
}

// Trust is the trust in a session.
type Trust struct {
	Score   float64 // 0..1; 1 is the enrolled person
	State   string
	Reasons []string // reason codes
}

// ended is the state of a session that is over. The session then has no meaningful score; the response to its end has the last.
const ended = "ENDED"

// Start starts a session for a user, and creates the subject if there is none.
func (s *Service) Start(ctx context.Context, p identity.Principal, user string) (identity.SubjectSession, error) {
	if err := s.ensureSubject(ctx, p, user); err != nil {
		return identity.SubjectSession{}, err
	}
	return s.sessions.Start(ctx, p, user, "")
}

// ensureSubject creates the subject of a user unless it exists.
func (s *Service) ensureSubject(ctx context.Context, p identity.Principal, user string) error {
	_, err := s.subjects.Create(ctx, p, user)
	if problem.Is(err, problem.SubjectExists) {
		return nil
	}
	return err
}

// Trust returns the score and the state of a session as of now.
func (s *Service) Trust(ctx context.Context, scope pg.Scope, id string) (Trust, error) {
	v, err := s.sessions.Get(ctx, scope, id)
	if err != nil {
		return Trust{}, err
	}
	return s.trust(ctx, scope, v, s.clock.Now())
}

// End ends a session and returns its last trust. For a session that has ended, the trust has no score.
func (s *Service) End(ctx context.Context, p identity.Principal, id string) (Trust, error) {
	// Read the trust first: an ended session has none.
	before, err := s.Trust(ctx, p.Store(), id)
	if err != nil {
		return Trust{}, err
	}
	if _, err := s.sessions.End(ctx, p, id); err != nil {
		return Trust{}, err
	}
	before.State = ended
	return before, nil
}

// trust assesses a session and applies the limitations of a recovery and the status of the subject.
func (s *Service) trust(ctx context.Context, scope pg.Scope, v identity.SubjectSession, now time.Time) (Trust, error) {
	state, over, err := s.assessor.Current(v.Session, now)
	if err != nil {
		return Trust{}, err
	}
	heads, err := s.heads(ctx, scope, v)
	if err != nil {
		return Trust{}, err
	}
	profile := s.assessor.ModelOf(scope.Environment).Assess(state, heads, now, scoring.AssessOptions{CapLikely: v.Subject.Capped(now)})
	profile = assurance.Marked(profile, over)
	t := scoring.LegacyTrust(state, profile)
	out := Trust{Score: t.Score, State: t.State, Reasons: append([]string{}, t.Reasons...)}
	limit, err := recovery.Limitation(ctx, s.store.Q, v.Subject, now)
	if err != nil {
		return Trust{}, err
	}
	if limit == recovery.LimitationCooling {
		out.Reasons = append(out.Reasons, limit)
	}
	if v.Subject.Status != models.SubjectActive {
		out = Trust{State: scoring.TrustBroken, Reasons: []string{reason.SubjectRevoked}}
	}
	if over != "" {
		out.State = ended
	}
	return out, nil
}

// heads returns the templates that the session is compared with; none if a recovery retired them since the session began.
func (s *Service) heads(ctx context.Context, scope pg.Scope, v identity.SubjectSession) (scoring.Templates, error) {
	r, err := recovery.NewestRecovery(ctx, s.store.Q, scope, v.Subject.UID)
	if err == nil && v.Session.StartedAt.Before(r.CreatedAt) {
		return nil, nil
	}
	if err != nil && !errors.Is(err, pg.ErrNotFound) {
		return nil, err
	}
	rows, err := template.Heads(ctx, s.store.Q, scope, v.Subject.UID)
	return s.assessor.Heads(scope.Environment, rows), err
}

// Enrolled is the progress of /enrol.
type Enrolled struct {
	Samples  int  // number of samples that the template has
	Enrolled bool // the number suffices for /auth
}

// Enrol adds a sample of the phrase, in milliseconds, to the user's timing template. It returns the problem consent_required
// without consent, and recovery_not_ready while a recovery of the user is cooling down.
func (s *Service) Enrol(ctx context.Context, p identity.Principal, user string, reactions, intervals []float64, consent bool) (Enrolled, error) {
	if !consent {
		return Enrolled{}, problem.New(problem.ConsentRequired, "consent must be true, because a template is personal data.")
	}
	if err := s.ensureSubject(ctx, p, user); err != nil {
		return Enrolled{}, err
	}
	var out Enrolled
	err := s.store.Write(ctx, func(q *pg.Q) error {
		sub, err := subject.RequireActive(subjectrow.Lock(ctx, q, p.Store(), user))
		if err != nil {
			return err
		}
		if _, err := recovery.EnsureEnrollable(ctx, q, sub, s.clock.Now()); err != nil {
			return err
		}
		f, err := s.openTemplate(ctx, q, p.Store(), sub.UID)
		if err != nil {
			return err
		}
		enrolled := f.Enrolled()
		if f, err = f.Enrol(reactions, intervals); err != nil {
			return invalid(f, reactions, err)
		}
		out = Enrolled{Samples: len(f.Samples), Enrolled: f.Enrolled()}
		now := s.clock.Now()
		if err := s.saveTemplate(ctx, q, p.Store(), sub.UID, f, now); err != nil || enrolled || !out.Enrolled {
			return err
		}
		return recovery.CompleteByEnrollment(ctx, q, sub, now)
	})
	return out, err
}

// Verdict is the result of /auth.
type Verdict struct {
	Confidence float64 // 0..1
	Decision   string  // accept, challenge or reject
	Reasons    []string
}

// Auth compares a sample with the user's timing template. Without a template it returns the problem not_found. The earlier
// contract has no claim "likely", so a match that a recovery limits is challenged instead of accepted.
func (s *Service) Auth(ctx context.Context, p identity.Principal, user string, reactions, intervals []float64) (Verdict, error) {
	now := s.clock.Now()
	var out Verdict
	err := s.store.Write(ctx, func(q *pg.Q) error {
		sub, err := subjectrow.Get(ctx, q, p.Store(), user)
		if errors.Is(err, pg.ErrNotFound) {
			return problem.NewNotFound()
		}
		if err != nil {
			return err
		}
		limit, err := recovery.Limitation(ctx, q, sub, now)
		if err != nil {
			return err
		}
		if out, err = s.verdict(ctx, q, sub, limit, reactions, intervals); err != nil {
			return err
		}
		if sub.Status != models.SubjectActive {
			out = Verdict{Decision: "reject", Reasons: []string{reason.SubjectRevoked}}
		}
		return events.Append(ctx, q, events.Entry{
			Scope: p.Store(), At: now, SubjectUID: sub.UID, Subject: sub.ExternalID, Decision: out.Decision,
			Actor: p.Actor(), RequestID: p.RequestID, Data: events.AuthenticationDecidedData{Confidence: &out.Confidence, ReasonCodes: out.Reasons},
		})
	})
	return out, err
}

// verdict returns the verdict on a sample, given the limitation of a recovery. While one cools down there is no template.
func (s *Service) verdict(ctx context.Context, q *pg.Q, sub models.Subject, limit string, reactions, intervals []float64) (Verdict, error) {
	if limit == recovery.LimitationCooling {
		return Verdict{Decision: "challenge", Reasons: []string{limit}}, nil
	}
	f, err := s.openTemplate(ctx, q, pg.Scope{Tenant: sub.TenantID, Environment: sub.EnvironmentID}, sub.UID)
	if err != nil {
		return Verdict{}, err
	}
	if len(f.Samples) == 0 {
		return Verdict{}, problem.NewNotFound()
	}
	out, err := verify(f, reactions, intervals)
	if err == nil && limit != "" && out.Decision == "accept" {
		out.Decision, out.Reasons = "challenge", append(out.Reasons, limit)
	}
	return out, err
}

// verify compares a sample with the template. A template with too few samples is challenged.
func verify(f scoring.FixedText, reactions, intervals []float64) (Verdict, error) {
	if !f.Enrolled() {
		return Verdict{Decision: "challenge", Reasons: []string{reason.InsufficientSamples}}, nil
	}
	confidence, decision, err := f.Verify(reactions, intervals)
	if err != nil {
		return Verdict{}, invalid(f, reactions, err)
	}
	code := reason.MismatchTiming
	if decision == "accept" {
		code = reason.MatchTiming
	}
	return Verdict{Confidence: confidence, Decision: decision, Reasons: []string{code}}, nil
}

// openTemplate unseals the subject's timing template; without one it returns an empty template.
func (s *Service) openTemplate(ctx context.Context, q *pg.Q, scope pg.Scope, uid string) (scoring.FixedText, error) {
	var f scoring.FixedText
	sealed, err := subject.GetTimingTemplate(ctx, q, scope, uid)
	if err != nil || sealed == nil {
		return f, err
	}
	raw, err := s.keys.Open(sealPurpose, sealed, []byte(uid))
	if err != nil {
		return f, err
	}
	return f, json.Unmarshal(raw, &f)
}

// saveTemplate seals and stores the subject's timing template. The additional data is the uid.
func (s *Service) saveTemplate(ctx context.Context, q *pg.Q, scope pg.Scope, uid string, f scoring.FixedText, at time.Time) error {
	raw, err := json.Marshal(f)
	if err != nil {
		return err
	}
	sealed, err := s.keys.Seal(sealPurpose, raw, []byte(uid))
	if err != nil {
		return err
	}
	_, err = subject.SetTimingTemplate(ctx, q, scope, uid, sealed, at)
	return err
}

// invalid returns the validation problem of a sample: it names the list whose length differs from the enrolled samples.
func invalid(f scoring.FixedText, reactions []float64, err error) error {
	field, wanted := "reaction_times", f.Reactions
	if len(reactions) == f.Reactions {
		field, wanted = "keystroke_intervals", f.Intervals
	}
	if errors.Is(err, scoring.ErrFixedLength) {
		return problem.Invalid([]any{"body", field}, fmt.Sprintf("%s must have %d items, like the first sample.", field, wanted), "value_error")
	}
	return problem.Invalid([]any{"body"}, "The times must be between 0 and 60000 ms.", "value_error")
}
