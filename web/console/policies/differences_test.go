package policies

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/countersign-dev/countersign/models"
)

func TestDifferences(t *testing.T) {
	t.Parallel()
	before := models.PolicyVersion{
		ContentHash: "sha256:1", ContextSchema: models.JSON(`{}`), ProofTTLSeconds: 300, AllowedAudiences: models.Strings{"a", "b"},
		Requirements: models.JSON(`{"claims":{"operator_continuity":"likely"},"coverage_min":"partial","deny_on":["x"],"explicit_approval_required":false}`),
	}
	after := before
	after.ProofTTLSeconds, after.AllowedAudiences = 60, models.Strings{"b", "c"}
	after.Requirements = models.JSON(`{"claims":{"human_presence":"confirmed"},"coverage_min":"partial","deny_on":["x"],"explicit_approval_required":true}`)
	got, err := Differences(before, after)
	require.NoError(t, err)
	states, lines := map[string]string{}, map[string][]diffLine{}
	for _, d := range ChangedOnly(got) {
		states[d.Field], lines[d.Field] = d.State.Text, d.Lines
	}
	require.Equal(t, map[string]string{
		"claims operator_continuity": "removed", "claims human_presence": "added", "explicit_approval_required": "changed",
		"proof_ttl_seconds": "changed", "allowed_audiences": "changed",
	}, states)
	require.Equal(t, []diffLine{{"removed", []diffPart{{"a", false}}}, {"", []diffPart{{"b", false}}}, {"added", []diffPart{{"c", false}}}}, lines["allowed_audiences"])
	got, err = Differences(before, before)
	require.NoError(t, err)
	require.Equal(t, "coverage_min", got[0].Field, "fields must be in the display order")
	require.Empty(t, ChangedOnly(got))
}

// A changed condition shows the words that changed, and a changed property of the context only itself. Nothing is escaped.
func TestDifferencesOfRulesAndSchemas(t *testing.T) {
	t.Parallel()
	version := func(limit, maximum string) models.PolicyVersion {
		return models.PolicyVersion{
			ContentHash: "sha256:1", ContextSchema: models.JSON(`{"type":"object","required":["amount"],"properties":{"amount":{"type":"number","maximum":` + maximum + `},"payee":{"type":"string"}}}`),
			Requirements: models.JSON(`{"rules":[{"name":"large","when":"context.amount > ` + limit + ` && context.payee != \"a&b\"","requirements":{"hold_on":["rule_matched"]},"reason":"Large."}]}`),
		}
	}
	got, err := Differences(version("10", "100"), version("20", "200"))
	require.NoError(t, err)
	got = ChangedOnly(got)
	require.Len(t, got, 2)
	require.Equal(t, "rule large", got[0].Field)
	require.Equal(t, diffLine{"removed", []diffPart{{"context.amount > ", false}, {"10", true}}}, got[0].Lines[0])
	require.Equal(t, diffLine{"added", []diffPart{{"context.amount > ", false}, {"20", true}}}, got[0].Lines[1])
	require.Equal(t, diffLine{"", []diffPart{{`&& context.payee != "a&b"`, false}}}, got[0].Lines[2])
	require.Equal(t, "context.amount", got[1].Field)
	require.Equal(t, diffLine{"added", []diffPart{{"maximum: ", false}, {"200", true}}}, got[1].Lines[2])
	fresh, err := Differences(models.PolicyVersion{}, version("10", "100"))
	require.NoError(t, err)
	require.Equal(t, "added", fresh[0].State.Text)
}

// Whatever two texts are, the removed and equal lines are the first of them, and the added and equal ones the second.
func TestLinesOfDifferences(t *testing.T) {
	t.Parallel()
	joined := func(parts []diffPart) (out string) {
		for _, p := range parts {
			out += p.Text
		}
		return out
	}
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.SampledFrom([]string{"a", "b c", "b d", "", "ä-ö  x", "\xff"})
		before, after := rapid.SliceOfN(line, 0, 8).Draw(t, "before"), rapid.SliceOfN(line, 0, 8).Draw(t, "after")
		old, fresh := []string{}, []string{}
		for _, l := range lineByLine(before, after) {
			if l.Kind != "added" {
				old = append(old, joined(l.Parts))
			}
			if l.Kind != "removed" {
				fresh = append(fresh, joined(l.Parts))
			}
		}
		require.Equal(t, before, old)
		require.Equal(t, after, fresh)
	})
}
