package canonical_test

import (
	"encoding/json"
	"testing"

	"github.com/gowebpki/jcs"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/countersign-dev/countersign/internal/platform/canonical"
)

// asReference holds a form against that of the reference implementation.
func asReference(t require.TestingT, raw []byte) {
	form, err := canonical.JSON(json.RawMessage(raw))
	if err != nil {
		return // refused for a reason of our own, or malformed; what is refused is tested elsewhere
	}
	want, err := jcs.Transform(raw)
	require.NoError(t, err, "only the reference refuses %q", raw)
	require.Equal(t, string(want), string(form))
}

func TestReference(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{
		`{"b":1,"a":2,"":3}`, `{"z":{"y":{"b":[],"a":{}}},"a":[{"d":1,"c":2}]}`, `[-0,0,-1,1e21,1e-7,123456789012345,1234567890123456,1.0,-5e-324]`,
		`{"\ud83d\ude00":1,"\uffff":2,"\u20ac":3,"\r":4,"1":5,"\u0080":6,"\u00f6":7,"\ufb33":8}`, `{"a\"b":"\\\/\b\f\n\r\t\u0000\u001f\u007f\u2028<>&"}`,
		`{"\ud83d\ude00":1,"\ud83d\ude01":2}`, `"\u00e9\u0041"`, `true`, `false`, `null`, ` { "a" : [ 1 , 2 ] } `,
	} {
		asReference(t, []byte(raw))
	}
}

func TestDuplicatesAndLoneSurrogatesAreRefused(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{
		`{"a":1,"a":2}`, `{"a":1,"b":2,"a":3}`, `{"a":1,"\u0061":2}`, `[{"b":0,"a":{"c":1,"c":1}}]`,
		`"\ud83d"`, `"\ude00"`, `"\ud83d\ud83d"`, `"\ud83dx"`, `"\ud83d\n"`, `{"\ud800":1}`,
	} {
		_, err := canonical.JSON(json.RawMessage(raw))
		require.Error(t, err, raw)
		_, err = jcs.Transform([]byte(raw))
		require.Error(t, err, raw)
	}
}

func TestPropertyReference(t *testing.T) {
	t.Parallel()
	odd := rapid.StringOfN(rapid.SampledFrom([]rune("ab\"\\/\n\r\t\b\f\x00\x1f\x7f<>&é€\u2028\ue000\uffff😀😁𐀀")), 0, 6, -1)
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.OneOf(genValue(3), rapid.Map(rapid.MapOfN(odd, odd, 0, 12), toAny[map[string]string])).Draw(t, "value")
		raw, err := json.Marshal(value)
		require.NoError(t, err)
		asReference(t, raw)
	})
}

func FuzzReference(f *testing.F) {
	f.Add([]byte(`{"\ud83d\ude00":1e3,"a":[-0,"\u0000"]}`))
	f.Fuzz(func(t *testing.T, raw []byte) { asReference(t, raw) })
}
