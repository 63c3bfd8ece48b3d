package authorization

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestResponseEncodesAsEncodingJSON draws every field of a response, also those that are added later.
func TestResponseEncodesAsEncodingJSON(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := rapid.Make[Response]().Draw(t, "response")
		want, err := json.Marshal(r)
		require.NoError(t, err)
		profile, err := r.Assurance.Encode()
		require.NoError(t, err)
		found, err := r.encode(profile)
		require.NoError(t, err)
		require.Equal(t, string(want), string(found))
	})
}
