package api

import (
	"context"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/api/middleware"
	"github.com/countersign-dev/countersign/api/openapi"
	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/authz/evaluation"
	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/behavior/features"
	"github.com/countersign-dev/countersign/internal/behavior/scoring"
	"github.com/countersign-dev/countersign/internal/platform/reason"
	"github.com/countersign-dev/countersign/internal/transport/request"
)

// metaHandlers handles the description of the deployment.
type metaHandlers struct {
	version  string
	ready    func(ctx context.Context) map[string]string
	maxFrame int
	model    func() *scoring.Model
}

// backgroundInfo describes a background model in use and its data.
type backgroundInfo struct {
	Version       string `json:"version"`
	Modality      string `json:"modality"`
	Data          string `json:"data"`
	Licence       string `json:"licence"`
	NonCommercial bool   `json:"non_commercial"`
	Local         bool   `json:"local"`
	People        int    `json:"people"`
}

// backgrounds returns the background models in use, in the order of the modalities.
func (h *metaHandlers) backgrounds() []backgroundInfo {
	out := []backgroundInfo{}
	if h.model == nil {
		return out
	}
	m := h.model()
	for _, modality := range features.Modalities() {
		if bg := m.Background(modality); bg != nil {
			c := bg.Card
			out = append(out, backgroundInfo{bg.Version, string(modality), c.Data, c.Licence, c.NonCommercial, c.Local, c.People})
		}
	}
	return out
}

// readyTimeout limits the readiness checks of /meta.
const readyTimeout = time.Second

// claimInfo describes one claim of an assurance profile.
type claimInfo struct {
	Claim       string   `json:"claim"`
	Statuses    []string `json:"statuses"`
	Description string   `json:"description"`
}

// claimInfos lists all claims with their possible statuses.
var claimInfos = []claimInfo{
	{policy.OperatorContinuity, []string{"confirmed", "likely", "uncertain", "not_confirmed", "insufficient_evidence"},
		"The person at the keyboard is the one who enrolled."},
	{policy.HumanPresence, []string{"confirmed", "likely", "uncertain", "not_confirmed"}, "The input was made by a person."},
	{policy.Automation, []string{"detected", "not_detected"}, "The input was made by a program."},
	{policy.EvidenceReplay, []string{"detected", "not_detected"}, "The evidence was sent before."},
	{policy.OperatorChange, []string{"detected", "not_detected", "insufficient_evidence"},
		"A different person took over during the session. Experimental."},
	{policy.AgentMandate, []string{"unsupported"}, "An agent acts under a mandate. Not supported."},
}

func (h *metaHandlers) get(c *fiber.Ctx) error {
	ctx, cancel := context.WithTimeout(request.Context(c), readyTimeout)
	defer cancel()
	capabilities := map[string]string{
		"authorize": "available", "evidence": "available", "proofs": "available", "challenges": "available", "reviews": "available",
		"enrollment": "available", "recovery": "available", "evaluations": "available", "webhooks": "available", "event_stream": "available",
		"audit": "available", "legacy": "available", "agent_mandates": "unsupported",
	}
	if h.ready != nil {
		for name, state := range h.ready(ctx) {
			capabilities[name] = state
		}
	}
	return c.Status(fiber.StatusOK).JSON(map[string]any{
		"service": "countersign", "version": h.version, "contract_version": openapi.Version(), "capabilities": capabilities,
		"reason_codes": reason.All(), "claims": claimInfos, "modalities": []string{"keystroke", "pointer", "scroll", "rhythm", "gaze"},
		"feature_schema": features.Schema(), "backgrounds": h.backgrounds(), "limits": h.limits(),
		"legacy_states":      []string{"LEARNING", "STABLE", "WATCH", "DEGRADED", "BROKEN", "ENDED"},
		"evaluation_metrics": evaluation.Definitions(),
	})
}

// limits returns the contract's limits with the values of this deployment.
func (h *metaHandlers) limits() map[string]int {
	return map[string]int{
		"requests_per_hour_test": identity.SandboxQuota, "requests_per_hour_live": identity.LiveQuota,
		"evidence_body_bytes": h.maxFrame, "body_bytes": middleware.MaxBody, "list_max": maxLimit,
	}
}

// document serves the OpenAPI document.
func (h *metaHandlers) document(c *fiber.Ctx) error {
	c.Set(fiber.HeaderCacheControl, "public, max-age=60")
	c.Set(fiber.HeaderETag, openapi.ETag())
	if c.Get(fiber.HeaderIfNoneMatch) == openapi.ETag() {
		return c.SendStatus(fiber.StatusNotModified)
	}
	return sendRaw(c, fiber.StatusOK, openapi.Document())
}
