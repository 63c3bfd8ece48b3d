package statements

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// As Citus explains a join of a sub-select that is run first: the sub-select asks four shards.
func TestWidestIsThePartThatAsksMostShards(t *testing.T) {
	t.Parallel()
	var plan any
	require.NoError(t, json.Unmarshal([]byte(`[{"Plan": {"Node Type": "Custom Scan", "Custom Plan Provider": "Citus Adaptive", "Distributed Query": {
		"Subplans": [{"PlannedStmt": [{"Plan": {"Node Type": "Custom Scan", "Distributed Query": {"Job": {"Task Count": 4, "Tasks": []}}}}]}],
		"Job": {"Task Count": 1, "Tasks": [{"Node": "host=127.0.0.1", "Remote Plan": [[{"Plan": {"Node Type": "Index Scan"}}]]}]}}}}]`), &plan))
	require.Equal(t, 4, widest(plan))
	require.NoError(t, json.Unmarshal([]byte(`[{"Plan": {"Node Type": "Seq Scan"}}]`), &plan))
	require.Zero(t, widest(plan), "a table of the coordinator")
}
