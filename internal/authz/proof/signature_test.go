package proof_test

import (
	"encoding/asn1"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/countersign-dev/countersign/internal/authz/proof"
)

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
