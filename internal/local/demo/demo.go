// Package demo shows the service to somebody who has never seen it: people are enrolled and authorized as themselves, as
// somebody else, without evidence and with a replayed frame; a challenge and holds are walked to their end; a proof is
// verified and consumed. It speaks to the service through HTTP alone, as a relying party would, and holds no rule of it.
package demo

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// Options say what to show and where.
type Options struct {
	BaseURL string
	Key     string // a server key of a sandbox environment
	People  People
	Now     func() time.Time
	Out     io.Writer
}

// ErrNotTold says that the service took somebody else for the person enrolled, or the other way round.
var ErrNotTold = errors.New("a person's own session and another's were not told apart")

// show is one run.
type show struct {
	Options
	api    *client
	run    string // tells this run's records from those of earlier ones
	action string
	me     identity
	rows   []row
	held   int      // holds seen so far
	notes  []string // what became of challenges and holds
}

// Run shows everything and prints a table. It returns ErrNotTold where the point of it all is missed, and the first
// fault of the service otherwise.
func Run(ctx context.Context, o Options) error {
	s := &show{Options: o, api: newClient(o.BaseURL, o.Key), run: strings.ToLower(rand.Text()[:8])}
	s.say("people: %s", o.People.Source)
	if err := s.erase(ctx); err != nil {
		return err
	}
	if err := s.prepare(ctx); err != nil {
		return err
	}
	for i := range o.People.people {
		if err := s.person(ctx, i); err != nil {
			return err
		}
	}
	s.table()
	for _, note := range s.notes {
		s.say("%s", note)
	}
	if err := s.prove(ctx); err != nil {
		return err
	}
	s.say("all of it stays to be looked at, in the review console, the event log and the Temporal UI, until the next demonstration erases it")
	return s.verdict()
}

func (s *show) say(format string, args ...any) { _, _ = fmt.Fprintf(s.Out, format+"\n", args...) }

// audience is who the proofs are for.
const audience = "payments.demo"

// prepare registers an action whose policy can come to all four decisions, and puts it in force.
func (s *show) prepare(ctx context.Context) error {
	if err := s.api.call(ctx, "GET", "/api/v1/credential", nil, &s.me); err != nil {
		return err
	}
	if s.me.EnvironmentKind != "sandbox" {
		return errors.New("the demonstration wants a key of a sandbox environment")
	}
	var action struct {
		ID  string `json:"id"`
		Key string `json:"key"`
	}
	err := s.api.call(ctx, "POST", "/api/v1/actions", map[string]any{
		"key": "demo.release_payment_" + s.run, "name": "Release a payment",
		"consequence":       "Money leaves the company's account and cannot be called back.",
		"allowed_audiences": []string{audience}, "resource_type": "payment", "risk_class": "high",
	}, &action)
	if err != nil {
		return err
	}
	s.action = action.Key
	err = s.api.call(ctx, "POST", "/api/v1/actions/"+action.ID+"/policy-versions", map[string]any{"requirements": map[string]any{
		"claims":                map[string]string{"operator_continuity": "confirmed"},
		"coverage_min":          "partial",
		"freshness_max_ms":      600_000,
		"insufficient_evidence": "challenge",
		"hold_on":               []string{"continuity_mismatch", "continuity_recent_mismatch"},
		"deny_on":               []string{"replay_exact", "replay_other_session"},
	}}, nil)
	if err != nil {
		return err
	}
	if err := s.api.call(ctx, "POST", "/api/v1/actions/"+action.ID+"/policy-versions/1/activate", nil, nil); err != nil {
		return err
	}
	return s.api.call(ctx, "PATCH", "/api/v1/actions/"+action.ID, map[string]any{"mode": "enforce"}, nil)
}

// person enrolls one person and authorizes four times in their name.
func (s *show) person(ctx context.Context, i int) error {
	p := s.People.people[i]
	other := s.People.people[(i+1)%len(s.People.people)]
	subject := prefix + s.run + "-" + p.name
	if err := s.api.call(ctx, "POST", "/api/v1/subjects", map[string]any{"id": subject}, nil); err != nil {
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
	// The frames of somebody else go into a session of their own, as if that person sat down at the keyboard.
	foreign, err := s.observe(ctx, subject, "score", other.abusing)
	if err != nil {
		return err
	}
	if err := s.authorize(ctx, p, asSomebodyElse, subject, foreign); err != nil {
		return err
	}
	if err := s.review(ctx, s.rows[len(s.rows)-1]); err != nil {
		return err
	}
	return s.replay(ctx, p, subject)
}

// noEvidence asks before anything is known of the person.
func (s *show) noEvidence(ctx context.Context, p person, subject string) error {
	session, err := s.session(ctx, subject)
	if err != nil {
		return err
	}
	if err := s.authorize(ctx, p, withoutEvidence, subject, session); err != nil {
		return err
	}
	if last := s.rows[len(s.rows)-1]; len(s.notes) == 0 && last.decision.Decision == "challenge" {
		if err := s.complete(ctx, last); err != nil {
			return err
		}
	}
	return s.api.call(ctx, "POST", "/api/v1/sessions/"+session+"/end", nil, nil)
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
	var done struct {
		Status      string   `json:"status"`
		Limitations []string `json:"limitations"`
	}
	path := "/api/v1/subjects/" + subject + "/enrollments/complete"
	if err := s.api.call(ctx, "POST", path, map[string]any{"session": last}, &done); err != nil {
		return err
	}
	if done.Status != "completed" {
		return fmt.Errorf("the enrollment of %s is %s: %s", subject, done.Status, strings.Join(done.Limitations, ", "))
	}
	s.say("enrolled %s with %d sessions", p.name, len(p.enroll))
	return nil
}

// replay records a session of the person and then sends its frames a second time.
func (s *show) replay(ctx context.Context, p person, subject string) error {
	stolen := p.own[:min(4, len(p.own))]
	session, err := s.observe(ctx, subject, "score", append(append([]frame{}, stolen...), stolen[0]))
	if err != nil {
		return err
	}
	return s.authorize(ctx, p, withReplay, subject, session)
}

func (s *show) session(ctx context.Context, subject string) (string, error) {
	var session struct {
		ID string `json:"id"`
	}
	err := s.api.call(ctx, "POST", "/api/v1/sessions", map[string]any{"subject": subject, "device_class": "desktop"}, &session)
	return session.ID, err
}

// observe opens a session and sends frames as if they had just been made, one after the other up to now.
func (s *show) observe(ctx context.Context, subject, purpose string, frames []frame) (string, error) {
	session, err := s.session(ctx, subject)
	if err != nil {
		return "", err
	}
	total := time.Duration(0)
	for _, f := range frames {
		total += time.Duration(f.durationMS) * time.Millisecond
	}
	at := s.Now().Add(-total)
	for n, f := range frames {
		at = at.Add(time.Duration(f.durationMS) * time.Millisecond)
		var ack acknowledgement
		err := s.api.call(ctx, "POST", "/api/v1/sessions/"+session+"/evidence", map[string]any{
			"frame_id": fmt.Sprintf("frame-%d", n), "timestamp": float64(at.UnixMilli()) / 1000,
			"duration_ms": f.durationMS, "features": f.features, "purpose": purpose,
		}, &ack)
		if err != nil {
			return "", err
		}
	}
	return session, nil
}
