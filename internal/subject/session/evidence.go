package session

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/account/subjectrow"
	"github.com/countersign-dev/countersign/internal/authz/assurance"
	"github.com/countersign-dev/countersign/internal/behavior/features"
	"github.com/countersign-dev/countersign/internal/behavior/scoring"
	"github.com/countersign-dev/countersign/internal/platform/apitime"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/subject"
	"github.com/countersign-dev/countersign/internal/subject/enrollment"
	"github.com/countersign-dev/countersign/internal/subject/recovery"
	"github.com/countersign-dev/countersign/internal/subject/research"
	"github.com/countersign-dev/countersign/models"
)

// Frame is one frame of evidence (FeatureFrameRequest of the contract).
type Frame struct {
	FrameID     string   `json:"frame_id"`
	Timestamp   float64  `json:"timestamp"`    // Unix time in seconds
	DurationMS  float64  `json:"duration_ms"`  // of the observation
	Features    any      `json:"features"`     // as decoded from JSON; features.Read validates it against the schema
	Purpose     string   `json:"purpose"`      // score or enroll; empty is score
	WindowStart *float64 `json:"window_start"` // Unix time in seconds
	WindowEnd   *float64 `json:"window_end"`   // Unix time in seconds
	// ResearchOptin permits storing the vector for research if the subject, the environment and the deployment agree too.
	ResearchOptin bool `json:"research_optin"`
}

// Ack is the result of a frame (EvidenceAck of the contract). A frame that cannot be scored has an Ack too, with its status and
// reason codes: it is no error, and sending it again would not help.
type Ack struct {
	Status          string   `json:"status"`             // of the frame, such as accepted
	Coverage        string   `json:"coverage"`           // of the session
	EvidenceWindows int      `json:"evidence_windows"`   // of the session
	ActiveSeconds   float64  `json:"active_seconds"`     // of the session
	EnrollmentReady bool     `json:"enrollment_ready"`   // the collected evidence suffices for an enrollment
	Modalities      []string `json:"modalities_present"` // of the session
	ReasonCodes     []string `json:"reason_codes"`       // of the frame
}

const purposeEnroll = identity.PurposeEnroll

// Evidence accepts one frame for a session. A frame id that the session has already received returns the earlier result and
// does not count again.
//
// With a client token, sessions of other subjects, or other sessions than the one it names, are not_found; a frame with a
// purpose that the token does not permit is purpose_not_granted. A session that is no longer active is session_closed.
func (s *Service) Evidence(ctx context.Context, p identity.Principal, id string, in Frame) (Ack, error) {
	if in.Purpose == "" {
		in.Purpose = "score"
	}
	f := incomingFrame{Frame: in, principal: p, parsed: features.Read(in.Features), now: s.clock.Now()}
	if f.parsed.Status == features.Accepted {
		sum := f.parsed.Frame.Sum()
		f.digest = sum[:]
	}
	f.opened = s.assessor.Opened()
	defer f.opened.Close()
	if f.parsed.Frame.Keys() > 0 && f.parsed.Status == features.Accepted {
		f.known = s.assessor.KnownTyping()
		defer f.known.Close()
	}
	// A frame that was scored on an earlier state of its session is refused, and so is one that a concurrent request has just stored.
	for range maxAttempts {
		ack, err := s.process(ctx, id, f)
		if !errors.Is(err, errChanged) && !pg.Violates(err, "frames_pkey") && !pg.Violates(err, "frame_digests_pkey") {
			return ack, err
		}
	}
	return Ack{}, problem.NewUnavailable("The session is being changed by concurrent requests. The frame was not stored; retry the request.", nil)
}

// passages returns the subject's known passages of typing, by which replayed typing is recognised.
func (f incomingFrame) passages() scoring.Passages {
	if f.known == nil {
		return nil
	}
	return f.known.Passages()
}

// maxAttempts is how often a frame is processed if concurrent requests change its session. Of those, one is stored with each attempt.
const maxAttempts = 25

// incomingFrame is a frame being processed, with the values that are derived from it once for all attempts.
type incomingFrame struct {
	Frame
	principal identity.Principal
	parsed    features.Result
	digest    []byte                 // empty unless the frame can be scored
	opened    *assurance.Opened      // the evidence before the frame
	known     *assurance.KnownTyping // nil unless the frame has keystrokes
	now       time.Time
}

// lookup returns what the store is to look up for the frame.
func (f incomingFrame) lookup() FrameLookup {
	out := FrameLookup{ID: f.FrameID, Begin: f.begin}
	if len(f.digest) > 0 {
		out.Templates = f.opened.Take
	}
	if f.parsed.Frame.Distinctive() {
		out.Digest = f.digest // shorter frames could coincide with another person's
	}
	if f.known != nil {
		out.Passages = f.known.Take
	}
	return out
}

// begin removes the evidence of an attempt that failed, and returns memory for the session's state.
func (f incomingFrame) begin() []byte {
	if f.known != nil {
		f.known.Begin()
	}
	return f.opened.Begin()
}

// plain reports whether the frame changes nothing but its session, if scoring it has no event.
func (f incomingFrame) plain() bool { return f.Purpose != purposeEnroll && !f.ResearchOptin }

// process makes one attempt to accept the frame. Most frames change only their session, in one round trip. One that changes more is
// processed in a transaction. In both cases nothing is stored if the session has changed since it was read.
func (s *Service) process(ctx context.Context, id string, f incomingFrame) (ack Ack, err error) {
	if f.plain() {
		ack, err = s.accept(ctx, s.store.Q, id, f)
		if !errors.Is(err, errMore) {
			return ack, err
		}
	}
	err = s.store.Write(ctx, func(q *pg.Q) error {
		ack, err = s.accept(ctx, q, id, f)
		return err
	})
	return ack, err
}

// Errors of a frame of which nothing was stored: errMore if it needs a transaction, because it also writes events, and errChanged if another frame was
// faster.
var (
	errMore    = errors.New("session: the frame needs a transaction")
	errChanged = errors.New("session: the session has changed since it was read")
)

// accept reads everything that scoring needs, and scores and stores the frame: the subject, the templates, the earlier result of the
// same frame id and whether the same content was seen before.
func (s *Service) accept(ctx context.Context, q *pg.Q, id string, f incomingFrame) (Ack, error) {
	p := f.principal
	o, err := ForFrame(ctx, q, p.Store(), id, f.lookup())
	if errors.Is(err, pg.ErrNotFound) || err == nil && p.Client != nil && !p.Client.Reaches(o.Session.SubjectUID, o.Session.ID) {
		return Ack{}, problem.NewNotFound()
	}
	if err != nil {
		return Ack{}, err
	}
	if p.Client != nil && !p.Client.Permits(f.Purpose) {
		return Ack{}, problem.Newf(problem.PurposeNotGranted, "The purposes of the client token do not include %s.", f.Purpose)
	}
	if f.Purpose == purposeEnroll {
		if err := p.Require(models.PermissionEnroll); err != nil {
			return Ack{}, err
		}
	}
	if assurance.Effective(o.Session, f.now) != models.SessionActive {
		return Ack{}, problem.New(problem.SessionClosed, "The session is no longer active. Start a new session.")
	}
	if o.Prior != nil {
		return newAck(o.Session, o.Prior.Status, o.Prior.ReasonCodes), nil
	}
	return s.storeFrame(ctx, q, o, f)
}

// storeFrame scores a new frame and stores it with the changes of its session.
func (s *Service) storeFrame(ctx context.Context, q *pg.Q, o FrameContext, f incomingFrame) (Ack, error) {
	counts := false // for the next enrollment
	if f.Purpose == purposeEnroll {
		var err error
		if counts, err = s.checkEnrolling(ctx, q, o.Subject, f); err != nil {
			return Ack{}, err
		}
	}
	sess := o.Session
	sess.LastActivityAt = f.now
	status, reasons := string(f.parsed.Status), f.parsed.Reasons
	row := FrameRecord{AsOf: o.AsOf, Frame: models.Frame{
		SessionID: sess.ID, FrameID: f.FrameID, EnvironmentID: sess.EnvironmentID, SubjectUID: sess.SubjectUID, Purpose: f.Purpose,
		ReceivedAt: f.now, At: apitime.Unix(f.Timestamp), DurationMS: f.DurationMS, Digest: []byte{},
	}}
	if f.parsed.Status == features.Accepted {
		row.Digest = f.digest
		taken, recorded, err := s.score(o, f, &sess)
		if err != nil {
			return Ack{}, err
		}
		if len(recorded) > 0 && !q.InTransaction() {
			return Ack{}, errMore
		}
		for _, e := range recorded {
			if err := events.Append(ctx, q, e); err != nil {
				return Ack{}, err
			}
		}
		status, reasons = string(taken.Status), taken.Reasons
		if len(taken.Passage) > 0 {
			if row.Passages, err = f.known.Add(taken.Passage, sess.SubjectUID, sess.DeviceClass); err != nil {
				return Ack{}, err
			}
		}
	}
	// Scoring may reject a frame that the parser accepted, for example as a replay.
	accepted := status == string(features.Accepted)
	row.Remember = accepted && f.parsed.Frame.Distinctive()
	if f.Purpose == purposeEnroll && accepted && !counts {
		reasons = append(reasons[:len(reasons):len(reasons)], recovery.LimitationCooling)
	}
	// Near-duplicates match each other, so training would count one recording as several sessions.
	counts = counts && !slices.Contains(reasons, scoring.ReasonReplayNear)
	row.Status, row.ReasonCodes = status, append(models.Strings{}, reasons...)
	if f.ResearchOptin && accepted {
		if err := s.saveForResearch(ctx, q, o.SubjectSession, f.parsed.Frame, f.now); err != nil {
			return Ack{}, err
		}
	}
	if counts && accepted { // the vector itself is stored only for training
		var err error
		if row.Vector, err = f.parsed.Frame.MarshalBinary(); err != nil {
			return Ack{}, err
		}
		keys := f.parsed.Frame.Keys()
		row.Keys = &keys
		if err := s.updateReadiness(ctx, q, f, o.SubjectSession, &sess); err != nil {
			return Ack{}, err
		}
	}
	saved, err := SaveFrame(ctx, q, row, sess)
	if err == nil && !saved {
		err = errChanged
	}
	return newAck(sess, status, reasons), err
}

// checkEnrolling rejects an enroll frame that the caller may not send, and reports whether the frame counts for the next
// enrollment; while a recovery is cooling down it does not.
//
// If the environment requires an enrollment grant, a grant is for one enrollment: a token that was issued before the current
// enrollment was requested may not enroll. A server key requests an enrollment by its first enroll frame.
func (s *Service) checkEnrolling(ctx context.Context, q *pg.Q, sub models.Subject, f incomingFrame) (counts bool, err error) {
	p := f.principal
	terms, err := subject.EnrollmentTermsOf(ctx, q, p.Store(), sub.UID)
	if err != nil {
		return false, err
	}
	if p.Client == nil {
		if terms.AskedAt == nil {
			err = subjectrow.RequestEnrollment(ctx, q, p.Store(), sub.UID, f.now)
		}
	} else if terms.GrantRequired {
		switch {
		case !p.Client.Names(purposeEnroll):
			err = problem.New(problem.PurposeNotGranted, "This environment accepts enroll frames only from client tokens whose purposes name enroll.")
		case terms.AskedAt == nil || p.Client.CreatedAt.Before(*terms.AskedAt):
			err = problem.New(problem.PurposeNotGranted, "The enrollment that the client token was issued for has ended. Issue a new client token.")
		}
	}
	return terms.ReadyAt == nil || !f.now.Before(*terms.ReadyAt), err
}

// saveForResearch passes an accepted frame to research. The subject's consent is checked here to avoid needless work, and
// again in the statement that inserts the vector.
func (s *Service) saveForResearch(ctx context.Context, q *pg.Q, v identity.SubjectSession, frame features.Frame, now time.Time) error {
	if !v.Subject.ResearchConsent {
		return nil
	}
	data, err := frame.MarshalBinary()
	if err != nil {
		return err
	}
	scope := pg.Scope{Tenant: v.Session.TenantID, Environment: v.Session.EnvironmentID}
	_, err = s.research.Save(ctx, q, scope, research.Vector{
		SubjectUID: v.Subject.UID, DeviceClass: v.Session.DeviceClass, Data: data, At: now,
	})
	return err
}

// score adds the frame to the session's scoring state and updates sess. It returns the events of it: anomalies and a changed trust state.
func (s *Service) score(o FrameContext, f incomingFrame, sess *models.Session) (scoring.Ack, []events.Entry, error) {
	model := s.assessor.ModelOf(sess.EnvironmentID)
	state, err := f.opened.State(*sess)
	if err != nil {
		return scoring.Ack{}, nil, err
	}
	templates := f.opened.Templates()
	before := *sess // for anomalies, which compare the profiles before and after the frame
	state, taken := model.Add(state, scoring.Input{
		Frame: f.parsed.Frame, Ref: f.FrameID, Timestamp: apitime.Unix(f.Timestamp), Duration: time.Duration(f.DurationMS * float64(time.Millisecond)),
		WindowStart: optionalUnix(f.WindowStart), WindowEnd: optionalUnix(f.WindowEnd), Known: f.passages(),
		SeenBefore: o.Seen == SeenInSession, SeenElsewhere: o.Seen == SeenElsewhere,
	}, templates, f.now)
	if sess.State, err = f.opened.Seal(sess.ID, state); err != nil {
		return taken, nil, err
	}
	sess.LastEvidenceAt = &f.now
	sess.Coverage, sess.EvidenceWindows, sess.ActiveSeconds = string(taken.Coverage), taken.EvidenceWindows, taken.ActiveSeconds
	sess.Modalities = append(models.Strings{}, taken.Modalities...)
	profile := model.Assess(state, templates, f.now, scoring.AssessOptions{CapLikely: o.Subject.Capped(f.now)})
	recorded, err := s.anomalies(anomaly{principal: f.principal, subject: o.SubjectSession, before: before, frame: f.FrameID, templates: templates, profile: profile, at: f.now})
	trust := scoring.LegacyTrust(state, profile)
	if trust.State != sess.TrustState {
		recorded = append(recorded, entry(f.principal, o.SubjectSession, f.now, events.TrustStateChangedData{
			Session: sess.ID, From: sess.TrustState, To: trust.State, Coverage: sess.Coverage, Score: &trust.Score,
			ReasonCodes: append([]string{}, trust.Reasons...),
		}))
		sess.TrustState = trust.State
	}
	return taken, recorded, err
}

// updateReadiness sets whether the evidence including this frame suffices for an enrollment, and marks a subject that begins to
// enroll.
func (s *Service) updateReadiness(ctx context.Context, q *pg.Q, f incomingFrame, v identity.SubjectSession, sess *models.Session) error {
	p := f.principal
	if v.Subject.Enrollment == models.EnrollmentNone {
		if err := subject.SetEnrollment(ctx, q, p.Store(), v.Subject.UID, models.EnrollmentCollecting, f.now); err != nil {
			return err
		}
		if err := events.Append(ctx, q, entry(p, v, f.now, events.EnrollmentStartedData{Session: v.Session.ID})); err != nil {
			return err
		}
	}
	stored, err := enrollment.KeysOfEnrollment(ctx, q, sess.EnvironmentID, sess.SubjectUID, sess.DeviceClass)
	if err != nil {
		return err
	}
	// Readiness is decided by the number of keystrokes per session.
	keys := map[string]int{sess.ID: f.parsed.Frame.Keys()}
	for _, k := range stored {
		keys[k.SessionID] += k.Keys
	}
	var amounts []scoring.SessionAmount
	for _, n := range keys {
		amounts = append(amounts, scoring.SessionAmount{Keys: n})
	}
	r := scoring.Ready(amounts)
	sess.EnrollmentReady = r.Ready || r.Provisional
	return nil
}

// newAck returns the result of a frame with the figures of its session. Its lists are never null in JSON.
func newAck(s models.Session, status string, reasons []string) Ack {
	return Ack{
		Status: status, Coverage: s.Coverage, EvidenceWindows: s.EvidenceWindows, ActiveSeconds: s.ActiveSeconds,
		EnrollmentReady: s.EnrollmentReady, Modalities: append([]string{}, s.Modalities...), ReasonCodes: append([]string{}, reasons...),
	}
}

// optionalUnix returns the time of v in seconds, or the zero time for nil.
func optionalUnix(v *float64) time.Time {
	if v == nil {
		return time.Time{}
	}
	return apitime.Unix(*v)
}
