package wire_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/api/wire"
)

// What is null is written, what is optional and empty is not, and times have milliseconds.
func TestResponsesDistinguishNullFromAbsent(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 21, 9, 30, 0, 1_999_999, time.FixedZone("", 3600))
	body, err := json.Marshal(wire.PolicyVersion{CreatedAt: wire.Time(at), ActivatedAt: (*wire.Time)(&at)})
	require.NoError(t, err)
	var got map[string]any
	require.NoError(t, json.Unmarshal(body, &got))
	require.Equal(t, "2026-11-21T08:30:00.001Z", got["created_at"])
	require.Equal(t, "2026-11-21T08:30:00.001Z", got["activated_at"])
	require.Contains(t, got, "retired_at")
	require.Nil(t, got["retired_at"])
	require.Empty(t, got["reason"])
	require.Contains(t, got, "reason")
	require.NotContains(t, got, "warnings")
}

// An omitted value of a request is the contract's default; a value that is sent replaces it.
func TestRequestsHaveTheDefaultsOfTheContract(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]wire.PolicySimulationRequest{
		`{}`: {Last: 1000, List: 100}, `{"list": 0}`: {Last: 1000}, `{"last": 5, "list": 7}`: {Last: 5, List: 7},
	} {
		var in wire.PolicySimulationRequest
		in.SetDefaults()
		require.NoError(t, json.Unmarshal([]byte(body), &in))
		require.Equal(t, want, in, body)
	}
}
