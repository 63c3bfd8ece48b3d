package api

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// JSON Schema accepts every spelling of an integer.
func TestEvaluationCriteriaAcceptEverySpellingOfAnInteger(t *testing.T) {
	t.Parallel()
	b := setupRuns(t)
	for criteria, want := range map[string]float64{
		`{"min_shadow_decisions":60}`: 60, `{"min_shadow_decisions":60.0}`: 60, `{"min_shadow_decisions":6e1}`: 60, `{}`: 50,
	} {
		status, made := b.do(t, http.MethodPost, "/evaluations",
			fmt.Sprintf(`{"name":"Pilot","action_keys":[%q],"success_criteria":%s}`, b.Action.Key, criteria))
		require.Equal(t, http.StatusCreated, status, "%v", made)
		require.Equal(t, map[string]any{"min_shadow_decisions": want, "min_outcome_coverage": 0.5, "max_abstention_rate": 0.5}, made["success_criteria"], criteria)
	}
}
