package api

import (
	"context"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/api/middleware"
	"github.com/countersign-dev/countersign/api/openapi"
	"github.com/countersign-dev/countersign/api/wire"
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

// backgrounds returns the background models in use, in the order of the modalities.
func (h *metaHandlers) backgrounds() []wire.Background {
	out := []wire.Background{}
	if h.model == nil {
		return out
	}
	m := h.model()
	for _, modality := range features.Modalities() {
		if bg := m.Background(modality); bg != nil {
			c := bg.Card
			out = append(out, wire.Background{
				Version: bg.Version, Modality: string(modality), Data: c.Data, Licence: c.Licence, NonCommercial: c.NonCommercial, Local: c.Local, People: c.People,
			})
		}
	}
	return out
}

// readyTimeout limits the readiness checks of /meta.
const readyTimeout = time.Second

// claimInfos lists all claims with their possible statuses.
var claimInfos = []wire.ClaimInfo{
	{Claim: policy.OperatorContinuity, Statuses: []string{"confirmed", "likely", "uncertain", "not_confirmed", "insufficient_evidence"},
		Description: "The person at the keyboard is the one who enrolled."},
	{Claim: policy.HumanPresence, Statuses: []string{"confirmed", "likely", "uncertain", "not_confirmed"}, Description: "The input was made by a person."},
	{Claim: policy.Automation, Statuses: []string{"detected", "not_detected"}, Description: "The input was made by a program."},
	{Claim: policy.EvidenceReplay, Statuses: []string{"detected", "not_detected"}, Description: "The evidence was sent before."},
	{Claim: policy.OperatorChange, Statuses: []string{"detected", "not_detected", "insufficient_evidence"},
		Description: "A different person took over during the session. Experimental."},
	{Claim: policy.AgentMandate, Statuses: []string{"unsupported"}, Description: "An agent acts under a mandate. Not supported."},
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
