package rules_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/authz/rules"
)

// Every example of the page for authors of policies is a policy version that can be created.
func TestExamplesOfTheDocumentationCompile(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/policies.md")
	require.NoError(t, err)
	blocks := regexp.MustCompile("(?s)```json\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	require.Len(t, blocks, 1)
	for _, b := range blocks {
		var version struct {
			Requirements  policy.Requirements `json:"requirements"`
			ContextSchema map[string]any      `json:"context_schema"`
		}
		decoder := json.NewDecoder(strings.NewReader(b[1]))
		decoder.DisallowUnknownFields()
		require.NoError(t, decoder.Decode(&version))
		require.Empty(t, policy.Validate(version.Requirements, policy.Live))
		require.Empty(t, policy.Warnings(version.Requirements.Resolve(policy.Live)))
		_, faults := rules.Compile(version.Requirements.Rules, version.ContextSchema)
		require.Empty(t, faults)
		require.NotEmpty(t, version.Requirements.Rules)
	}
}

// A documented policy that can hold bars self-review, because readers copy it into live environments.
func TestDocumentedPoliciesBarSelfReview(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("../../../docs/*.md")
	require.NoError(t, err)
	holds := regexp.MustCompile(`hold_on"?: ?\[`)
	seen := 0
	for _, page := range append(pages, "../../../README.md") {
		raw, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, block := range regexp.MustCompile("(?sm)^```[a-z]+\n.*?^```|(?:^    .*\n)+").FindAllString(string(raw), -1) {
			if holds.MatchString(block) {
				seen++
				require.Regexp(t, `self_review"?: "?barred`, block, page)
			}
		}
	}
	require.Positive(t, seen)
}
