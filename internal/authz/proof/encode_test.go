package proof_test

import (
	"encoding/asn1"
	"encoding/json"
	"math/big"
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

func TestSignaturesHaveAFixedSize(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		number := func(name string) *big.Int { // short ones too, which are rare in signatures
			return new(big.Int).SetBytes(rapid.SliceOfN(rapid.Byte(), 0, 32).Draw(t, name))
		}
		r, s := number("r"), number("s")
		der, err := asn1.Marshal(struct{ R, S *big.Int }{r, s})
		require.NoError(t, err)
		require.Equal(t, append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...), proof.FixedSize(der))
	})
}

// TestRestoreInIsRestore compares both for memory with room for the proof and without.
func TestRestoreInIsRestore(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		compact := rapid.StringMatching(`[a-z.]{0,40}`).Draw(t, "proof")
		tail := rapid.SampledFrom([]string{`"proof":null,"proof_id":"prf_1"}`, `"proof":null,"proof_id":null}`, `}`}).Draw(t, "tail")
		body := `{"trace_id":"` + rapid.StringMatching(`[a-z]{0,40}`).Draw(t, "trace") + `",` + tail
		want := proof.Restore([]byte(body), []byte(compact))
		memory := append(make([]byte, 0, len(body)+rapid.IntRange(0, 80).Draw(t, "room")), body...)
		require.Equal(t, string(want), string(proof.RestoreIn(memory, compact)))
	})
}
