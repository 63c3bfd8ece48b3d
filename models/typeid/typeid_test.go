package typeid_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/countersign-dev/countersign/models/typeid"
)

// The digits of the specification's test vectors.
func TestDigitsAreThoseOfTheSpecification(t *testing.T) {
	t.Parallel()
	for digits, bits := range map[string][]byte{
		"00000000000000000000000000": make([]byte, 16),
		"00000000000000000000000001": append(make([]byte, 15), 1),
		"0000000000000000000000000a": append(make([]byte, 15), 10),
		"00000000000000000000000010": append(make([]byte, 15), 32),
		"7zzzzzzzzzzzzzzzzzzzzzzzzz": bytes.Repeat([]byte{0xff}, 16),
		"01h455vb4pex5vsknk084sn02q": {0x01, 0x89, 0x0a, 0x5d, 0xac, 0x96, 0x77, 0x4b, 0xbc, 0xce, 0xb3, 0x02, 0x09, 0x9a, 0x80, 0x57},
	} {
		require.Equal(t, digits, string(typeid.AppendDigits(nil, bits)))
		got, ok := typeid.AppendBits(nil, digits)
		require.True(t, ok)
		require.Equal(t, bits, got)
	}
}

func TestBitsAreThoseOfTheirDigits(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		bits := rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "bits")
		got, ok := typeid.AppendBits([]byte("x"), typeid.AppendDigits(nil, bits))
		require.True(t, ok)
		require.Equal(t, append([]byte("x"), bits...), got)
	})
}

func TestOtherTextHasNoBits(t *testing.T) {
	t.Parallel()
	for name, digits := range map[string]string{
		"too short": strings.Repeat("0", 25), "too long": strings.Repeat("0", 27), "more than 128 bits": "8" + strings.Repeat("0", 25),
		"a letter that is confused": strings.Repeat("0", 25) + "l", "an upper case letter": strings.Repeat("0", 25) + "A", "nothing": "",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, ok := typeid.AppendBits(nil, digits)
			require.False(t, ok)
		})
	}
}
