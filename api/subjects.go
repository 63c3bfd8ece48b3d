package api

import (
	"io"
	"net"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/api/wire"
	"github.com/countersign-dev/countersign/internal/authz/change"
	"github.com/countersign-dev/countersign/internal/subject"
	"github.com/countersign-dev/countersign/internal/subject/alias"
	"github.com/countersign-dev/countersign/internal/transport/pacing"
	"github.com/countersign-dev/countersign/internal/transport/request"
	"github.com/countersign-dev/countersign/models"
)

// subjectHandlers handles subjects.
type subjectHandlers struct {
	Subjects *subject.Service
	Changes  *change.Service
	Aliases  *alias.Service
}

func viewSubject(v subject.View) wire.Subject {
	out := wire.Subject{
		ID: v.ExternalID, Environment: v.EnvironmentID, Status: string(v.Status), Enrollment: string(v.Enrollment),
		AdaptationFrozen: v.AdaptationFrozen, ResearchConsent: v.ResearchConsent, Passkeys: make([]wire.PasskeySummary, len(v.Passkeys)),
		CreatedAt: wire.Time(v.CreatedAt), UpdatedAt: wire.Time(v.UpdatedAt), RevokedAt: (*wire.Time)(v.RevokedAt),
	}
	for i, p := range v.Passkeys {
		out.Passkeys[i] = summarisePasskey(p)
	}
	return out
}

func summarisePasskey(p models.Passkey) wire.PasskeySummary {
	return wire.PasskeySummary{ID: p.ID, CreatedAt: wire.Time(p.CreatedAt), LastUsedAt: (*wire.Time)(p.LastUsedAt)}
}

func (h *subjectHandlers) create(c *fiber.Ctx) error {
	body, err := bind[wire.SubjectCreate](c)
	if err != nil {
		return err
	}
	v, err := h.Subjects.Create(request.Context(c), request.Principal(c), body.ID)
	return replyView(c, fiber.StatusCreated, viewSubject, v, err)
}

func (h *subjectHandlers) list(c *fiber.Ctx) error {
	filter := subject.Filter{Status: c.Query("status"), Enrollment: c.Query("enrollment")}
	rows, next, err := h.Subjects.List(request.Context(c), request.Principal(c).Store(), filter, page(c))
	return replyList(c, viewSubject, rows, next, err)
}

func (h *subjectHandlers) get(c *fiber.Ctx) error {
	v, err := h.Subjects.Get(request.Context(c), request.Principal(c).Store(), c.Params("subject_id"))
	return replyView(c, fiber.StatusOK, viewSubject, v, err)
}

func (h *subjectHandlers) erase(c *fiber.Ctx) error {
	r, err := h.Subjects.Erase(request.Context(c), request.Principal(c), c.Params("subject_id"))
	if err != nil {
		return err
	}
	return c.Status(fiber.StatusAccepted).JSON(wire.ErasureReceipt{
		Subject: r.Subject, Erasure: r.Erasure, Status: r.Status, RequestedAt: wire.Time(r.RequestedAt),
	})
}

func (h *subjectHandlers) freeze(c *fiber.Ctx) error {
	body, err := bind[wire.AdaptationFreeze](c)
	if err != nil {
		return err
	}
	v, err := h.Subjects.Freeze(request.Context(c), request.Principal(c), c.Params("subject_id"), body.Frozen, body.Reason)
	return replyView(c, fiber.StatusOK, viewSubject, v, err)
}

func (h *subjectHandlers) revoke(c *fiber.Ctx) error {
	body, err := bind[wire.Reason](c)
	if err != nil {
		return err
	}
	v, err := h.Subjects.Revoke(request.Context(c), request.Principal(c), c.Params("subject_id"), body.Reason)
	return replyView(c, fiber.StatusOK, viewSubject, v, err)
}

// reinstate requests the end of a revocation.
func (h *subjectHandlers) reinstate(c *fiber.Ctx) error {
	body, err := bind[wire.SubjectReinstate](c)
	if err != nil {
		return err
	}
	v, err := h.Changes.Reinstate(request.Context(c), request.Principal(c), c.Params("subject_id"), body.Reason)
	return replyView(c, fiber.StatusAccepted, viewChange, v, err)
}

func viewAliases(subject string) func([]models.SubjectAlias) wire.SubjectAliases {
	return func(rows []models.SubjectAlias) wire.SubjectAliases {
		out := wire.SubjectAliases{Subject: subject, Aliases: make([]wire.StoredAlias, len(rows))}
		for i, r := range rows {
			out.Aliases[i] = wire.StoredAlias{Format: r.Format, CreatedAt: wire.Time(r.CreatedAt)}
		}
		return out
	}
}

func (h *subjectHandlers) aliases(c *fiber.Ctx) error {
	id := c.Params("subject_id")
	rows, err := h.Aliases.List(request.Context(c), request.Principal(c).Store(), id)
	return replyView(c, fiber.StatusOK, viewAliases(id), rows, err)
}

func (h *subjectHandlers) setAliases(c *fiber.Ctx) error {
	body, err := bind[wire.SubjectAliasesUpdate](c)
	if err != nil {
		return err
	}
	id := c.Params("subject_id")
	rows, err := h.Aliases.Put(request.Context(c), request.Principal(c), id, body.Aliases)
	return replyView(c, fiber.StatusOK, viewAliases(id), rows, err)
}

func (h *subjectHandlers) export(c *fiber.Ctx) error {
	e, err := h.Subjects.Export(request.Context(c), request.Principal(c), c.Params("subject_id"))
	if err != nil {
		return err
	}
	// The server closes the body when it is read or the client disconnects.
	c.Set(fiber.HeaderContentType, fiber.MIMEApplicationJSON)
	c.Status(fiber.StatusOK).Response().SetBodyStream(paced(e.Body, c.Context().Conn(), e.Size, exportPause), int(e.Size))
	return nil
}

// The pace at which a client must read an export, which occupies a database connection until it is read: pauses of at most
// exportPause, and exportPace on average.
const (
	exportPause = 20 * time.Second
	exportPace  = 64 << 10 // bytes a second
)

// timeToTake returns the time that a client has to read size bytes.
func timeToTake(size int64, pause time.Duration) time.Duration {
	return pause + time.Duration(size/exportPace)*time.Second
}

// paced enforces the pace on an export of this size.
func paced(body io.ReadCloser, conn net.Conn, size int64, pause time.Duration) io.ReadCloser {
	return pacing.New(body, conn, pause, timeToTake(size, pause))
}

func (h *subjectHandlers) consent(c *fiber.Ctx) error {
	body, err := bind[wire.ResearchConsentRequest](c)
	if err != nil {
		return err
	}
	id := c.Params("subject_id")
	r, err := h.Subjects.SetConsent(request.Context(c), request.Principal(c), id, body.Consented)
	if err != nil {
		return err
	}
	return c.Status(fiber.StatusOK).JSON(wire.ResearchConsentRecord{Subject: id, Consented: r.Consented, RecordedAt: wire.Time(r.RecordedAt)})
}
