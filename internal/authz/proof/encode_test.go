package proof_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/countersign-dev/countersign/internal/authz/proof"
)

func TestClaimsAreEncodedAsByTheStandardLibrary(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := rapid.Make[proof.Claims]().Draw(t, "claims")
		c.Nonce = string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")) // not UTF-8
		if c.Assurance.Claims == nil {
			c.Assurance.Claims = map[string]string{}
		}
		if c.Methods == nil {
			c.Methods = []string{}
		}
		want, err := json.Marshal(c)
		require.NoError(t, err)
		require.Equal(t, string(want), string(proof.Encode(c)))
	})
}
