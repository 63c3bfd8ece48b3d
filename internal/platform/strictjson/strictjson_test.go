package strictjson_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/strictjson"
)

type object = map[string]any

type array = []any

func TestDecode(t *testing.T) {
	t.Parallel()
	tests := map[string]any{
		`{}`: object{}, `[]`: array{}, ` null `: nil, `true`: true, "false\n": false, `""`: "",
		`0`: 0.0, `-0`: 0.0, `-1.5e2`: -150.0, `1E+2`: 100.0, `9007199254740991`: 9007199254740991.0,
		`-9007199254740991`:                          -9007199254740991.0,
		`123456789012345`:                            123456789012345.0,
		`0.0e-999999999`:                             0.0,
		`5e-324`:                                     math.SmallestNonzeroFloat64,
		`{"a":{"b":[1,"x",null,true,{}]}}`:           object{"a": object{"b": array{1.0, "x", nil, true, object{}}}},
		"\t{ \"a\" :\r\n [ 1 , 2 ] } ":               object{"a": array{1.0, 2.0}},
		`{"Key":1,"key":2}`:                          object{"Key": 1.0, "key": 2.0},
		`"\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00\uFFFD"`: "\"\\/\b\f\n\r\té😀\uFFFD",
		`"é😀` + "\uFFFD\u2028" + `"`:                 "é😀\uFFFD\u2028",
		`"a\u0001b"`:                                 "a\x01b",
		`"a b"`:                                      "a b", `"\n a b"`: "\n a b", `{"a b":1}`: object{"a b": 1.0},
		`0.` + strings.Repeat("3", 62): 1.0 / 3,
		`{"":1}`:                       object{"": 1.0},
		`{"a\tb":1}`:                   object{"a\tb": 1.0},
	}
	for text, want := range tests {
		got, err := strictjson.Decode([]byte(text), strictjson.Limits{})
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
}

func TestDecodeSyntaxErrors(t *testing.T) {
	t.Parallel()
	tests := map[string]int{ // text -> offset of the fault
		``: 0, `  `: 2, `{`: 1, `[`: 1, `}`: 0, `{"a"`: 4, `{"a":`: 5, `{"a":1`: 6, `{"a":1,`: 7, `{"a":1,}`: 7,
		`[1,]`: 3, `[1 2]`: 3, `[,1]`: 1, `{a:1}`: 1, `{'a':1}`: 1, `{1:1}`: 1, `{"a" 1}`: 5, `nul`: 0, `nulll`: 4, `True`: 0,
		`01`: 1, `00`: 1, `09`: 1, `"\u0041`: 7, `-`: 1, `-01`: 2, `1.`: 2, `.5`: 0, `+1`: 0, `1e`: 2, `1e+`: 3, `1.e1`: 2, `0x10`: 1, `NaN`: 0, `-Infinity`: 1,
		`1 2`: 2, `{} {}`: 3, `"a`: 2, `"a\`: 2, `"\x"`: 1, `"\u12"`: 1, `"\u12G4"`: 1, "\"a\nb\"": 2, "\"\\t\n\"": 3, "\"\x00\"": 1,
		"\x00": 0, "\"ab\xff\"": 3, "\"\xed\xa0\x80\"": 1, "\xef\xbb\xbf{}": 0, `/* */{}`: 0, "{}\x00": 2, `"\`: 1, `["\u00e9` + "\x1f": 8,
		`{"a":tru}`: 5,
	}
	for text, offset := range tests {
		_, err := strictjson.Decode([]byte(text), strictjson.Limits{})
		var syntax *strictjson.SyntaxError
		require.ErrorAs(t, err, &syntax, "%q", text)
		require.Equal(t, offset, syntax.Offset, "%q: %s", text, syntax.Msg)
		require.Contains(t, err.Error(), fmt.Sprintf("byte %d", offset))
	}
}

func TestDecodeValueErrors(t *testing.T) {
	t.Parallel()
	tests := []struct {
		text string
		typ  string
		loc  []any
	}{
		{`{"a":1,"a":2}`, strictjson.TypeDuplicateKey, array{"a"}},
		{`{"x":[{"a":1,"\u0061":1}]}`, strictjson.TypeDuplicateKey, array{"x", 0, "a"}},
		{`{"a":"x\u0000y"}`, strictjson.TypeNUL, array{"a"}},
		{`{"a":{"b\u0000":1}}`, strictjson.TypeNUL, array{"a"}},
		{`["\ud800"]`, strictjson.TypeLoneSurrogate, array{0}},
		{`[0,"\udc00\ud800"]`, strictjson.TypeLoneSurrogate, array{1}},
		{`["\ud800\u0041"]`, strictjson.TypeLoneSurrogate, array{0}},
		{`["\ud83d` + "😀" + `"]`, strictjson.TypeLoneSurrogate, array{0}},
		{`{"n":1e999}`, strictjson.TypeNumberOutOfRange, array{"n"}},
		{`-1e309`, strictjson.TypeNumberOutOfRange, nil},
		{`1e-400`, strictjson.TypeNumberOutOfRange, nil},
		{`[-0.001E-999999999]`, strictjson.TypeNumberOutOfRange, array{0}},
		{`[[9007199254740992]]`, strictjson.TypeNumberOutOfRange, array{0, 0}},
		{`-9007199254740993`, strictjson.TypeNumberOutOfRange, nil},
		{`1e20`, strictjson.TypeNumberOutOfRange, nil},
		{`[` + strings.Repeat("1", 65) + `]`, strictjson.TypeNumberTooLong, array{0}},
		{`0.` + strings.Repeat("1", 63), strictjson.TypeNumberTooLong, nil},
	}
	for _, tt := range tests {
		_, err := strictjson.Decode([]byte(tt.text), strictjson.Limits{})
		var value *strictjson.ValueError
		require.ErrorAs(t, err, &value, tt.text)
		require.Equal(t, tt.typ, value.Type, tt.text)
		require.Equal(t, tt.loc, value.Loc, tt.text)
		require.NotEmpty(t, value.Msg)
		require.Contains(t, err.Error(), tt.typ)
	}
}

func TestDecodeLimits(t *testing.T) {
	t.Parallel()
	nested := func(n int) []byte { return []byte(strings.Repeat("[", n) + strings.Repeat("]", n)) }
	keys := func(n int) []byte {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `,{"k%d":0}`, i)
		}
		return []byte("[" + strings.TrimPrefix(b.String(), ",") + "]")
	}
	requireType := func(typ string, raw []byte, limits strictjson.Limits) {
		t.Helper()
		_, err := strictjson.Decode(raw, limits)
		if typ == "" {
			require.NoError(t, err)
			return
		}
		var value *strictjson.ValueError
		require.ErrorAs(t, err, &value)
		require.Equal(t, typ, value.Type)
	}
	requireType("", nested(32), strictjson.Limits{})
	requireType(strictjson.TypeTooDeep, nested(33), strictjson.Limits{})
	requireType(strictjson.TypeTooDeep, []byte(strings.Repeat("[", 1<<20)), strictjson.Limits{})
	requireType("", nested(3), strictjson.Limits{MaxDepth: 3})
	requireType(strictjson.TypeTooDeep, nested(4), strictjson.Limits{MaxDepth: 3})
	requireType("", keys(10_000), strictjson.Limits{})
	requireType(strictjson.TypeTooManyKeys, keys(10_001), strictjson.Limits{})
	requireType("", keys(2), strictjson.Limits{MaxKeys: 2})
	requireType(strictjson.TypeTooManyKeys, keys(3), strictjson.Limits{MaxKeys: 2})
	requireType("", []byte(`[9007199254740993, -1e300]`), strictjson.Limits{AnyFinite: true})
	requireType(strictjson.TypeNumberOutOfRange, []byte(`1e309`), strictjson.Limits{AnyFinite: true})
}

func TestDecodeResultOutlivesTheBuffer(t *testing.T) {
	t.Parallel()
	raw := []byte(`{"key":"value"}`)
	got, err := strictjson.Decode(raw, strictjson.Limits{})
	require.NoError(t, err)
	copy(raw, bytes.Repeat([]byte("x"), len(raw)))
	require.Equal(t, object{"key": "value"}, got)
}

// FuzzDecode holds the decoder to encoding/json: it accepts nothing encoding/json refuses, refuses what that accepts
// only by a documented rule, and agrees on every value.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"a":[1,-2.5e3,true,false,null,"x\u00e9\n"]}`, `{"a":1,"a":2}`, `"\ud83d\ude00"`, `"\ud800"`, `1e999`, `[[[]]]`,
		"\"\xff\"", `{"a":"\u0000"}`, ` 12 `, `-0.0`, `01`, `{"a":1}x`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, err := strictjson.Decode(raw, strictjson.Limits{AnyFinite: true, MaxDepth: 64})
		want, reference := standard(raw)
		var syntax *strictjson.SyntaxError
		var value *strictjson.ValueError
		switch {
		case err == nil:
			require.NoError(t, reference)
			require.True(t, reflect.DeepEqual(want, got), "%#v and %#v", want, got)
		case errors.As(err, &syntax):
			require.True(t, reference != nil || !json.Valid(raw) || bytes.ContainsFunc(raw, func(r rune) bool { return r == '\uFFFD' }),
				"refused as malformed, yet encoding/json reads it")
			require.LessOrEqual(t, syntax.Offset, len(raw))
		default:
			require.ErrorAs(t, err, &value)
			require.LessOrEqual(t, value.Offset, len(raw))
		}
	})
}

func standard(raw []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("trailing data")
	}
	return v, nil
}

func authorizeBody() []byte {
	return []byte(`{"subject":"user-4711","action":"payments.transfer","resource":{"type":"account","id":"acc_123456"},
		"audience":"bank.example","requested_at":1795231234,"nonce":"b7c2a9d8e1f04c5a","idempotency_key":"req-00000001",
		"context":{"amount":120.5,"currency":"EUR","payee":"J\u00fcrgen"},"session":"ses_01j9z","mandate_ref":null}`)
}

func frameBody() []byte {
	cells := make(map[string]any, 200)
	for i := range 200 {
		cells[fmt.Sprintf("cell.%03d", i)] = object{"n": i % 8, "mean": 87.25 + math.Sqrt(float64(i))}
	}
	raw, err := json.Marshal(object{"frame_id": "f-1", "timestamp": 1795231234.5, "duration_ms": 5000, "features": object{"keystroke": cells}})
	if err != nil {
		panic(err)
	}
	return raw
}

func BenchmarkDecode(b *testing.B) {
	for name, raw := range map[string][]byte{"authorize": authorizeBody(), "frame": frameBody()} {
		b.Run(name+"/strictjson", func(b *testing.B) {
			b.SetBytes(int64(len(raw)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := strictjson.Decode(raw, strictjson.Limits{}); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+"/encoding_json", func(b *testing.B) {
			b.SetBytes(int64(len(raw)))
			b.ReportAllocs()
			for b.Loop() {
				var v any
				if err := json.Unmarshal(raw, &v); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func TestSpellingIsTheTextOfOneMember(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"a":1,"context": {"amount": 1250.00, "context": 2} ,"b":2}`: `{"amount": 1250.00, "context": 2}`,
		`{"a":{"context":1}}`: "", `[{"context":1}]`: "", `{"context":"\u00e9"}`: `"\u00e9"`,
	} {
		spelling := strictjson.Spelling{Name: "context"}
		_, err := strictjson.Decode([]byte(text), strictjson.Limits{Spelling: &spelling})
		require.NoError(t, err, text)
		require.Equal(t, want, spelling.Text, text)
	}
}
