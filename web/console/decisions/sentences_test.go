package decisions

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
		"coverage":   {"coverage", "at least partial", "none", "Coverage of the session is none. The policy asks for at least partial."},
		"evidence":   {"insufficient_evidence", "sufficient", "insufficient", "There is too little evidence to know who is acting."},
		"a claim":    {"claims.operator_continuity", "at least likely", "not_confirmed", "Not like the enrolled person. The policy asks for at least likely."},
		"freshness":  {"freshness", "at most 120000 ms", "operator_continuity: 780 ms", "The policy asks for evidence that is at most 2 min old. Found: operator continuity: 780 ms."},
		"a list":     {"hold_on", "none of operator_changed", "operator_changed", "The policy holds requests with: operator changed."},
		"challenges": {"max_challenges", "fewer than 3", "3", "The user was challenged 3 times. The policy asks for fewer than 3."},
		"approval":   {"explicit_approval", "approved by the subject", "not approved", "The policy asks the user to confirm this very action. It is not approved."},
		"methods":    {"challenge_method", "one of passkey", "none", "The user can complete none of the challenges that the policy accepts: passkey."},
		"standing":   {"subject", "active", "revoked", "The user is revoked."},
		"new to us":  {"device_bound", "true", "false", "Device bound is false. The policy asks for true."},
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

// Too little evidence is one fact to a reviewer, however many requirements it fails.
func TestTooLittleEvidenceIsSaidOnce(t *testing.T) {
	t.Parallel()
	got := unmetOf([]policy.RequirementResult{
		{Requirement: "insufficient_evidence", Wanted: "sufficient", Found: "insufficient", Effect: policy.Hold},
		{Requirement: "coverage", Wanted: "at least partial", Found: "none", Effect: policy.Hold},
		{Requirement: "claims.operator_continuity", Wanted: "at least likely", Found: "insufficient_evidence", Effect: policy.Hold},
		{Requirement: "claims.automation", Wanted: "not_detected", Found: "detected", Effect: policy.Hold},
	}, policy.Hold)
	require.Equal(t, []string{"There is too little evidence to know who is acting.", "A program seems to type. The policy asks for not detected."}, got.Decisive)
	require.Len(t, got.Others, 2)
	require.Equal(t, "Too little evidence to know who is acting", WhyOf([]string{"insufficient_evidence", "coverage_below_minimum", "freshness_exceeded"}))
	require.Equal(t, "Typing not like the enrolled person, a program seems to type", WhyOf([]string{"operator_continuity_not_met", "automation_not_met", "hold_on_matched"}))
	require.Equal(t, "Device bound", WhyOf([]string{"device_bound"}), "a code of a later version")
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
