// Package legacy keeps the earlier timing-based operations alive on the engine of today: trust sessions are observation
// sessions, and /enrol and /auth compare the timings of one phrase. It adds no rule of its own to scoring, and subjects it
// makes are the same as any other.
package legacy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/authz/assurance"
	"github.com/countersign-dev/countersign/internal/behavior/scoring"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/platform/reason"
	"github.com/countersign-dev/countersign/internal/platform/store"
	"github.com/countersign-dev/countersign/internal/subject"
	"github.com/countersign-dev/countersign/internal/subject/recovery"
	"github.com/countersign-dev/countersign/internal/subject/session"
	"github.com/countersign-dev/countersign/models"
)

const sealPurpose = subject.TimingPurpose

// Deps are the dependencies of the service; all are required.
type Deps struct {
	Store    *store.Store
	Clock    clock.Clock
	Keys     *keyring.Keyring // seals the timing templates
	Assessor *assurance.Assessor
	Sessions *session.Service
	Subjects *subject.Service
}

// Service serves the timing-based operations of the earlier contract.
type Service struct {
	store    *store.Store
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

// Trust is the score of a session: 1 is the enrolled person.
type Trust struct {
	Score   float64
	State   string
	Reasons []string
}

// ended is the state of a session that is over. Its score says that nothing is known any more; the last one is in the answer
// to the end of the session.
const ended = "ENDED"

// Start opens a session for a user, who is made a subject where there is none.
func (s *Service) Start(ctx context.Context, p identity.Principal, user string) (store.SubjectSession, error) {
	if err := s.ensureSubject(ctx, p, user); err != nil {
		return store.SubjectSession{}, err
	}
	return s.sessions.Start(ctx, p, user, "")
}

func (s *Service) ensureSubject(ctx context.Context, p identity.Principal, user string) error {
	_, err := s.subjects.Create(ctx, p, user)
	if problem.Is(err, problem.SubjectExists) {
		return nil
	}
	return err
}

// Trust answers score and state of a session as of now.
func (s *Service) Trust(ctx context.Context, scope store.Scope, id string) (Trust, error) {
	v, err := s.sessions.Get(ctx, scope, id)
	if err != nil {
		return Trust{}, err
	}
	return s.trust(ctx, scope, v, s.clock.Now())
}

// End ends a session and returns the trust it ended with. Ending it again returns that nothing is known any more.
func (s *Service) End(ctx context.Context, p identity.Principal, id string) (Trust, error) {
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

func (s *Service) trust(ctx context.Context, scope store.Scope, v store.SubjectSession, now time.Time) (Trust, error) {
	state, over, err := s.assessor.Current(v.Session, now)
	if err != nil {
		return Trust{}, err
	}
	heads, err := s.heads(ctx, scope, v)
	if err != nil {
		return Trust{}, err
	}
	profile := s.assessor.Model().Assess(state, heads, now, scoring.AssessOptions{CapLikely: v.Subject.Capped(now)})
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

// heads are the templates that the session was held against: none if a recovery retired them since it began.
func (s *Service) heads(ctx context.Context, scope store.Scope, v store.SubjectSession) (scoring.Templates, error) {
	r, err := s.store.Recoveries().Newest(ctx, scope, v.Subject.UID)
	if err == nil && v.Session.StartedAt.Before(r.CreatedAt) {
		return nil, nil
	}
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return nil, err
	}
	rows, err := s.store.Templates().Heads(ctx, scope, v.Subject.UID)
	return s.assessor.Heads(rows), err
}

// Enrolled is how far /enrol has come.
type Enrolled struct {
	Samples  int
	Enrolled bool
}

// Enrol adds a sample of the phrase. Before a recovery of the user is ready it is refused.
func (s *Service) Enrol(ctx context.Context, p identity.Principal, user string, reactions, intervals []float64, consent bool) (Enrolled, error) {
	if !consent {
		return Enrolled{}, problem.New(problem.ConsentRequired, "consent must be true: a template is personal data.")
	}
	if err := s.ensureSubject(ctx, p, user); err != nil {
		return Enrolled{}, err
	}
	var out Enrolled
	err := s.store.Write(ctx, func(q *store.Q) error {
		sub, err := subject.RequireActive(q.Subjects().Lock(ctx, p.Store(), user))
		if err != nil {
			return err
		}
		if err := recovery.EnsureEnrollable(ctx, q, p.Store(), sub.UID, s.clock.Now()); err != nil {
			return err
		}
		f, err := s.openTemplate(ctx, q, p.Store(), sub.UID)
		if err != nil {
			return err
		}
		if f, err = f.Enrol(reactions, intervals); err != nil {
			return invalid(f, reactions, err)
		}
		out = Enrolled{Samples: len(f.Samples), Enrolled: f.Enrolled()}
		return s.saveTemplate(ctx, q, p.Store(), sub.UID, f, s.clock.Now())
	})
	return out, err
}

// Verdict is the answer of /auth.
type Verdict struct {
	Confidence float64
	Decision   string
	Reasons    []string
}

// Auth compares a sample with what was enrolled. A user who is not enrolled at all is absent. It knows no likely: what a
// recovery limits is challenged and not accepted.
func (s *Service) Auth(ctx context.Context, p identity.Principal, user string, reactions, intervals []float64) (Verdict, error) {
	now := s.clock.Now()
	var out Verdict
	err := s.store.Write(ctx, func(q *store.Q) error {
		sub, err := q.Subjects().Get(ctx, p.Store(), user)
		if errors.Is(err, store.ErrNotFound) {
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
			Scope: p.Store(), Type: events.AuthenticationDecided, At: now, SubjectUID: sub.UID, Subject: sub.ExternalID, Decision: out.Decision,
			Actor: p.Actor(), RequestID: p.RequestID, Data: map[string]any{"confidence": out.Confidence, "reason_codes": out.Reasons},
		})
	})
	return out, err
}

// judge is the verdict on a sample under what a recovery limits the subject by. Before it is ready there is no template.
func (s *Service) verdict(ctx context.Context, q *store.Q, sub models.Subject, limit string, reactions, intervals []float64) (Verdict, error) {
	if limit == recovery.LimitationCooling {
		return Verdict{Decision: "challenge", Reasons: []string{limit}}, nil
	}
	f, err := s.openTemplate(ctx, q, store.Scope{Tenant: sub.TenantID, Environment: sub.EnvironmentID}, sub.UID)
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

func (s *Service) openTemplate(ctx context.Context, q *store.Q, scope store.Scope, uid string) (scoring.FixedText, error) {
	var f scoring.FixedText
	sealed, err := q.TimingTemplates().Get(ctx, scope, uid)
	if err != nil || sealed == nil {
		return f, err
	}
	raw, err := s.keys.Open(sealPurpose, sealed, []byte(uid))
	if err != nil {
		return f, err
	}
	return f, json.Unmarshal(raw, &f)
}

func (s *Service) saveTemplate(ctx context.Context, q *store.Q, scope store.Scope, uid string, f scoring.FixedText, at time.Time) error {
	raw, err := json.Marshal(f)
	if err != nil {
		return err
	}
	sealed, err := s.keys.Seal(sealPurpose, raw, []byte(uid))
	if err != nil {
		return err
	}
	return q.TimingTemplates().Set(ctx, scope, uid, sealed, at)
}

// invalid says which list cannot be compared with those enrolled.
func invalid(f scoring.FixedText, reactions []float64, err error) error {
	field, wanted := "reaction_times", f.Reactions
	if len(reactions) == f.Reactions {
		field, wanted = "keystroke_intervals", f.Intervals
	}
	if errors.Is(err, scoring.ErrFixedLength) {
		return problem.Invalid([]any{"body", field}, fmt.Sprintf("%s must have %d items, as the first sample has.", field, wanted), "value_error")
	}
	return problem.Invalid([]any{"body"}, "The times must be between 0 and 60000 ms.", "value_error")
}
