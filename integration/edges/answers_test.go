package edges_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/api/openapi"
	"github.com/countersign-dev/countersign/integration/edges"
)

// The integration tests check every response against the contract. This test shows that the check works: for each rule of each
// response, a response that violates it is refused.
func TestAnswerEdges(t *testing.T) {
	t.Parallel()
	contract, err := openapi.Compile()
	require.NoError(t, err)
	doc, err := edges.Parse(openapi.Document())
	require.NoError(t, err)
	rules := doc.Responses()
	require.Greater(t, len(rules), 500)
	for _, r := range rules {
		t.Run(r.Name(), func(t *testing.T) {
			t.Parallel()
			for _, c := range r.Cases {
				body, err := json.Marshal(c.Body)
				require.NoError(t, err)
				err = contract.ValidateResponse(r.Operation, r.Status, body)
				if c.Good {
					require.NoError(t, err, "%s", body)
				} else {
					require.Error(t, err, "%s", body)
				}
			}
		})
	}
}
