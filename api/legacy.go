package api

import (
	"fmt"
	"maps"
	"strconv"
	"strings"

	"github.com/gofiber/fiber/v2"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"github.com/countersign-dev/countersign/api/metrics"
	"github.com/countersign-dev/countersign/api/wire"
	"github.com/countersign-dev/countersign/internal/subject/legacy"
	"github.com/countersign-dev/countersign/internal/subject/session"
	"github.com/countersign-dev/countersign/internal/transport/request"
)

// legacyHandlers handles the earlier timing-based operations.
type legacyHandlers struct {
	Legacy   *legacy.Service
	Sessions *session.Service
	figures  *metrics.Metrics
}

// deprecatedSince is the Deprecation header (RFC 9745): since when /api/v1 replaces these operations.
const deprecatedSince = "@1795132800"

// sendLegacy writes the response of an earlier operation, with the mode and a link to its successor.
func sendLegacy(c *fiber.Ctx, status int, successor string, body map[string]any) error {
	c.Set("Deprecation", deprecatedSince)
	c.Set(fiber.HeaderLink, `<`+successor+`>; rel="successor-version"`)
	body["mode"] = request.Principal(c).Kind.Mode()
	return c.Status(status).JSON(body)
}

func (h *legacyHandlers) start(c *fiber.Ctx) error {
	in, err := bind[wire.LegacySessionStart](c)
	if err != nil {
		return err
	}
	v, err := h.Legacy.Start(request.Context(c), request.Principal(c), in.UserID)
	if err != nil {
		return err
	}
	return sendLegacy(c, fiber.StatusCreated, "/api/v1/sessions", map[string]any{"session_id": v.Session.ID, "state": v.Session.TrustState})
}

// ingest submits frames one after the other. The field ts is both id and time of a frame; the other fields are features.
func (h *legacyHandlers) ingest(c *fiber.Ctx) error {
	body := request.Decoded(c)
	id, _ := body["session_id"].(string)
	frames, _ := body["frames"].([]any)
	accepted, rejected := 0, 0
	for _, f := range frames {
		frame, _ := f.(map[string]any)
		ack, err := h.Sessions.Evidence(request.Context(c), request.Principal(c), id, legacyFrame(frame))
		if err != nil {
			return err
		}
		h.figures.Frame(request.Principal(c).EnvironmentID, ack)
		if ack.Status == "rejected" {
			rejected++
		} else {
			accepted++
		}
	}
	t, err := h.Legacy.Trust(request.Context(c), request.Principal(c).Store(), id)
	if err != nil {
		return err
	}
	return sendLegacy(c, fiber.StatusOK, "/api/v1/sessions/"+id+"/evidence",
		map[string]any{"accepted": accepted, "rejected": rejected, "state": t.State})
}

// legacyFrame reads {ts, duration_ms?, purpose?, features? | features' own fields}.
func legacyFrame(body map[string]any) session.Frame {
	f := session.Frame{Features: body["features"]}
	f.DurationMS, _ = body["duration_ms"].(float64)
	f.Purpose, _ = body["purpose"].(string)
	ts, _ := body["ts"].(float64)
	f.FrameID = "ts-" + strconv.FormatFloat(ts, 'f', -1, 64)
	f.Timestamp = ts / 1000 // ts is in milliseconds
	if f.Features == nil {
		own := maps.Clone(body)
		for _, name := range []string{"ts", "duration_ms", "purpose", "features"} {
			delete(own, name)
		}
		f.Features = own
	}
	return f
}

func (h *legacyHandlers) trust(c *fiber.Ctx) error {
	id := c.Params("session_id")
	t, err := h.Legacy.Trust(request.Context(c), request.Principal(c).Store(), id)
	if err != nil {
		return err
	}
	return sendLegacy(c, fiber.StatusOK, "/api/v1/sessions/"+id+"/assessment",
		map[string]any{"score": t.Score, "state": t.State, "reason_codes": t.Reasons})
}

func (h *legacyHandlers) end(c *fiber.Ctx) error {
	in, err := bind[wire.LegacySessionEnd](c)
	if err != nil {
		return err
	}
	t, err := h.Legacy.End(request.Context(c), request.Principal(c), in.SessionID)
	if err != nil {
		return err
	}
	return sendLegacy(c, fiber.StatusOK, "/api/v1/sessions/"+in.SessionID+"/end",
		map[string]any{"session_id": in.SessionID, "score": t.Score, "state": t.State})
}

func (h *legacyHandlers) enrol(c *fiber.Ctx) error {
	in, err := bind[wire.LegacyEnrol](c)
	if err != nil {
		return err
	}
	e, err := h.Legacy.Enrol(request.Context(c), request.Principal(c), in.UserID, in.ReactionTimes, in.KeystrokeIntervals, in.Consent)
	if err != nil {
		return err
	}
	return sendLegacy(c, fiber.StatusOK, "/api/v1/subjects/"+in.UserID+"/enrollments/complete",
		map[string]any{"user_id": in.UserID, "samples": e.Samples, "enrolled": e.Enrolled})
}

func (h *legacyHandlers) auth(c *fiber.Ctx) error {
	in, err := bind[wire.LegacyAuth](c)
	if err != nil {
		return err
	}
	v, err := h.Legacy.Auth(request.Context(c), request.Principal(c), in.UserID, in.ReactionTimes, in.KeystrokeIntervals)
	if err != nil {
		return err
	}
	return sendLegacy(c, fiber.StatusOK, "/api/v1/authorize", map[string]any{
		"ok": v.Decision == "accept", "confidence": v.Confidence, "decision": v.Decision, "reason_codes": v.Reasons,
	})
}

// metrics returns the figures of the caller's environment in this process: those of the whole process are on the operations port.
// They have the Prometheus text format, or JSON if the client accepts application/json.
func (h *legacyHandlers) metrics(c *fiber.Ctx) error {
	families, err := h.figures.Of(request.Principal(c).EnvironmentID).Gather()
	if err != nil {
		return err
	}
	if strings.Contains(c.Get(fiber.HeaderAccept), fiber.MIMEApplicationJSON) {
		out := summary(families)
		out["mode"] = request.Principal(c).Kind.Mode()
		return c.Status(fiber.StatusOK).JSON(out)
	}
	var b strings.Builder
	for _, f := range families {
		if _, err := expfmt.MetricFamilyToText(&b, f); err != nil {
			return err
		}
	}
	c.Set(fiber.HeaderContentType, "text/plain; version=0.0.4; charset=utf-8")
	return c.SendString(b.String())
}

// summary returns the metrics by name and labels: the value of counters and gauges, count and mean of histograms.
func summary(families []*dto.MetricFamily) map[string]any {
	out := map[string]any{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			name := f.GetName()
			for _, l := range m.GetLabel() {
				name += fmt.Sprintf("{%s=%s}", l.GetName(), l.GetValue())
			}
			switch {
			case m.GetCounter() != nil:
				out[name] = m.GetCounter().GetValue()
			case m.GetGauge() != nil:
				out[name] = m.GetGauge().GetValue()
			case m.GetHistogram() != nil:
				n := m.GetHistogram().GetSampleCount()
				mean := 0.0
				if n > 0 {
					mean = m.GetHistogram().GetSampleSum() / float64(n)
				}
				out[name] = map[string]any{"count": n, "mean": mean}
			}
		}
	}
	return out
}
