package demo

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/internal/behavior/features"
	countersign "github.com/countersign-dev/countersign/sdk/go"
)

// Options configure a demonstration.
type Options struct {
	BaseURL string
	Key     string // a server key of a sandbox environment
	// AdminKey is an admin key of the environment, for its settings. ApproverKey is a second one, issued independently, which approves what
	// the first requests; empty for no such change.
	AdminKey, ApproverKey string
	People                People
	Now                   func() time.Time
	Out                   io.Writer
}

// ErrNotDistinguished reports that too many people were confused with another person.
var ErrNotDistinguished = errors.New("the service did not distinguish people from each other")

// show is one demonstration in progress.
type show struct {
	Options
	api      *countersign.Client
	admin    *countersign.Client
	id       string // part of the ids of this demonstration's records; earlier ones had another
	action   string // key of the protected action, which asks for confirmed
	lesser   string // key of an action that asks for likely
	me       *countersign.CredentialIdentity
	rows     []row
	held     int      // holds seen so far
	notes    []string // outcomes of challenges and holds, printed after the table
	proof    issued
	pilot    pilot
	receiver receiver
}

// requestTimeout bounds one request. An enrollment trains a template within its request.
const requestTimeout = 30 * time.Second

// Run runs the demonstration and prints a table of the decisions. It returns ErrNotDistinguished if the scorer confuses too
// many people, and otherwise the first error of the service.
func Run(ctx context.Context, o Options) error {
	api, err := countersign.New(o.BaseURL, o.Key, countersign.WithTimeout(requestTimeout))
	if err != nil {
		return err
	}
	admin, err := countersign.New(o.BaseURL, o.AdminKey, countersign.WithTimeout(requestTimeout))
	if err != nil {
		return err
	}
	s := &show{Options: o, api: api, admin: admin, id: strings.ToLower(rand.Text()[:8])}
	s.printf("people: %s", o.People.Source)
	if err := s.erase(ctx); err != nil {
		return err
	}
	if err := s.prepare(ctx); err != nil {
		return err
	}
	if err := s.configure(ctx); err != nil {
		return err
	}
	if err := s.beginPilot(ctx); err != nil {
		return err
	}
	for i := range o.People.people {
		if err := s.person(ctx, i); err != nil {
			return err
		}
	}
	if err := s.stricter(ctx); err != nil {
		return err
	}
	if err := s.stop(ctx); err != nil {
		return err
	}
	s.table()
	for _, note := range s.notes {
		s.printf("%s", note)
	}
	if err := s.prove(ctx); err != nil {
		return err
	}
	s.printf("the records stay in the review console, the event log and the Temporal UI until the next demonstration erases them")
	return s.verdict()
}

func (s *show) printf(format string, args ...any) { _, _ = fmt.Fprintf(s.Out, format+"\n", args...) }

// audience is the relying party that the proofs are for.
const audience = "payments.demo"

// identify requires a key of a sandbox.
func (s *show) identify(ctx context.Context) (err error) {
	if s.me, err = s.api.GetCredential(ctx); err != nil {
		return err
	}
	if s.me.EnvironmentKind != "sandbox" {
		return errors.New("the demonstration needs a key of a sandbox environment")
	}
	return nil
}

// prepare creates an action whose policy can return all four decisions, and one that asks for less.
func (s *show) prepare(ctx context.Context) (err error) {
	if err := s.identify(ctx); err != nil {
		return err
	}
	s.action, err = s.protect(ctx, countersign.ActionCreate{
		Key: "demo.release_payment_" + s.id, Name: "Release a payment",
		Consequence:      "Money leaves the company's account and cannot be called back.",
		AllowedAudiences: []string{audience}, ResourceType: "payment", RiskClass: "high",
	}, countersign.ClaimStatusConfirmed)
	if err != nil {
		return err
	}
	s.lesser, err = s.protect(ctx, countersign.ActionCreate{
		Key: "demo.change_note_" + s.id, Name: "Change the note of a payment",
		Consequence:      "Colleagues read another note.",
		AllowedAudiences: []string{audience}, ResourceType: "payment", RiskClass: "low",
	}, countersign.ClaimStatusLikely)
	return err
}

// protect creates an action in mode enforce that asks for a status of operator_continuity, and returns its key.
func (s *show) protect(ctx context.Context, draft countersign.ActionCreate, asked countersign.ClaimStatus) (key string, err error) {
	action, err := s.api.CreateAction(ctx, draft)
	if err != nil {
		return "", err
	}
	version, err := s.api.CreatePolicyVersion(ctx, action.ID, countersign.PolicyVersionCreate{Requirements: countersign.PolicyRequirements{
		Claims:               map[string]countersign.ClaimStatus{operatorContinuity: asked},
		CoverageMin:          "partial",
		FreshnessMaxMS:       600_000,
		InsufficientEvidence: "challenge",
		HoldOn:               []string{"continuity_mismatch", "continuity_recent_mismatch"},
		DenyOn:               []string{"replay_exact", "replay_other_session"},
	}})
	if err != nil {
		return "", err
	}
	if _, err := s.api.ActivatePolicyVersion(ctx, action.ID, version.Version); err != nil {
		return "", err
	}
	_, err = s.api.UpdateAction(ctx, action.ID, countersign.ActionUpdate{Mode: string(countersign.ModeEnforce)})
	return action.Key, err
}

// person enrolls the ith person and authorizes in their name, once per scenario.
func (s *show) person(ctx context.Context, i int) error {
	p := s.People.people[i]
	other := s.People.people[(i+1)%len(s.People.people)]
	subject := prefix + s.id + "-" + p.name
	if _, err := s.api.CreateSubject(ctx, &countersign.SubjectCreate{ID: subject}); err != nil {
		return err
	}
	if err := s.noEvidence(ctx, p, subject); err != nil {
		return err
	}
	if err := s.enroll(ctx, p, subject); err != nil {
		return err
	}
	own, err := s.observe(ctx, subject, "score", p.own)
	if err != nil {
		return err
	}
	if err := s.authorize(ctx, p, asThemselves, subject, own); err != nil {
		return err
	}
	if err := s.earn(ctx, s.rows[len(s.rows)-1]); err != nil {
		return err
	}
	if err := s.authorize(ctx, p, likelyIsEnough, subject, own); err != nil {
		return err
	}
	// The other person's frames get a session of their own, as if that person had sat down at the keyboard.
	foreign, err := s.observe(ctx, subject, "score", other.abusing)
	if err != nil {
		return err
	}
	if err := s.authorize(ctx, p, asAnother, subject, foreign); err != nil {
		return err
	}
	if err := s.review(ctx, s.rows[len(s.rows)-1]); err != nil {
		return err
	}
	return s.replay(ctx, p, subject)
}

// noEvidence authorizes before the subject has any evidence, and completes the first challenge that this leads to.
func (s *show) noEvidence(ctx context.Context, p person, subject string) error {
	session, err := s.session(ctx, subject)
	if err != nil {
		return err
	}
	if err := s.authorize(ctx, p, withoutEvidence, subject, session); err != nil {
		return err
	}
	if last := s.rows[len(s.rows)-1]; len(s.notes) == 0 && last.decision.Decision == countersign.DecisionChallenge {
		if _, err := s.complete(ctx, last); err != nil {
			return err
		}
	}
	_, err = s.api.EndSession(ctx, session)
	return err
}

// enroll sends the enrollment sessions and completes the enrollment.
func (s *show) enroll(ctx context.Context, p person, subject string) error {
	var last string
	for _, frames := range p.enroll {
		session, err := s.observe(ctx, subject, "enroll", frames)
		if err != nil {
			return err
		}
		last = session
	}
	enrollment, err := s.api.CompleteEnrollment(ctx, subject, countersign.EnrollmentComplete{Session: last})
	if err != nil {
		return err
	}
	if enrollment.Status != "completed" {
		return fmt.Errorf("the enrollment of %s is %s: %s", subject, enrollment.Status, strings.Join(enrollment.Limitations, ", "))
	}
	s.printf("enrolled %s with %d sessions", p.name, len(p.enroll))
	return nil
}

// replay sends a session of the person whose last frame repeats its first, then authorizes.
func (s *show) replay(ctx context.Context, p person, subject string) error {
	session, err := s.observe(ctx, subject, "score", p.replayed())
	if err != nil {
		return err
	}
	return s.authorize(ctx, p, withReplay, subject, session)
}

func (s *show) session(ctx context.Context, subject string) (id string, err error) {
	session, err := s.api.CreateSession(ctx, countersign.SessionCreate{Subject: subject, DeviceClass: "desktop"})
	if err != nil {
		return "", err
	}
	return session.ID, nil
}

// observe opens a session and sends frames whose times follow each other and end now.
func (s *show) observe(ctx context.Context, subject, purpose string, frames []frame) (session string, err error) {
	if session, err = s.session(ctx, subject); err != nil {
		return "", err
	}
	total := time.Duration(0)
	for _, f := range frames {
		total += time.Duration(f.durationMS) * time.Millisecond
	}
	at := s.Now().Add(-total)
	for n, f := range frames {
		at = at.Add(time.Duration(f.durationMS) * time.Millisecond)
		values, err := asMap(f.features)
		if err != nil {
			return "", err
		}
		if _, err := s.api.SubmitEvidence(ctx, session, countersign.FeatureFrameRequest{
			FrameID: fmt.Sprintf("frame-%d", n), Timestamp: float64(at.UnixMilli()) / 1000,
			DurationMS: f.durationMS, Features: values, Purpose: purpose,
		}); err != nil {
			return "", err
		}
	}
	return session, nil
}

// asMap converts features to the SDK's form. A number keeps its value through JSON.
func asMap(f features.Frame) (map[string]any, error) {
	text, err := json.Marshal(f)
	if err != nil {
		return nil, err
	}
	var out map[string]any
	return out, json.Unmarshal(text, &out)
}
