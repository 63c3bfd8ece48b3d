package try

import (
	"fmt"
	"hash/fnv"
	"net/http"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/behavior/features"
	"github.com/countersign-dev/countersign/internal/behavior/synthetic"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/subject/session"
	"github.com/countersign-dev/countersign/internal/transport/request"
)

// strangerKeys is the number of keys in a frame of the simulated typist: enough to be assessed.
const strangerKeys = 48

// maxStrangerFrames limits the frames of one simulated typist: nine enroll it, and the others are assessed.
const maxStrangerFrames = 18

// session ends the visitor's previous session and starts a new one.
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

// state returns the visitor's enrollment, session and current assessment.
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

// enroll trains the visitor's template. If that takes longer than a request may, it returns pending and the page retries.
func (p *Page) enroll(c *fiber.Ctx) error {
	v, session, err := p.inSession(c)
	if err != nil {
		return err
	}
	e, err := p.Completer.Complete(request.Context(c), v.Principal, v.subject.ExternalID, session, false)
	if err != nil {
		return err
	}
	return p.router.JSON(c, http.StatusOK, map[string]any{
		"status": e.Status, "starting": p.Starting() != "", "windows": e.WindowsAccepted, "limitations": append([]string{}, e.Limitations...),
	})
}

// stranger continues the visitor's session with frame n of the simulated typist with that seed, which enrolls if the purpose
// is enroll. It also returns how many milliseconds typing the next frame takes.
func (p *Page) stranger(c *fiber.Ctx) error {
	v, in, err := visited[struct {
		Session string `json:"session"`
		Seed    uint32 `json:"seed"`
		N       int    `json:"n"`
		Purpose string `json:"purpose"`
	}](p, c)
	if err != nil {
		return err
	}
	if in.N < 0 || in.N >= maxStrangerFrames {
		return problem.New(problem.BadRequest, fmt.Sprintf("n must be from 0 to %d.", maxStrangerFrames-1))
	}
	if in.Purpose != "" && in.Purpose != identity.PurposeScore && in.Purpose != identity.PurposeEnroll {
		return problem.New(problem.BadRequest, "purpose must be score or enroll.")
	}
	ctx := request.Context(c)
	if _, err := p.own(ctx, v, in.Session); err != nil {
		return err
	}
	frame, next := typedBy(in.Seed, in.Session, in.N)
	sent := session.Frame{
		FrameID: fmt.Sprintf("made-up-%d-%d", in.Seed, in.N), Timestamp: float64(p.Clock.Now().UnixMilli()) / 1000,
		DurationMS: frame.ActiveMS(), Features: frame.Tree(), Purpose: in.Purpose,
	}
	ack, err := p.Sessions.Evidence(ctx, v.Principal, in.Session, sent)
	if err != nil {
		return err
	}
	return p.router.JSON(c, http.StatusOK, map[string]any{"ack": ack, "frame": sent, "next_ms": next.ActiveMS()})
}

// typedBy returns frame n of the simulated typist with that seed in a session, and the one after it.
func typedBy(seed uint32, session string, n int) (frame, next features.Frame) {
	place := fnv.New64a()
	_, _ = place.Write([]byte(session)) // a hash.Hash returns no error
	who := synthetic.NewTypist(uint64(seed)).Elsewhere(place.Sum64())
	frame = who.Frame(strangerKeys)
	for range n {
		frame = who.Frame(strangerKeys)
	}
	return frame, who.Frame(strangerKeys)
}
