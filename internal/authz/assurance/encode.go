package assurance

import (
	"encoding/json"
	"slices"

	"github.com/countersign-dev/countersign/internal/behavior/scoring"
	"github.com/countersign-dev/countersign/internal/platform/jsonappend"
)

// usualSize is the size of an encoded profile that needs no more memory.
const usualSize = 3 << 10

// Encode returns the profile exactly as encoding/json encodes it. Every decision has its profile in its response and in its row: they are
// encoded once, without reflection. A test draws every field, so that a field that is added here or in package scoring is not left out.
func (p Profile) Encode() ([]byte, error) {
	var some [usualSize]byte
	b := jsonappend.Text(some[:0], `{"id":`, p.ID)
	b = jsonappend.Text(b, `,"subject":`, p.Subject)
	b = jsonappend.OptionalText(b, `,"session":`, p.Session)
	b = jsonappend.Text(b, `,"assessed_at":`, p.AssessedAt)
	b = appendClaims(append(b, `,"claims":`...), p.Claims)
	b = jsonappend.Text(b, `,"coverage":`, string(p.Coverage))
	b = jsonappend.Bool(b, `,"insufficient_evidence":`, p.InsufficientEvidence)
	b = jsonappend.Integer(b, `,"evidence_windows":`, int64(p.EvidenceWindows))
	b, ok := jsonappend.Number(b, `,"active_seconds":`, p.ActiveSeconds)
	if !ok {
		return json.Marshal(p) // its error says why
	}
	b = jsonappend.Texts(b, `,"modalities_present":`, p.ModalitiesPresent)
	b = jsonappend.OptionalInteger(b, `,"freshness_ms":`, p.FreshnessMS)
	b = jsonappend.Texts(b, `,"limitations":`, p.Limitations)
	b = jsonappend.Text(b, `,"model_version":`, p.ModelVersion)
	b = jsonappend.Text(b, `,"rule_version":`, p.RuleVersion)
	b = jsonappend.Text(b, `,"feature_schema_version":`, p.FeatureSchemaVersion)
	return slices.Clone(append(b, '}')), nil // of its exact size, from the stack
}

// appendClaims appends the claims of a profile in their order.
func appendClaims(b []byte, claims []scoring.Claim) []byte {
	if claims == nil {
		return append(b, "null"...)
	}
	b = append(b, '[')
	for i, c := range claims {
		b = jsonappend.Text(append(b, jsonappend.Separator(i)...), `{"claim":`, c.Claim)
		b = jsonappend.Text(b, `,"status":`, string(c.Status))
		b = jsonappend.Text(b, `,"coverage":`, string(c.Coverage))
		b = jsonappend.Texts(b, `,"evidence_refs":`, c.EvidenceRefs)
		b = jsonappend.Texts(b, `,"limitations":`, c.Limitations)
		b = jsonappend.Texts(b, `,"reason_codes":`, c.ReasonCodes)
		b = append(jsonappend.OptionalInteger(b, `,"freshness_ms":`, c.FreshnessMS), '}')
	}
	return append(b, ']')
}
