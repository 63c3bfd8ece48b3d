package foreignjwt

import (
	"encoding/base64"
	"encoding/json"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
)

// modulus returns an odd number of a size in bits, as a key set has it.
func modulus(bits uint) string {
	n := new(big.Int).Lsh(big.NewInt(1), bits-1)
	return base64.RawURLEncoding.EncodeToString(n.Or(n, big.NewInt(1)).Bytes())
}

// What costs a verifier more than a bounded time is no key, and neither is a secret.
func TestUsableKeysOfAProvider(t *testing.T) {
	t.Parallel()
	x, y := "WKn-ZIGevcwGIyyrzFoZNBdaq9_TsqzGl96oc0CWuis", "y77t-RvAHRKTsSGdIYUfweuOvwrvDD-Q3Hv5J0fSKbE"
	for name, c := range map[string]struct {
		member map[string]any
		usable bool
	}{
		"RSA of 2048 bits":          {map[string]any{"kty": "RSA", "n": modulus(2048), "e": "AQAB"}, true},
		"RSA of 8192 bits":          {map[string]any{"kty": "RSA", "n": modulus(8192), "e": "AQAB"}, true},
		"RSA of 1024 bits":          {map[string]any{"kty": "RSA", "n": modulus(1024), "e": "AQAB"}, false},
		"RSA of 8200 bits":          {map[string]any{"kty": "RSA", "n": modulus(8200), "e": "AQAB"}, false},
		"RSA of 65536 bits":         {map[string]any{"kty": "RSA", "n": modulus(65536), "e": "AQAB"}, false},
		"RSA with an even exponent": {map[string]any{"kty": "RSA", "n": modulus(2048), "e": "BA"}, false},
		"RSA with a long exponent":  {map[string]any{"kty": "RSA", "n": modulus(2048), "e": "AQAAAAAAAAAB"}, false},
		"RSA for encryption":        {map[string]any{"kty": "RSA", "use": "enc", "n": modulus(2048), "e": "AQAB"}, false},
		"EC":                        {map[string]any{"kty": "EC", "crv": "P-256", "x": x, "y": y}, true},
		"EC off the curve":          {map[string]any{"kty": "EC", "crv": "P-256", "x": x, "y": x}, false},
		"a secret":                  {map[string]any{"kty": "oct", "k": "c2VjcmV0"}, false},
		"of no known type":          {map[string]any{"kty": "other"}, false},
		"of the wrong form":         {map[string]any{"kty": 7}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			raw, err := json.Marshal(map[string]any{"keys": []any{c.member}})
			require.NoError(t, err)
			keys, err := parseKeys(raw)
			require.NoError(t, err)
			require.Equal(t, c.usable, len(keys) == 1)
		})
	}
	many, err := json.Marshal(map[string]any{"keys": make([]map[string]any, maxKeys+1)})
	require.NoError(t, err)
	_, err = parseKeys(many)
	require.ErrorContains(t, err, "at most")
}
