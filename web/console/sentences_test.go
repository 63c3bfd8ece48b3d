package console

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/policy"
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
		"a list":     {"hold_on", "none of operator_changed", "operator_changed", "The request must have none of operator changed (hold_on). It has operator changed."},
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
		{Requirement: "rules.large_amount", Wanted: "large", Found: "amount is over the limit", Passed: true, Effect: policy.Allow},
	}, policy.Hold)
	require.Equal(t, 1, got.Met)
	require.Equal(t, 1, got.NotMet())
	require.Equal(t, []string{"The rule large_amount applied (large): amount is over the limit."}, got.Rules)
}
