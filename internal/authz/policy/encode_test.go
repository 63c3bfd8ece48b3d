package policy_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/countersign-dev/countersign/internal/authz/policy"
)

// TestExplanationEncodesAsEncodingJSON draws every field of a result, also those that are added later.
func TestExplanationEncodesAsEncodingJSON(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		results := rapid.SliceOf(rapid.Make[policy.RequirementResult]()).Draw(t, "results")
		want, err := json.Marshal(results)
		require.NoError(t, err)
		require.Equal(t, string(want), string(policy.EncodeExplanation(results)))
	})
	require.Equal(t, "null", string(policy.EncodeExplanation(nil)))
}
