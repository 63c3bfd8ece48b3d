package reason_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/reason"
)

func TestCatalogueIsWellFormed(t *testing.T) {
	t.Parallel()
	kinds := map[string]bool{
		reason.KindDecision: true, reason.KindEvidence: true, reason.KindContinuity: true, reason.KindEnrollment: true,
		reason.KindPresence: true, reason.KindReplay: true, reason.KindMandate: true, reason.KindProof: true, reason.KindLegacy: true, reason.KindSession: true,
		reason.KindApprover: true,
	}
	form := regexp.MustCompile(`^[a-z][a-z0-9_]*(:[a-z]+)?$`)
	seen := map[string]bool{}
	for _, e := range reason.All() {
		require.Regexp(t, form, e.Code)
		require.LessOrEqual(t, len(e.Code), 64, e.Code)
		require.False(t, seen[e.Code], "%s occurs twice: one code has one meaning", e.Code)
		seen[e.Code] = true
		require.True(t, kinds[e.Kind], "%s: kind %q", e.Code, e.Kind)
		require.True(t, strings.HasSuffix(e.Description, "."), "%s: the description is a sentence", e.Code)
		require.True(t, strings.HasSuffix(e.Remedy, "."), "%s: the remedy is a sentence", e.Code)
	}
}

func TestLookup(t *testing.T) {
	t.Parallel()
	e, ok := reason.Lookup(reason.SubjectRevoked)
	require.True(t, ok)
	require.Equal(t, "subject_revoked", e.Code)
	require.Equal(t, reason.KindDecision, e.Kind)
	require.True(t, reason.Known("match:timing"))
	for _, unknown := range []string{"", "Subject_Revoked", "subject_revoked ", "nope"} {
		require.False(t, reason.Known(unknown))
		_, ok := reason.Lookup(unknown)
		require.False(t, ok)
	}
}

func TestAllReturnsACopy(t *testing.T) {
	t.Parallel()
	all := reason.All()
	code := all[0].Code
	all[0] = reason.Entry{}
	require.True(t, reason.Known(code))
	require.Equal(t, code, reason.All()[0].Code)
}

// The catalogue describes the codes that the scorer and the feature parser define, and no others as theirs.
func TestScoringAgrees(t *testing.T) {
	t.Parallel()
	var want, got []string
	for _, file := range []string{"scoring/reasons.go", "features/parse.go"} {
		source, err := os.ReadFile("../../behavior/" + file)
		require.NoError(t, err)
		for _, match := range regexp.MustCompile(`(?m)^\s+Reason\w+ += "(.+)"`).FindAllStringSubmatch(string(source), -1) {
			want = append(want, match[1])
		}
	}
	own := map[string]bool{reason.KindDecision: true, reason.KindProof: true, reason.KindLegacy: true, reason.KindSession: true, reason.KindApprover: true}
	for _, e := range reason.All() {
		if !own[e.Kind] {
			got = append(got, e.Code)
		}
	}
	require.ElementsMatch(t, want, got)
}

// TestDocument compares the tables of docs/reason-codes.md with the catalogue. UPDATE_DOCS=1 writes them.
func TestDocument(t *testing.T) {
	t.Parallel()
	const path, heading = "../../../docs/reason-codes.md", "## The catalogue\n"
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	intro, _, found := strings.Cut(string(got), heading)
	require.True(t, found)
	want := intro + heading + tables(reason.All())
	if os.Getenv("UPDATE_DOCS") != "" {
		require.NoError(t, os.WriteFile(path, []byte(want), 0o600))
		return
	}
	require.Equal(t, want, string(got), "run UPDATE_DOCS=1 go test ./internal/platform/reason")
}

func tables(entries []reason.Entry) string {
	var b strings.Builder
	kind := ""
	for _, e := range entries {
		if e.Kind != kind {
			kind = e.Kind
			fmt.Fprintf(&b, "\n### %s\n\n| code | meaning | remedy |\n|---|---|---|\n", kind)
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", e.Code, e.Description, e.Remedy)
	}
	return b.String()
}
