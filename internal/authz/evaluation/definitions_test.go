package evaluation_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/evaluation"
)

// Every figure of a report is defined, in the catalogue and in the docs, and nothing else is.
func TestEveryMetricIsDefined(t *testing.T) {
	t.Parallel()
	b := setup(t)
	v := b.create(t, evaluation.Create{})
	r, err := b.service.Report(t.Context(), b.Scope, v.ID)
	require.NoError(t, err)
	raw, err := json.Marshal(r.Metrics)
	require.NoError(t, err)
	var metrics map[string]any
	require.NoError(t, json.Unmarshal(raw, &metrics))
	for check := range r.Checks {
		metrics[check] = nil
	}
	docs, err := os.ReadFile("../../../docs/trying-policies.md")
	require.NoError(t, err)
	defined := map[string]any{}
	for _, d := range evaluation.Definitions() {
		require.NotEmpty(t, d.Definition)
		defined[d.Metric] = nil
		if d.Metric != "note" {
			require.Contains(t, string(docs), "`"+d.Metric+"`")
		}
	}
	for metric := range metrics {
		require.Contains(t, defined, metric)
	}
	require.Len(t, defined, len(metrics))
}
