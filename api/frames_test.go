package api

import (
	"encoding/json"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/api/openapi"
	"github.com/countersign-dev/countersign/internal/behavior/features"
	"github.com/countersign-dev/countersign/internal/behavior/synthetic"
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

func newFrameServer(t testing.TB) *server {
	t.Helper()
	contract, err := openapi.Compile()
	require.NoError(t, err)
	return &server{contract: contract}
}

// requireSameFrame requires that a body is read as if every body became a tree. It reports whether the features were scanned.
func requireSameFrame(t *testing.T, s *server, raw string) (scanned bool) {
	t.Helper()
	r := Route{Operation: "submitEvidence", Frames: true}
	value, found, err := s.checkJSON(r, []byte(raw), nil)
	tree, treeErr := strictjson.Decode([]byte(raw), strictjson.Limits{AnyFinite: true})
	require.Equal(t, treeErr, err, raw)
	if err != nil {
		return false
	}
	require.Equal(t, s.contract.ValidateBody(r.Operation, tree), found, raw)
	body, ok := value.(map[string]any)
	if !ok || len(found) > 0 {
		return false
	}
	_, scanned = body["features"].(strictjson.Special)
	got, want := submitted(body), submitted(tree.(map[string]any))
	if scanned {
		require.Equal(t, features.Read(want.Features), features.Read(got.Features), raw)
	}
	got.Features, want.Features = nil, nil
	require.Equal(t, want, got)
	return scanned
}

func TestFramesAreReadLikeTrees(t *testing.T) {
	t.Parallel()
	s := newFrameServer(t)
	for name, c := range map[string]struct {
		features string
		scanned  bool
	}{
		"typed":               {typedFeatures(t), true},
		"spaces":              {"\n{ \"schema\" : \"cs-features-2\" ,\t\"keystroke\": {\"events\": 5, \"cells\": { \"h:LI\" : [ 7 , -0.08 ] } } }", true},
		"no events":           {`{"schema": "cs-features-2"}`, true},
		"presence":            {`{"schema": "cs-features-2", "clock_ms": 1, "presence": {"sd_lpp": 0.47, "med_pp": 168}}`, true},
		"negative zero":       {`{"schema": "cs-features-2", "keystroke": {"events": 5, "cells": {"h:LI": [7, -0]}}}`, true},
		"negative fraction":   {`{"schema": "cs-features-2", "keystroke": {"events": 5, "cells": {"h:LI": [7, -0.0]}}}`, true},
		"an empty block":      {`{"schema": "cs-features-2", "keystroke": {"events": 0}}`, false},
		"an absent cell":      {`{"schema": "cs-features-2", "keystroke": {"events": 5, "cells": {"h:LI": [0, 0]}}}`, false},
		"an exponent":         {`{"schema": "cs-features-2", "keystroke": {"events": 5e0}}`, false},
		"an escaped name":     {`{"schema": "cs-features-2", "keystr\u006fke": {"events": 5}}`, false},
		"a long number":       {`{"schema": "cs-features-2", "clock_ms": 1.00000000000000000000000000000}`, false},
		"another schema":      {`{"schema": "cs-features-1"}`, false},
		"no schema":           {`{}`, false},
		"an unknown cell":     {`{"schema": "cs-features-2", "keystroke": {"events": 5, "cells": {"x": [7, 0]}}}`, false},
		"an unknown block":    {`{"schema": "cs-features-2", "brain": {}}`, false},
		"out of range":        {`{"schema": "cs-features-2", "keystroke": {"events": 5, "cells": {"h:LI": [7, 99]}}}`, false},
		"an exact count":      {`{"schema": "cs-features-2", "keystroke": {"events": 5, "cells": {"h:LI": [3, 0]}}}`, false},
		"a contradiction":     {`{"schema": "cs-features-2", "keystroke": {"events": 1, "cells": {"h:LI": [7, 0]}}}`, false},
		"a text":              {`{"schema": "cs-features-2", "keystroke": {"text": "secret"}}`, false},
		"a name twice":        {`{"schema": "cs-features-2", "schema": "cs-features-2"}`, false},
		"a cell twice":        {`{"schema": "cs-features-2", "keystroke": {"events": 5, "cells": {"h:LI": [7, 0], "h:LI": [7, 0]}}}`, false},
		"a block twice":       {`{"schema": "cs-features-2", "keystroke": {"events": 5}, "keystroke": {"events": 5}}`, false},
		"a leading zero":      {`{"schema": "cs-features-2", "clock_ms": 01}`, false},
		"a NUL":               {"{\"schema\": \"cs-features-2\", \"clock_ms\": \x001}", false},
		"a trailing comma":    {`{"schema": "cs-features-2",}`, false},
		"not closed":          {`{"schema": "cs-features-2"`, false},
		"not an object":       {`["schema"]`, false},
		"followed by members": {`{"schema": "cs-features-2"}, "research_optin": true`, true},
		"followed by nothing": {`{"schema": "cs-features-2"} x`, false},
		"invalid elsewhere":   {`{"schema": "cs-features-2"}, "purpose": "spy"`, false},
		"features twice":      {`{"schema": "cs-features-2"}, "features": {"schema": "cs-features-2"}`, false},
		"unknown elsewhere":   {`{"schema": "cs-features-2"}, "more": 1`, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.scanned, requireSameFrame(t, s, frameBody(c.features)))
		})
	}
}

// Bodies with one byte changed, removed or repeated: most are refused, and all for the same reasons as without the short cut.
func TestDamagedFramesAreReadLikeTrees(t *testing.T) {
	t.Parallel()
	s, rng := newFrameServer(t), rand.New(rand.NewPCG(1, 2)) // #nosec G404 -- a reproducible test
	raw := []byte(frameBody(typedFeatures(t)))
	const bytes = "{}[]\",:.-+0123456789eE \\x00"
	scanned := 0
	for range 5000 {
		at, c := rng.IntN(len(raw)), bytes[rng.IntN(len(bytes))]
		damaged := string(raw[:at]) + []string{string(c), "", string(raw[at]) + string(c)}[rng.IntN(3)] + string(raw[at+1:])
		if requireSameFrame(t, s, damaged) {
			scanned++
		}
	}
	require.Greater(t, scanned, 100)
}

// FuzzFrame looks for a body that the short cut reads differently.
func FuzzFrame(f *testing.F) {
	s := newFrameServer(f)
	f.Add(frameBody(typedFeatures(f)))
	f.Fuzz(func(t *testing.T, raw string) { requireSameFrame(t, s, raw) })
}
