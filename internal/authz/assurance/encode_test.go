package assurance_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/countersign-dev/countersign/internal/authz/assurance"
)

// TestProfileEncodesAsEncodingJSON draws every field of a profile, also those that are added later.
func TestProfileEncodesAsEncodingJSON(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.Make[assurance.Profile]().Draw(t, "profile")
		want, err := json.Marshal(p)
		require.NoError(t, err)
		found, err := p.Encode()
		require.NoError(t, err)
		require.Equal(t, string(want), string(found))
	})
}
