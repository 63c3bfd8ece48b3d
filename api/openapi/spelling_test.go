package openapi_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/api/openapi"
)

func TestKnownPropertiesOfOpenObjectsHaveOneSpelling(t *testing.T) {
	t.Parallel()
	const frame = `"frame_id":"f","timestamp":1,"duration_ms":1,"features":{"Purpose":1,"ts":2}`
	for body, want := range map[string][]openapi.Violation{
		`{` + frame + `}`:                           nil,
		`{` + frame + `,"purpose":"enroll"}`:        nil,
		`{` + frame + `,"something":{"TS":"else"}}`: nil,
		`{` + frame + `,"Purpose":"enroll"}`: {
			{Loc: []any{"body", "Purpose"}, Msg: "Purpose is written purpose", Type: "extra_forbidden"},
		},
		`{` + frame + `,"FRAME_ID":"g","Research_Optin":true}`: {
			{Loc: []any{"body", "FRAME_ID"}, Msg: "FRAME_ID is written frame_id", Type: "extra_forbidden"},
			{Loc: []any{"body", "Research_Optin"}, Msg: "Research_Optin is written research_optin", Type: "extra_forbidden"},
		},
	} {
		require.Equal(t, want, contract(t).ValidateBody("submitEvidence", decode(t, body)), body)
	}
	require.Equal(t, []openapi.Violation{
		{Loc: []any{"body", "frames", 1, "Duration_MS"}, Msg: "Duration_MS is written duration_ms", Type: "extra_forbidden"},
	}, contract(t).ValidateBody("legacyIngest", decode(t, `{"session_id":"s","frames":[{"ts":1,"hold_ms":1},{"ts":2,"Duration_MS":1}]}`)))
}
