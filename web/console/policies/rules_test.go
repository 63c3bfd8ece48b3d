package policies

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/policy"
)

// A rule that is shown in the form is submitted as it was.
func TestRulesOfFormsAreLossless(t *testing.T) {
	t.Parallel()
	for _, requirements := range []string{
		`{"hold_on":["rule_matched"]}`, `{"deny_on":["rule_matched"],"hold_on":["rule_matched"]}`, `{"hold_on":["rule_matched","replay_exact"]}`,
		`{"explicit_approval_required":true,"approvals_required":3}`, `{"review":[{"group":"a","approvals":1}]}`, `{"review":[{"group":"a","approvals":2}]}`,
		`{"review":[{"group":"a","approvals":1,"escalate":{"after_seconds":600,"group":"b"}}],"coverage_min":"partial"}`,
		`{"review":[{"group":"a","approvals":1},{"group":"b","approvals":1}]}`, `{"claims":{"human_presence":"likely"}}`, `{"challenge_methods":[]}`,
	} {
		text := `[{"name":"r","when":"context.amount > 1","requirements":` + requirements + `,"reason":"Why."}]`
		var list []policy.Rule
		require.NoError(t, json.Unmarshal([]byte(text), &list))
		body, faults := rulesPart("requirements.rules", list).Values()
		require.Empty(t, faults)
		got, err := json.Marshal(body)
		require.NoError(t, err)
		require.JSONEq(t, text, string(got))
	}
}
