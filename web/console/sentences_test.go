package console

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/platform/audit"
)

func TestUnmetRequirementsAreSentences(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		requirement, wanted, found string
		says                       string
	}{
		"coverage":   {"coverage", "at least partial", "none", "Coverage must be at least partial. It is none."},
		"evidence":   {"insufficient_evidence", "sufficient", "insufficient", "The evidence must be sufficient. It is insufficient."},
		"a claim":    {"claims.operator_continuity", "at least likely", "not_confirmed", "Operator continuity must be at least likely. It is not confirmed."},
		"freshness":  {"freshness", "at most 120000 ms", "operator_continuity: 780 ms", "The evidence must be at most 2 min old. Found: operator continuity: 780 ms."},
		"a list":     {"hold_on", "none of operator_changed", "operator_changed", "The policy holds requests with: operator changed."},
		"challenges": {"max_challenges", "fewer than 3", "3", "The request must have had fewer than 3 challenges. It had 3."},
		"approval":   {"explicit_approval", "approved by the subject", "not approved", "The action must be approved by the subject. It is not approved."},
		"methods":    {"challenge_method", "one of passkey", "none", "The subject must be able to complete a challenge by one of passkey. Available: none."},
		"standing":   {"subject", "active", "revoked", "The subject must be active. It is revoked."},
		"new to us":  {"device_bound", "true", "false", "Device bound must be true. Found: false."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := unmetOf([]policy.RequirementResult{{Requirement: c.requirement, Wanted: c.wanted, Found: c.found, Effect: policy.Hold}}, policy.Hold)
			require.Equal(t, unmet{Decisive: []string{c.says}}, got)
		})
	}
	got := unmetOf([]policy.RequirementResult{
		{Requirement: "subject", Passed: true, Effect: policy.Allow},
		{Requirement: "coverage", Wanted: "at least partial", Found: "none", Effect: policy.Challenge},
		{Requirement: "hold_on", Wanted: "none of rule_matched", Found: "rule_matched", Effect: policy.Hold},
		{Requirement: "rules.large_amount", Wanted: "Large", Found: "amount is over the limit", Passed: true, Effect: policy.Allow, Shown: []policy.ShownValue{{Label: "Amount", Value: "1,250.50 EUR"}}},
	}, policy.Hold)
	require.Equal(t, 1, got.Met)
	require.Equal(t, 1, got.NotMet())
	require.Empty(t, got.Decisive, "the author's words stand for the rule that applied")
	require.Equal(t, []stated{{Reason: "Large", Rule: "large_amount", Found: "amount is over the limit", Values: []policy.ShownValue{{Label: "Amount", Value: "1,250.50 EUR"}}}}, got.Stated)
}

// Without evidence nothing is good: what was not assessed is grey and says why.
func TestEvidenceIsSaidInWords(t *testing.T) {
	t.Parallel()
	claim := func(name, status string) audit.Claim { return audit.Claim{Name: name, Status: status} }
	none := audit.Evidence{Coverage: "none", Claims: []audit.Claim{
		claim("operator_continuity", "insufficient_evidence"), claim("automation", "not_detected"), claim("evidence_replay", "not_detected"),
	}}
	require.Equal(t, []evidenceLine{{Text: "No typing in this session: not assessed."}}, evidenceOf(none))
	some := none
	some.Windows, some.Claims = 4, []audit.Claim{
		claim("operator_continuity", "likely"), claim("automation", "not_detected"), claim("evidence_replay", "detected"), claim("coercion", "insufficient_evidence"),
	}
	require.Equal(t, []evidenceLine{
		{"Typing", "Likely the enrolled person.", "good"},
		{"Automation", "No program seems to type.", "good"},
		{"Replay", "These keystrokes were sent before.", "bad"},
		{"Coercion", "Too little evidence: not assessed.", ""},
	}, evidenceOf(some))
}
