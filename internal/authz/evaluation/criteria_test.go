package evaluation_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/evaluation"
)

func TestCriteriaBeginWithTheDefaults(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]evaluation.Criteria{
		`{}`:   evaluation.DefaultCriteria(),
		`null`: evaluation.DefaultCriteria(),
		`{"min_shadow_decisions":7,"min_outcome_coverage":0}`: {MinShadowDecisions: 7, MinOutcomeCoverage: 0, MaxAbstentionRate: 0.5},
	} {
		var body struct{ Criteria evaluation.Criteria }
		require.NoError(t, json.Unmarshal([]byte(`{"Criteria":`+text+`}`), &body))
		require.Equal(t, want, body.Criteria, text)
	}
}
