package canonical_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/countersign-dev/countersign/internal/platform/canonical"
)

// TestRFC8785 takes the examples of RFC 8785 sections 3.2.2 to 3.2.4, but for the two numbers beyond 2^53-1.
func TestRFC8785(t *testing.T) {
	t.Parallel()
	for input, want := range map[string]string{
		`{"numbers":[4.50, 2e-3, 0.000000000000000000000000001, 0, -0, 1E0],"string":"\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/","literals":[null,true,false]}`:                                                  `{"literals":[null,true,false],"numbers":[4.5,0.002,1e-27,0,0,1],"string":"€$\u000f\nA'B\"\\\\\"/"}`,
		`{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew Letter Dalet With Dagesh","1":"One","\ud83d\ude00":"Emoji: Grinning Face","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis"}`: `{"\r":"Carriage Return","1":"One","` + "\u0080" + `":"Control","ö":"Latin Small Letter O With Diaeresis","€":"Euro Sign","😀":"Emoji: Grinning Face","` + "\ufb33" + `":"Hebrew Letter Dalet With Dagesh"}`,
		` [ ] `:       `[]`,
		`"<&>\u2028"`: "\"<&>\u2028\"",
	} {
		got, err := canonical.JSON(json.RawMessage(input))
		require.NoError(t, err, input)
		require.Equal(t, want, string(got))
		var decoded any
		require.NoError(t, json.Unmarshal([]byte(input), &decoded))
		again, err := canonical.JSON(decoded)
		require.NoError(t, err)
		require.Equal(t, want, string(again), "a decoded value has the form of its text")
	}
}

func TestNumbers(t *testing.T) {
	t.Parallel()
	for _, ok := range []any{
		0, -1, canonical.MaxSafeInteger, -canonical.MaxSafeInteger, int64(canonical.MaxSafeInteger), 0.1, 5e-324, 1e-7,
		json.Number("9007199254740991"), json.Number("9007199254740991.0"), json.Number("-9.007199254740991e15"), json.Number("1e-400"),
		json.Number("1e+2"), json.Number("1E+2"),
	} {
		_, err := canonical.JSON(map[string]any{"n": ok})
		require.NoError(t, err, "%v", ok)
	}
	for _, unsafe := range []any{
		int64(canonical.MaxSafeInteger + 1), int64(math.MinInt64), uint64(math.MaxUint64), 9007199254740992.0, 1e20, -1e300, math.MaxFloat64,
		json.Number("9007199254740993"), json.Number("9007199254740992.0"), json.Number("1e16"), json.Number("1e999"),
		json.RawMessage(`[123456789012345678901234567890]`),
	} {
		_, err := canonical.JSON([]any{"1e999", unsafe})
		require.ErrorIs(t, err, canonical.ErrUnsafeNumber, "%v", unsafe)
	}
	for _, never := range []any{math.NaN(), math.Inf(1), math.Inf(-1), json.Number("NaN")} {
		_, err := canonical.JSON(never)
		require.Error(t, err)
	}
}

func TestStrings(t *testing.T) {
	t.Parallel()
	for _, ok := range []string{"", "\uFFFD", `\ufffd`, `\\ufffd`, `"\`, "\x00\x1f\x7f", "e\u0301", "\u2028"} {
		raw, err := canonical.JSON(map[string]string{ok: ok})
		require.NoError(t, err, "%q", ok)
		var back map[string]string
		require.NoError(t, json.Unmarshal(raw, &back))
		require.Equal(t, map[string]string{ok: ok}, back)
	}
	composed, err := canonical.Digest("\u00e9")
	require.NoError(t, err)
	decomposed, err := canonical.Digest("e\u0301")
	require.NoError(t, err)
	require.NotEqual(t, composed, decomposed, "strings are not normalised")
	for _, bad := range []string{"\xff", "a\xed\xa0\x80", "\xc0\x80"} {
		for _, v := range []any{bad, map[string]any{bad: 1}, json.RawMessage(`"` + bad + `"`)} {
			_, err := canonical.JSON(v)
			require.ErrorIs(t, err, canonical.ErrInvalidUTF8, "%q", bad)
		}
	}
	for _, bad := range []string{`"\ud800"`, `"\udc00\ud800"`, `{"a":1,"a":2}`, `{"a":1}x`, ``} {
		_, err := canonical.JSON(json.RawMessage(bad))
		require.Error(t, err, bad)
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
	}
}

func TestValuesWithoutAFormAreRefused(t *testing.T) {
	t.Parallel()
	endless := map[string]any{}
	endless["itself"] = endless
	for _, v := range []any{endless, make(chan int)} {
		_, err := canonical.JSON(v)
		require.ErrorContains(t, err, "canonical JSON: ")
	}
}

func TestDigest(t *testing.T) {
	t.Parallel()
	got, err := canonical.Digest(map[string]any{"b": 1, "a": []any{true}})
	require.NoError(t, err)
	sum := sha256.Sum256([]byte(`{"a":[true],"b":1}`))
	require.Equal(t, "sha256:"+hex.EncodeToString(sum[:]), got)
	require.Equal(t, got, canonical.DigestBytes([]byte(`{"a":[true],"b":1}`)))
	require.Equal(t, "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", canonical.DigestBytes(nil))
	_, err = canonical.Digest(math.NaN())
	require.Error(t, err)
}

func genValue(depth int) *rapid.Generator[any] {
	scalars := []*rapid.Generator[any]{
		rapid.Just[any](nil), rapid.Map(rapid.Bool(), toAny[bool]), rapid.Map(rapid.String(), toAny[string]),
		rapid.Map(rapid.Float64Range(-canonical.MaxSafeInteger, canonical.MaxSafeInteger), toAny[float64]),
		rapid.Map(rapid.Int64Range(-canonical.MaxSafeInteger, canonical.MaxSafeInteger), func(n int64) any { return float64(n) }),
	}
	if depth == 0 {
		return rapid.OneOf(scalars...)
	}
	inner := genValue(depth - 1)
	return rapid.OneOf(append(scalars,
		rapid.Map(rapid.SliceOfN(inner, 0, 4), toAny[[]any]), rapid.Map(rapid.MapOfN(rapid.String(), inner, 0, 4), toAny[map[string]any]))...)
}

func toAny[T any](v T) any { return v }

// TestPropertyCanonical: the form reads back as the value, is its own form, and does not hang on white space.
func TestPropertyCanonical(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		value := genValue(3).Draw(t, "value")
		form, err := canonical.JSON(value)
		require.NoError(t, err)
		var back any
		require.NoError(t, json.Unmarshal(form, &back))
		again, err := canonical.JSON(back)
		require.NoError(t, err)
		require.Equal(t, string(form), string(again))
		indented, err := json.MarshalIndent(value, " ", "\t")
		require.NoError(t, err)
		if !strings.Contains(string(indented), `\ufffd`) {
			spaced, err := canonical.JSON(json.RawMessage(indented))
			require.NoError(t, err)
			require.Equal(t, string(form), string(spaced))
		}
	})
}

func FuzzJSON(f *testing.F) {
	f.Add([]byte(`{"a":[1,2.5e-3,"\u00e9\\ufffd"],"b":null}`))
	f.Add([]byte(`"\ufffd"`))
	f.Add([]byte(`[9007199254740993]`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		form, err := canonical.JSON(json.RawMessage(raw))
		if err != nil {
			return
		}
		again, err := canonical.JSON(json.RawMessage(form))
		require.NoError(t, err)
		require.Equal(t, string(form), string(again))
		var a, b any
		require.NoError(t, json.Unmarshal(raw, &a))
		require.NoError(t, json.Unmarshal(form, &b))
		require.Equal(t, a, b)
	})
}
