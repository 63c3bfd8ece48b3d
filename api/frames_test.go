package api

import (
	"encoding/json"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/api/middleware"
	"github.com/countersign-dev/countersign/api/openapi"
	"github.com/countersign-dev/countersign/internal/behavior/features"
	"github.com/countersign-dev/countersign/internal/behavior/synthetic"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/platform/strictjson"
)

// frameBody returns the body of a frame with the features.
func frameBody(features string) string {
	return `{"frame_id": "f-1", "timestamp": 1795253400.25, "duration_ms": 15000, "features": ` + features + `}`
}

// typedFeatures returns the features of a simulated frame, as a collector sends them.
func typedFeatures(t testing.TB) string {
	t.Helper()
	text, err := json.Marshal(synthetic.NewTypist(1).Frame(50))
	require.NoError(t, err)
	return string(text)
}

func newContract(t testing.TB) middleware.Contract {
	t.Helper()
	contract, err := openapi.Compile()
	require.NoError(t, err)
	return middleware.Contract{Contract: contract}
}

// verdict reads a body as the route does. It returns the status of its frame, the reason for which the frame is rejected, or the type
// of the first fault of the body.
func verdict(t *testing.T, k middleware.Contract, raw string) string {
	t.Helper()
	value, err := k.Decode("submitEvidence", []byte(raw), strictjson.Limits{AnyFinite: true})
	if err != nil {
		if p := problem.As(err); p.Code == problem.Unprocessable {
			return p.Fields[0].Type
		}
		require.True(t, problem.Is(err, problem.MalformedJSON), raw)
		return "malformed"
	}
	read := features.Read(submitted(value.(map[string]any)).Features)
	if read.Status == features.Rejected {
		require.Len(t, read.Reasons, 1, raw)
		return read.Reasons[0]
	}
	require.Equal(t, read, features.Read(read.Frame.Tree()), raw)
	return string(read.Status)
}

func TestFramesAreReadStrictly(t *testing.T) {
	t.Parallel()
	s := newContract(t)
	for name, c := range map[string]struct{ features, want string }{
		"typed":               {typedFeatures(t), "accepted"},
		"spaces":              {"\n{ \"schema\" : \"cs-features-2\" ,\t\"keystroke\": {\"events\": 5, \"cells\": { \"h:LI\" : [ 7 , -0.08 ] } } }", "accepted"},
		"no events":           {`{"schema": "cs-features-2"}`, "neutral"},
		"presence":            {`{"schema": "cs-features-2", "clock_ms": 1, "presence": {"sd_lpp": 0.47, "med_pp": 168}}`, "neutral"},
		"negative zero":       {`{"schema": "cs-features-2", "keystroke": {"events": 5, "cells": {"h:LI": [7, -0]}}}`, "accepted"},
		"negative fraction":   {`{"schema": "cs-features-2", "keystroke": {"events": 5, "cells": {"h:LI": [7, -0.0]}}}`, "accepted"},
		"an empty block":      {`{"schema": "cs-features-2", "keystroke": {"events": 0}}`, "neutral"},
		"an absent cell":      {`{"schema": "cs-features-2", "keystroke": {"events": 5, "cells": {"h:LI": [0, 0]}}}`, "accepted"},
		"an exponent":         {`{"schema": "cs-features-2", "keystroke": {"events": 5e0}}`, "accepted"},
		"an escaped name":     {`{"schema": "cs-features-2", "keystr\u006fke": {"events": 5}}`, "accepted"},
		"a long number":       {`{"schema": "cs-features-2", "clock_ms": 1.00000000000000000000000000000}`, "neutral"},
		"another schema":      {`{"schema": "cs-features-1"}`, features.ReasonSchema},
		"no schema":           {`{}`, features.ReasonSchema},
		"an unknown cell":     {`{"schema": "cs-features-2", "keystroke": {"events": 5, "cells": {"z": [7, 0]}}}`, features.ReasonUnknown},
		"an unknown block":    {`{"schema": "cs-features-2", "brain": {}}`, features.ReasonUnknown},
		"out of range":        {`{"schema": "cs-features-2", "keystroke": {"events": 5, "cells": {"h:LI": [7, 99]}}}`, features.ReasonImpossible},
		"an exact count":      {`{"schema": "cs-features-2", "keystroke": {"events": 5, "cells": {"h:LI": [3, 0]}}}`, features.ReasonNotBinned},
		"a contradiction":     {`{"schema": "cs-features-2", "keystroke": {"events": 1, "cells": {"h:LI": [7, 0]}}}`, features.ReasonContradicts},
		"a text":              {`{"schema": "cs-features-2", "keystroke": {"text": "secret"}}`, features.ReasonRawContent},
		"a name twice":        {`{"schema": "cs-features-2", "schema": "cs-features-2"}`, strictjson.TypeDuplicateKey},
		"a cell twice":        {`{"schema": "cs-features-2", "keystroke": {"events": 5, "cells": {"h:LI": [7, 0], "h:LI": [7, 0]}}}`, strictjson.TypeDuplicateKey},
		"a block twice":       {`{"schema": "cs-features-2", "keystroke": {"events": 5}, "keystroke": {"events": 5}}`, strictjson.TypeDuplicateKey},
		"a leading zero":      {`{"schema": "cs-features-2", "clock_ms": 01}`, "malformed"},
		"a NUL":               {"{\"schema\": \"cs-features-2\", \"clock_ms\": \x001}", "malformed"},
		"a trailing comma":    {`{"schema": "cs-features-2",}`, "malformed"},
		"not closed":          {`{"schema": "cs-features-2"`, "malformed"},
		"not an object":       {`["schema"]`, "dict_type"},
		"followed by members": {`{"schema": "cs-features-2"}, "research_optin": true`, "neutral"},
		"followed by nothing": {`{"schema": "cs-features-2"} x`, "malformed"},
		"invalid elsewhere":   {`{"schema": "cs-features-2"}, "purpose": "spy"`, "enum"},
		"features twice":      {`{"schema": "cs-features-2"}, "features": {"schema": "cs-features-2"}`, strictjson.TypeDuplicateKey},
		"unknown elsewhere":   {`{"schema": "cs-features-2"}, "more": 1`, "neutral"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, verdict(t, s, frameBody(c.features)))
		})
	}
}

// Bodies with one byte changed, removed or repeated: most are refused, and the others are read to the frame that they say.
func TestDamagedFramesAreRefusedOrRead(t *testing.T) {
	t.Parallel()
	s, rng := newContract(t), rand.New(rand.NewPCG(1, 2)) // #nosec G404 -- a reproducible test
	raw := []byte(frameBody(typedFeatures(t)))
	const bytes = "{}[]\",:.-+0123456789eE \\x00"
	accepted := 0
	for range 5000 {
		at, c := rng.IntN(len(raw)), bytes[rng.IntN(len(bytes))]
		damaged := string(raw[:at]) + []string{string(c), "", string(raw[at]) + string(c)}[rng.IntN(3)] + string(raw[at+1:])
		if verdict(t, s, damaged) == string(features.Accepted) {
			accepted++
		}
	}
	require.Greater(t, accepted, 100)
}

// FuzzFrame looks for a body that is neither refused nor read.
func FuzzFrame(f *testing.F) {
	s := newContract(f)
	f.Add(frameBody(typedFeatures(f)))
	f.Fuzz(func(t *testing.T, raw string) { verdict(t, s, raw) })
}
