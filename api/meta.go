package api

import (
	"context"
	"time"

	"github.com/countersign-dev/countersign/internal/transport/request"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/api/openapi"
	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/authz/evaluation"
	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/behavior/features"
	"github.com/countersign-dev/countersign/internal/behavior/scoring"
	"github.com/countersign-dev/countersign/internal/platform/reason"
)

// metaHandlers answer what the service can do.
type metaHandlers struct {
	version  string
	ready    func(ctx context.Context) map[string]string
	maxFrame int
	model    func() *scoring.Model
}

// backgroundInfo says whence a background model in force comes.
type backgroundInfo struct {
	Version       string `json:"version"`
	Modality      string `json:"modality"`
	Data          string `json:"data"`
	Licence       string `json:"licence"`
	NonCommercial bool   `json:"non_commercial"`
	Local         bool   `json:"local"`
	People        int    `json:"people"`
}

// backgrounds are the background models in force, in the order of the modalities.
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

// readyWithin bounds asking what is away.
const readyWithin = time.Second

// claimInfo describes one claim of an assurance profile.
type claimInfo struct {
	Claim       string   `json:"claim"`
	Statuses    []string `json:"statuses"`
	Description string   `json:"description"`
}

// claimInfos are all claims, each with the statuses it can have.
var claimInfos = []claimInfo{
	{policy.OperatorContinuity, []string{"confirmed", "likely", "uncertain", "not_confirmed", "insufficient_evidence"},
		"The person at the keyboard is the one who enrolled."},
	{policy.HumanPresence, []string{"confirmed", "likely", "uncertain", "not_confirmed"}, "A person makes the input."},
	{policy.Automation, []string{"detected", "not_detected"}, "The input was made by a program."},
	{policy.EvidenceReplay, []string{"detected", "not_detected"}, "Evidence was sent before."},
	{policy.OperatorChange, []string{"detected", "not_detected", "insufficient_evidence"},
		"Somebody else took over during the session. Experimental."},
	{policy.AgentMandate, []string{"unsupported"}, "An agent acts under a mandate. Not supported."},
}

func (h *metaHandlers) get(c *fiber.Ctx) error {
	ctx, cancel := context.WithTimeout(request.Context(c), readyWithin)
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
	return send(c, fiber.StatusOK, map[string]any{
		"service": "countersign", "version": h.version, "contract_version": openapi.Version(), "capabilities": capabilities,
		"reason_codes": reason.All(), "claims": claimInfos, "modalities": []string{"keystroke", "pointer", "scroll", "rhythm", "gaze"},
		"feature_schema": features.Schema(), "backgrounds": h.backgrounds(), "limits": h.limits(),
		"legacy_states":      []string{"LEARNING", "STABLE", "WATCH", "DEGRADED", "BROKEN", "ENDED"},
		"evaluation_metrics": evaluation.Definitions(),
	})
}

// limits are SPEC section 8, as this deployment keeps them.
func (h *metaHandlers) limits() map[string]int {
	return map[string]int{
		"requests_per_hour_test": identity.SandboxQuota, "requests_per_hour_live": identity.LiveQuota,
		"evidence_body_bytes": h.maxFrame, "body_bytes": maxBody, "list_max": maxLimit,
	}
}
