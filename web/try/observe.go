package try

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/behavior/synthetic"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/subject/enrollment"
	"github.com/countersign-dev/countersign/internal/subject/session"
	"github.com/countersign-dev/countersign/internal/transport/request"
	"github.com/countersign-dev/countersign/models"
)

// strangerKeys is how much a made-up typist types at a time: enough to be judged by.
const strangerKeys = 48

// most is how many frames a made-up typist types in all.
const most = 12

// session ends the visitor's session before and opens another.
func (p *Page) session(c *fiber.Ctx) error {
	v, in, err := visited[struct {
		Previous string `json:"previous"`
		Device   string `json:"device"`
	}](p, c)
	if err != nil {
		return err
	}
	ctx := request.Context(c)
	if in.Previous != "" {
		if _, err := p.own(ctx, v, in.Previous); err != nil {
			return err
		}
		if _, err := p.Sessions.End(ctx, v.Principal, in.Previous); err != nil {
			return err
		}
	}
	device := "desktop"
	if in.Device == "mobile" {
		device = in.Device
	}
	made, err := p.Sessions.Start(ctx, v.Principal, v.subject.ExternalID, device)
	if err != nil {
		return err
	}
	return p.router.JSON(c, http.StatusCreated, map[string]string{"session": made.Session.ID})
}

// state is what the service knows and thinks of the visitor now.
func (p *Page) state(c *fiber.Ctx) error {
	v, err := p.visit(c)
	if err != nil {
		return err
	}
	ctx, id := request.Context(c), c.Query("session")
	out := map[string]any{"subject": v.subject.ExternalID, "enrollment": v.subject.Enrollment}
	if id != "" {
		s, err := p.own(ctx, v, id)
		if err != nil {
			return err
		}
		profile, err := p.Sessions.Assess(ctx, v.Store(), id)
		if err != nil {
			return err
		}
		out["assessment"], out["words"] = profile, explain(profile)
		out["session"] = map[string]any{"id": id, "status": s.Session.Status, "enrollment_ready": s.Session.EnrollmentReady}
	}
	return p.router.JSON(c, http.StatusOK, out)
}

// enroll trains the visitor's template from what was typed so far. Where that takes longer than a request may, the answer is
// pending, and the page asks again.
func (p *Page) enroll(c *fiber.Ctx) error {
	v, session, err := p.inSession(c)
	if err != nil {
		return err
	}
	ctx := request.Context(c)
	e, err := p.Enrollments.Begin(ctx, v.Principal, v.subject.ExternalID, session, false)
	if err != nil {
		return err
	}
	if e.Status == models.EnrollmentPending {
		waited := p.Await(ctx, enrollment.WorkflowInput{Enrollment: e.ID, Environment: e.EnvironmentID})
		if e, err = p.Enrollments.Get(ctx, e.ID, e.Subject); err != nil {
			return errors.Join(err, waited)
		}
	}
	return p.router.JSON(c, http.StatusOK, map[string]any{
		"status": e.Status, "windows": e.WindowsAccepted, "limitations": append([]string{}, e.Limitations...),
	})
}

// stranger lets a made-up typist go on in the visitor's session: the nth frame of the one that the seed names. What it tells
// of the next frame is how long typing it takes.
func (p *Page) stranger(c *fiber.Ctx) error {
	v, in, err := visited[struct {
		Session string `json:"session"`
		Seed    uint32 `json:"seed"`
		N       int    `json:"n"`
	}](p, c)
	if err != nil {
		return err
	}
	if in.N < 0 || in.N >= most {
		return problem.New(problem.BadRequest, fmt.Sprintf("n must be 0 to %d.", most-1))
	}
	ctx := request.Context(c)
	if _, err := p.own(ctx, v, in.Session); err != nil {
		return err
	}
	who := synthetic.NewTypist(uint64(in.Seed))
	frame := who.Frame(strangerKeys)
	for range in.N {
		frame = who.Frame(strangerKeys)
	}
	sent := session.Frame{
		FrameID: fmt.Sprintf("made-up-%d-%d", in.Seed, in.N), Timestamp: float64(p.Clock.Now().UnixMilli()) / 1000,
		DurationMS: frame.ActiveMS(), Features: frame.Tree(),
	}
	ack, err := p.Sessions.Evidence(ctx, v.Principal, in.Session, sent)
	if err != nil {
		return err
	}
	return p.router.JSON(c, http.StatusOK, map[string]any{"ack": ack, "frame": sent, "next_ms": who.Frame(strangerKeys).ActiveMS()})
}
