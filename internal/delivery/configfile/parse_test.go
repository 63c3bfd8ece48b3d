package configfile_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/countersign-dev/countersign/internal/delivery/configfile"
	"github.com/countersign-dev/countersign/internal/platform/yamlfile"
	countersign "github.com/countersign-dev/countersign/sdk/go"
)

func TestParseRefusesWithTheLine(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ file, fault string }{
		"empty":             {"", "the file is empty; it needs at least version: 1"},
		"another version":   {"version: 2", "line 1: version is 2; this countersign reads version: 1"},
		"unknown property":  {"version: 1\nactions:\n  a.b:\n    nme: x", `line 4: "nme" is not a property of actions.a.b; it has allowed_audiences`},
		"in requirements":   {"version: 1\nactions:\n  a:\n    requirements:\n      deny: []", `line 5: "deny" is not a property of actions.a.requirements`},
		"duplicate":         {"version: 1\nactions:\n  a: {name: x}\n  a: {name: y}", `line 4: actions has the property "a" twice; the first is on line 3`},
		"free duplicate":    {"version: 1\nactions:\n  a:\n    context_schema:\n      type: object\n      type: object", `line 6: actions.a.context_schema has the property "type" twice`},
		"alias":             {"version: 1\nactions:\n  a: &x {name: x}\n  b: *x", "line 3: actions.a uses an anchor or alias"},
		"merge":             {"version: 1\nactions:\n  a:\n    <<: {name: x}", "line 4: actions.a needs plain names"},
		"a number as text":  {"version: 1\nactions:\n  a:\n    name: 12", `line 4: actions.a.name must be text (in quotes if it looks like a number), not "12"`},
		"text as a number":  {"version: 1\nactions:\n  a:\n    proof_ttl_seconds: long", `line 4: actions.a.proof_ttl_seconds must be a whole number, not "long"`},
		"null":              {"version: 1\nenvironment:\n  rp_name:", "line 3: environment.rp_name must be text"},
		"a list for text":   {"version: 1\nenvironment:\n  rp_name: [a]", "line 3: environment.rp_name must be text (in quotes if it looks like a number), not a list"},
		"text for a list":   {"version: 1\nenvironment:\n  origins: https://a.example", "line 3: environment.origins must be a list"},
		"not JSON":          {"version: 1\nactions:\n  a:\n    context_schema: {maximum: .inf}", `line 4: actions.a.context_schema.maximum is ".inf"`},
		"tag":               {"version: 1\nenvironment:\n  rp_name: !!binary aGk=", "line 3: environment.rp_name must be text"},
		"two documents":     {"version: 1\n---\nversion: 1", "line 2: the file has more than one document"},
		"no url":            {"version: 1\nwebhook_endpoints:\n- events: []", "webhook_endpoints[0] has no url"},
		"not YAML":          {"version: 1\n\tx: 1", "line 2: found a tab character that violates indentation"},
		"too deep":          {"version: 1\nactions:\n  a:\n    context_schema: " + strings.Repeat("{a: ", 70) + "1" + strings.Repeat("}", 70), "has more than 64 levels"},
		"too large":         {"# " + strings.Repeat("x", 4<<20), "it must have at most 4194304"},
		"an id is no entry": {"version: 1\nenvironment: {id: env_1}", `"id" is not a property of environment`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := configfile.Parse([]byte(c.file))
			require.ErrorContains(t, err, c.fault)
			require.ErrorAs(t, err, new(*yamlfile.Fault))
		})
	}
}

// free draws a value without a type, as a context_schema has it. Numbers are json.Number, which keeps their digits.
func free(depth int) *rapid.Generator[any] {
	leaf := rapid.OneOf(rapid.Map(rapid.String(), toAny), rapid.Map(rapid.Bool(), toAny), rapid.Just[any](nil),
		rapid.SampledFrom([]any{number("1"), number("-2.50"), number("9007199254740993"), number("1e9"), "true", "null", "1", "2026-01-01", "~", "<<", "a\nb\n", " x", "yes"}))
	if depth == 0 {
		return leaf
	}
	return rapid.OneOf(leaf, rapid.Map(rapid.SliceOfN(free(depth-1), 0, 3), toAny), rapid.Map(rapid.MapOfN(rapid.String(), free(depth-1), 0, 3), toAny))
}

func TestPropertyAFileReadsAsItWasWritten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String()
		no := false
		doc := &configfile.Document{
			Version:     1,
			Environment: &countersign.EnvironmentUpdate{RPName: "Bank", BarSelfReview: &no, ReturnOrigins: []string{}, Brand: &countersign.BrandUpdate{Name: new(text.Draw(t, "brand"))}},
			Actions: map[string]configfile.Action{text.Draw(t, "key"): {
				Name: "n" + text.Draw(t, "name"), AllowedCallers: []string{}, ProofTTLSeconds: 30,
				ContextSchema: map[string]any{"x": free(3).Draw(t, "schema")},
				Requirements:  &countersign.PolicyRequirements{Rules: []countersign.PolicyRule{{Name: "r", When: text.Draw(t, "when")}}},
			}},
			WebhookEndpoints: []countersign.WebhookEndpointUpdate{{URL: "https://a.example", Description: new(text.Draw(t, "description"))}},
		}
		file, err := doc.YAML()
		require.NoError(t, err)
		back, err := configfile.Parse(file)
		require.NoError(t, err, "%s", file)
		require.Equal(t, doc, back, "%s", file)
		again, err := back.YAML()
		require.NoError(t, err)
		require.Equal(t, string(file), string(again))
	})
}

// A file is read or refused, and one that is read is written in a form that reads as the same.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"version: 1\n", "version: 1\nenvironment: {rp_name: \"a\", hold_ttl_seconds: 60}\n", "version: 1\nactions: {a.b: {name: n, context_schema: {type: object}}}\n",
		"version: 1\nlists: {a: {kind: text, entries: [{value: no, reason: r}]}}\n", "a: &a [*a]\n", "version: 1.0\n", "version: 0x1\n", "version: 1\n---\nversion: 1\n", "\ufeffversion: 1\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		doc, err := configfile.Parse(raw)
		if err != nil {
			return
		}
		text, err := doc.YAML()
		require.NoError(t, err)
		back, err := configfile.Parse(text)
		require.NoError(t, err, "%s", text)
		again, err := back.YAML()
		require.NoError(t, err)
		require.Equal(t, string(text), string(again))
	})
}
