package signing

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The stored form of a proof is much smaller than the proof and returns it byte for byte.
func TestPackReturnsTheProofByteForByte(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../proof/testdata/sample.json")
	require.NoError(t, err)
	var sample struct{ Proof string }
	require.NoError(t, json.Unmarshal(raw, &sample))
	parts := strings.Split(sample.Proof, ".")

	for name, compact := range map[string]string{
		"a proof":                      sample.Proof,
		"a signature that is cut":      sample.Proof[:len(sample.Proof)-10],
		"no JWS":                       "eyJhIjoxfQ",
		"four parts":                   sample.Proof + ".eyJ9",
		"a part that is not base64":    parts[0] + ".e*." + parts[2],
		"a part with stray bits":       parts[0] + "." + parts[1] + ".ef",
		"an empty part":                parts[0] + ".." + parts[2],
		"a payload of unknown phrases": parts[0] + "." + base64.RawURLEncoding.EncodeToString([]byte(`{"ÿ": "µ"}`)) + "." + parts[2],
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := unpack(pack(compact))
			require.NoError(t, err)
			require.Equal(t, compact, string(got))
		})
	}
	require.Less(t, 2*len(pack(sample.Proof)), len(sample.Proof))
}

func TestUnpackReadsProofsThatWereStoredBefore(t *testing.T) {
	t.Parallel()
	got, err := unpack([]byte("eyJhbGciOiJFUzI1NiJ9.e30.c2ln"))
	require.NoError(t, err)
	require.Equal(t, "eyJhbGciOiJFUzI1NiJ9.e30.c2ln", string(got))
}

func FuzzUnpack(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("eyJ"))
	f.Add(pack("eyJhbGciOiJFUzI1NiJ9.e30.c2ln"))
	f.Fuzz(func(t *testing.T, packed []byte) {
		if out, err := unpack(packed); err == nil && len(out) > 0 {
			again, err := unpack(pack(string(out)))
			require.NoError(t, err)
			require.Equal(t, out, again)
		}
	})
}
