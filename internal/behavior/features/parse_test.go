package features_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/countersign-dev/countersign/internal/behavior/features"
	"github.com/countersign-dev/countersign/internal/platform/strictjson"
)

func TestReadRefusesWhatIsNotTiming(t *testing.T) {
	t.Parallel()
	const head = `{"schema":"cs-features-2",`
	cases := map[string]struct{ body, reason string }{
		"no object":              {`[1,2]`, features.ReasonMalformed},
		"nothing":                {`null`, features.ReasonMalformed},
		"presence is a number":   {head + `"presence":1}`, features.ReasonMalformed},
		"no schema":              {`{"clock_ms":1}`, features.ReasonSchema},
		"other schema":           {`{"schema":"cs-features-9"}`, features.ReasonSchema},
		"text":                   {head + `"note":"my password is hunter2"}`, features.ReasonRawContent},
		"keys":                   {head + `"keys":{"a":[2,0.1]}}`, features.ReasonRawContent},
		"coordinates":            {head + `"pointer":{"events":9,"x":{"cells":1}}}`, features.ReasonRawContent},
		"array of points":        {head + `"pointer":{"events":9,"cells":{"lv":[1,2,3]}}}`, features.ReasonRawContent},
		"image":                  {head + `"image":"data:image/png;base64,AAAA"}`, features.ReasonRawContent},
		"text as a mean":         {head + `"keystroke":{"events":9,"cells":{"h:LP":[2,"a"]}}}`, features.ReasonRawContent},
		"key as a cell":          {head + `"keystroke":{"events":9,"cells":{"h:q":[2,0.1]}}}`, features.ReasonUnknown},
		"text among presence":    {head + `"presence":{"corr_pp":"hunter2"}}`, features.ReasonRawContent},
		"array as presence":      {head + `"presence":["hunter2"]}`, features.ReasonRawContent},
		"array as a clock":       {head + `"clock_ms":["h","u"]}`, features.ReasonRawContent},
		"nested in an unknown":   {head + `"face":{"a":{"b":{"c":{}}}}}`, features.ReasonRawContent},
		"unknown with cells":     {head + `"face":{"events":9,"cells":{"a":[2,0.1]}}}`, features.ReasonUnknown},
		"nested":                 {head + `"keystroke":{"cells":{"h:LP":{"a":{"b":1}}}}}`, features.ReasonRawContent},
		"unknown modality":       {head + `"face":{"events":9}}`, features.ReasonUnknown},
		"out of range":           {head + `"keystroke":{"events":9,"cells":{"h:LP":[2,9.1]}}}`, features.ReasonImpossible},
		"huge number":            {head + `"keystroke":{"events":9,"cells":{"h:LP":[2,1e300]}}}`, features.ReasonImpossible},
		"exact counts":           {head + `"keystroke":{"events":9,"cells":{"h:LP":[5,0.1]}}}`, features.ReasonNotBinned},
		"negative count":         {head + `"keystroke":{"events":9,"cells":{"h:LP":[-2,0.1]}}}`, features.ReasonImpossible},
		"null mean":              {head + `"keystroke":{"events":9,"cells":{"h:LP":[2,null]}}}`, features.ReasonRawContent},
		"one number":             {head + `"keystroke":{"events":9,"cells":{"h:LP":[2]}}}`, features.ReasonImpossible},
		"cells without events":   {head + `"keystroke":{"events":0,"cells":{"h:LP":[2,0.1]}}}`, features.ReasonContradicts},
		"more than the block":    {head + `"keystroke":{"events":2,"cells":{"h:LP":[7,0.1]}}}`, features.ReasonContradicts},
		"half an event":          {head + `"keystroke":{"events":2.5}}`, features.ReasonImpossible},
		"unknown presence":       {head + `"presence":{"mood":1}}`, features.ReasonUnknown},
		"impossible correlation": {head + `"presence":{"lag1":1.5}}`, features.ReasonImpossible},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := features.Read(decoded(t, []byte(c.body)))
			require.Equal(t, features.Rejected, got.Status)
			require.Equal(t, []string{c.reason}, got.Reasons, got.Detail)
			require.NotContains(t, got.Detail, "hunter2")
			require.Empty(t, got.Frame.Blocks)
		})
	}
}

func TestReadIsNeutralWhenNothingHappened(t *testing.T) {
	t.Parallel()
	for _, body := range []string{`{"schema":"cs-features-2"}`, `{"schema":"cs-features-2","keystroke":{"events":0,"cells":{}}}`} {
		got := features.Read(decoded(t, []byte(body)))
		require.Equal(t, features.Neutral, got.Status)
		require.Equal(t, []string{features.ReasonEmpty}, got.Reasons)
	}
}

func TestExampleIsAccepted(t *testing.T) {
	t.Parallel()
	body, err := json.Marshal(features.ExampleJSON())
	require.NoError(t, err)
	got := features.Read(decoded(t, body))
	require.Equal(t, features.Accepted, got.Status, got.Detail)
	require.Equal(t, 52, got.Frame.Keys())
}

// decoded is how a body comes to the parser.
func decoded(t require.TestingT, text []byte) any {
	tree, err := strictjson.Decode(text, strictjson.Limits{AnyFinite: true})
	require.NoError(t, err)
	return tree
}

func drawRaw(t *rapid.T) features.Raw {
	names := []string{"a", "s", "l", "p", "space", "backspace", "shift", "capslock", "period", "4", "enter", "other", "ä"}
	ms := rapid.Float64Range(-100, 3000)
	raw := features.Raw{ClockMS: rapid.Float64Range(0, 1000).Draw(t, "clock")}
	at := 0.0
	for range rapid.IntRange(0, 60).Draw(t, "keys") {
		raw.Keys = append(raw.Keys, features.KeyEvent{Key: rapid.SampledFrom(names).Draw(t, "key"), Press: at, Release: at + ms.Draw(t, "hold")})
		at += ms.Draw(t, "pp")
	}
	for range rapid.IntRange(0, 60).Draw(t, "moves") {
		raw.Pointer = append(raw.Pointer, features.PointerEvent{T: at, X: rapid.Float64Range(-1e5, 1e5).Draw(t, "x"), Y: rapid.Float64Range(-1e5, 1e5).Draw(t, "y"),
			Kind: features.PointerKind(rapid.IntRange(0, 3).Draw(t, "kind"))})
		at += ms.Draw(t, "dt") / 10
	}
	for range rapid.IntRange(0, 20).Draw(t, "scrolls") {
		raw.Scroll = append(raw.Scroll, features.ScrollEvent{T: at, DX: ms.Draw(t, "dx"), DY: ms.Draw(t, "dy")})
		at += ms.Draw(t, "sdt")
	}
	return raw
}

// Whatever a person does, the frame extracted from it is one the service takes, in JSON and in storage alike.
func TestExtractedFramesSurviveBothEncodings(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		frame := features.Extract(drawRaw(t))
		body, err := json.Marshal(frame)
		require.NoError(t, err)
		parsed := features.Read(decoded(t, body))
		require.NotEqual(t, features.Rejected, parsed.Status, parsed.Detail)
		require.Equal(t, frame.Digest(), parsed.Frame.Digest())
		require.Equal(t, parsed, features.Read(frame.Tree()))
		stored, err := parsed.Frame.MarshalBinary()
		require.NoError(t, err)
		var back features.Frame
		require.NoError(t, back.UnmarshalBinary(stored))
		require.Equal(t, parsed.Frame.Digest(), back.Digest())
		require.Equal(t, parsed.Frame.CountDigest(), back.CountDigest())
		require.Equal(t, parsed.Frame.Keys(), back.Keys())
		again, err := back.MarshalBinary()
		require.NoError(t, err)
		require.Equal(t, stored, again)
	})
}

func TestExtractionSurvivesNonsense(t *testing.T) {
	t.Parallel()
	nan, inf := math.NaN(), math.Inf(1)
	raw := features.Raw{}
	for i := range 40 {
		v := []float64{nan, inf, -inf, float64(i), 0}[i%5]
		w := []float64{inf, nan, 5}[i%3]
		raw.Keys = append(raw.Keys, features.KeyEvent{Key: "", Press: v, Release: w})
		raw.Pointer = append(raw.Pointer, features.PointerEvent{T: v, X: w, Y: v, Kind: features.PointerKind(i % 4)})
		raw.Scroll = append(raw.Scroll, features.ScrollEvent{T: w, DX: v, DY: w})
	}
	body, err := json.Marshal(features.Extract(raw))
	require.NoError(t, err)
	require.NotEqual(t, features.Rejected, features.Read(decoded(t, body)).Status)
}

func FuzzRead(f *testing.F) {
	body, err := json.Marshal(features.ExampleJSON())
	require.NoError(f, err)
	f.Add(body)
	f.Add([]byte(`{"schema":"cs-features-2","keystroke":{"events":9,"cells":{"h:LP":[2,0.1]}}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		tree, err := strictjson.Decode(raw, strictjson.Limits{AnyFinite: true})
		if err != nil {
			return
		}
		got := features.Read(tree)
		if got.Status == features.Rejected {
			require.Len(t, got.Reasons, 1)
			require.Empty(t, got.Frame.Blocks)
			return
		}
		stored, err := got.Frame.MarshalBinary()
		require.NoError(t, err)
		var back features.Frame
		require.NoError(t, back.UnmarshalBinary(stored))
	})
}

func FuzzUnmarshalBinary(f *testing.F) {
	f.Add([]byte{2, 0, 0, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, raw []byte) {
		var frame features.Frame
		if frame.UnmarshalBinary(raw) == nil {
			_, err := frame.MarshalBinary()
			require.NoError(t, err)
		}
	})
}
