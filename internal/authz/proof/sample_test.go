package proof_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/proof"
)

// sample is a proof signed once and published in docs/proof.md, for those who write a verifier of their own.
type sample struct {
	Claims proof.Claims    `json:"claims"`
	JWKS   json.RawMessage `json:"jwks"`
	Proof  string          `json:"proof"`
}

func readSample(t testing.TB) sample {
	t.Helper()
	raw, err := os.ReadFile("testdata/sample.json")
	require.NoError(t, err)
	var out sample
	require.NoError(t, json.Unmarshal(raw, &out))
	return out
}

// TestSample keeps proofs of today's format good in every later version of the verifier.
func TestSample(t *testing.T) {
	t.Parallel()
	s := readSample(t)
	keys, err := proof.ParseJWKS(s.JWKS)
	require.NoError(t, err)
	got, err := proof.Verify(s.Proof, keys, at(issuedAt+299), proof.Expect{
		Issuer: "https://countersign.example", Audience: "bank.example", ResourceType: "account", ResourceID: "acc_1",
	})
	require.NoError(t, err)
	require.Equal(t, s.Claims, got)

	doc, err := os.ReadFile("../../../docs/proof.md")
	require.NoError(t, err)
	require.Contains(t, string(doc), "\n"+s.Proof+"\n")
	var set struct {
		Keys []struct{ Kid, X, Y string }
	}
	require.NoError(t, json.Unmarshal(s.JWKS, &set))
	require.Contains(t, string(doc), set.Keys[0].Kid)
	require.Contains(t, string(doc), set.Keys[0].X)
	require.Contains(t, string(doc), set.Keys[0].Y)
}
