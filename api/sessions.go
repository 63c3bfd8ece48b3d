package api

import (
	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/api/metrics"
	"github.com/countersign-dev/countersign/api/wire"
	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/behavior/scoring"
	"github.com/countersign-dev/countersign/internal/subject/enrollment"
	"github.com/countersign-dev/countersign/internal/subject/session"
	"github.com/countersign-dev/countersign/internal/transport/request"
	"github.com/countersign-dev/countersign/models"
)

// sessionHandlers handles observation sessions and their evidence.
type sessionHandlers struct {
	Sessions *session.Service
	metrics  *metrics.Metrics
}

// researchHeader is equivalent to research_optin in the body.
const researchHeader = "X-Service-Research-Optin"

func viewSession(v identity.SubjectSession) wire.Session {
	s := v.Session
	return wire.Session{
		ID: s.ID, Subject: v.Subject.ExternalID, Environment: s.EnvironmentID, DeviceClass: s.DeviceClass, Status: string(s.Status),
		StartedAt: wire.Time(s.StartedAt), EndedAt: (*wire.Time)(s.EndedAt), LastEvidenceAt: (*wire.Time)(s.LastEvidenceAt),
	}
}

func (h *sessionHandlers) create(c *fiber.Ctx) error {
	in, err := bind[wire.SessionCreate](c)
	if err != nil {
		return err
	}
	v, err := h.Sessions.Start(request.Context(c), request.Principal(c), in.Subject, in.DeviceClass)
	return replyView(c, fiber.StatusCreated, viewSession, v, err)
}

func (h *sessionHandlers) list(c *fiber.Ctx) error {
	rows, next, err := h.Sessions.List(request.Context(c), request.Principal(c).Store(), c.Query("subject"), models.SessionStatus(c.Query("status")), page(c))
	return replyList(c, viewSession, rows, next, err)
}

func (h *sessionHandlers) get(c *fiber.Ctx) error {
	v, err := h.Sessions.Get(request.Context(c), request.Principal(c).Store(), c.Params("session_id"))
	return replyView(c, fiber.StatusOK, viewSession, v, err)
}

func (h *sessionHandlers) status(c *fiber.Ctx) error {
	v, err := h.Sessions.Get(request.Context(c), request.Principal(c).Store(), c.Params("session_id"))
	if err != nil {
		return err
	}
	s := v.Session
	return c.Status(fiber.StatusOK).JSON(wire.SessionStatus{
		Session: viewSession(v), Coverage: s.Coverage, EvidenceWindows: s.EvidenceWindows, ActiveSeconds: s.ActiveSeconds,
		ModalitiesPresent: nonNil(s.Modalities), EnrollmentReady: s.EnrollmentReady,
	})
}

func (h *sessionHandlers) assessment(c *fiber.Ctx) error {
	profile, err := h.Sessions.Assess(request.Context(c), request.Principal(c).Store(), c.Params("session_id"))
	return reply(c, fiber.StatusOK, profile, err)
}

func (h *sessionHandlers) evidence(c *fiber.Ctx) error {
	in := submitted(request.Decoded(c))
	in.ResearchOptin = in.ResearchOptin || c.Get(researchHeader) == "true"
	ack, err := h.Sessions.Evidence(request.Context(c), request.Principal(c), c.Params("session_id"), in)
	if err != nil {
		return err
	}
	h.metrics.Frame(request.Principal(c).EnvironmentID, ack)
	return c.Status(fiber.StatusOK).JSON(ack)
}

// submitted converts a validated body to a frame.
func submitted(body map[string]any) session.Frame {
	f := session.Frame{Features: body["features"], WindowStart: number(body["window_start"]), WindowEnd: number(body["window_end"])}
	f.FrameID, _ = body["frame_id"].(string)
	f.Timestamp, _ = body["timestamp"].(float64)
	f.DurationMS, _ = body["duration_ms"].(float64)
	f.Purpose, _ = body["purpose"].(string)
	f.ResearchOptin, _ = body["research_optin"].(bool)
	return f
}

// number returns a decoded number; nil for any other value.
func number(value any) *float64 {
	if n, ok := value.(float64); ok {
		return &n
	}
	return nil
}

func (h *sessionHandlers) end(c *fiber.Ctx) error {
	v, err := h.Sessions.End(request.Context(c), request.Principal(c), c.Params("session_id"))
	return replyView(c, fiber.StatusOK, viewSession, v, err)
}

// enrollmentHandlers handles enrollments.
type enrollmentHandlers struct {
	Enrollments *enrollment.Service
	Completer   *enrollment.Completer
}

func viewEnrollment(v enrollment.View) wire.Enrollment {
	out := wire.Enrollment{
		ID: v.ID, Subject: v.Subject, Anchor: v.Anchor, Status: string(v.Status), WindowsAccepted: v.WindowsAccepted,
		CreatedAt: wire.Time(v.CreatedAt), Limitations: nonNil(v.Limitations), RefusedSessions: []wire.RefusedSession{},
	}
	for _, id := range v.RefusedSessions {
		out.RefusedSessions = append(out.RefusedSessions, wire.RefusedSession{Session: id, Reason: scoring.ReasonInconsistent})
	}
	if v.Status == models.EnrollmentCompleted {
		out.CompletedAt = (*wire.Time)(v.CompletedAt)
	}
	return out
}

// complete returns 202 for an enrollment that has not been trained in time.
func (h *enrollmentHandlers) complete(c *fiber.Ctx) error {
	in, err := bind[wire.EnrollmentComplete](c)
	if err != nil {
		return err
	}
	v, err := h.Completer.Complete(request.Context(c), request.Principal(c), c.Params("subject_id"), in.Session, in.Force)
	status := fiber.StatusOK
	if v.Status == models.EnrollmentPending {
		status = fiber.StatusAccepted
	}
	return replyView(c, status, viewEnrollment, v, err)
}

func (h *enrollmentHandlers) list(c *fiber.Ctx) error {
	rows, next, err := h.Enrollments.List(request.Context(c), request.Principal(c).Store(), c.Params("subject_id"), page(c))
	return replyList(c, viewEnrollment, rows, next, err)
}
