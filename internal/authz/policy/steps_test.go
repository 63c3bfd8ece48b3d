package policy_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/countersign-dev/countersign/internal/authz/policy"
)

func of(team string, approvals int) policy.ReviewEntry {
	return policy.ReviewEntry{Group: team, Approvals: approvals}
}

func step(name string, entries ...policy.ReviewEntry) policy.Step {
	return policy.Step{Name: name, Entries: entries}
}

func namesOf(r policy.Review) (names []string) {
	for _, s := range r {
		names = append(names, s.Name)
	}
	return names
}

func TestReviewIsWrittenAsItWasGiven(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"a list":  `[{"group":"finance","approvals":2,"escalate":{"after_seconds":60,"group":"leads"}}]`,
		"steps":   `{"steps":[{"name":"team","entries":[{"group":"finance"}]},{"name":"lead","entries":[{"approvals":2}],"within_seconds":60,"on_timeout":{"group":"board"}}]}`,
		"expires": `{"steps":[{"name":"team","entries":[{"group":"finance"}],"within_seconds":60}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var r policy.Review
			require.NoError(t, json.Unmarshal([]byte(text), &r))
			again, err := json.Marshal(r)
			require.NoError(t, err)
			require.JSONEq(t, text, string(again))
		})
	}
	var s policy.Step
	require.NoError(t, json.Unmarshal([]byte(`{"name":"team","entries":[],"on_timeout":"expire"}`), &s))
	require.Zero(t, s.OnTimeout, "the default")
	require.Error(t, json.Unmarshal([]byte(`{"on_timeout":"never"}`), &s))
	plain, err := json.Marshal(policy.Requirements{}.Resolve(policy.Live))
	require.NoError(t, err)
	require.NotContains(t, string(plain), "repeat_approvers", "what 1.0 stored keeps its hash")
}

func TestMergeOfSteps(t *testing.T) {
	t.Parallel()
	base := policy.Review{step("team", of("finance", 1)), step("board", of("board", 2))}
	for name, c := range map[string]struct {
		rule policy.Review
		want []string
	}{
		"a step between others":        {policy.Review{step("team", of("finance", 1)), step("owner", of("owners", 1)), step("board", of("board", 1))}, []string{"team", "owner", "board"}},
		"a step before others":         {policy.Review{step("desk", of("desk", 1)), step("team", of("finance", 1))}, []string{"desk", "team", "board"}},
		"a step that nothing orders":   {policy.Review{step("audit", of("audit", 1))}, []string{"audit", "team", "board"}},
		"a rule without steps":         {nil, []string{"team", "board"}},
		"the same steps in both lists": {base, []string{"team", "board"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := policy.Merge(policy.Requirements{Review: base}, policy.Stricter{Review: c.rule}).Review
			require.Equal(t, c.want, namesOf(got))
			require.Equal(t, 2, got[len(got)-1].Needs(), "the higher number")
		})
	}
	timed := func(within int64, team string) policy.Review {
		return policy.Review{{Name: "lead", Entries: []policy.ReviewEntry{of("leads", 1)}, WithinSeconds: within, OnTimeout: policy.OnTimeout{Group: team}}}
	}
	merged := policy.Merge(policy.Requirements{Review: timed(600, "board")}, policy.Stricter{Review: timed(60, "board")}).Review[0]
	require.EqualValues(t, 60, merged.WithinSeconds, "the shorter time")
	require.Equal(t, "board", merged.OnTimeout.Group)
	merged = policy.Merge(policy.Requirements{Review: timed(600, "board")}, policy.Stricter{Review: timed(60, "")}).Review[0]
	require.Zero(t, merged.OnTimeout, "expiring is stricter than a further team")
}

func TestMergeOfStepsDoesNotDependOnTheOrderOfRules(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		review := rapid.Custom(func(t *rapid.T) policy.Review {
			var out policy.Review
			for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c", "d"}), 0, 4, rapid.ID[string]).Draw(t, "names") {
				out = append(out, policy.Step{
					Name: name, Entries: []policy.ReviewEntry{of(rapid.SampledFrom([]string{"x", "y", ""}).Draw(t, "team"), rapid.IntRange(1, 3).Draw(t, "n"))},
					WithinSeconds: rapid.Int64Range(0, 2).Draw(t, "within"), OnTimeout: policy.OnTimeout{Group: rapid.SampledFrom([]string{"", "z"}).Draw(t, "to")},
				})
			}
			return out
		})
		base := policy.Requirements{Review: review.Draw(t, "base")}
		var rules []policy.Stricter
		for range rapid.IntRange(0, 3).Draw(t, "rules") {
			rules = append(rules, policy.Stricter{Review: review.Draw(t, "rule")})
		}
		before := policy.Merge(base, rules...).Review
		slices.Reverse(rules)
		require.Equal(t, before, policy.Merge(base, rules...).Review)
		require.GreaterOrEqual(t, before.Needs(), base.Review.Needs())
	})
}

func TestStepsAreValidated(t *testing.T) {
	t.Parallel()
	rule := func(name string, s policy.Stricter) policy.Rule {
		return policy.Rule{Name: name, When: "true", Reason: name, Requirements: s}
	}
	six := policy.Review{}
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		six = append(six, step(name, of("finance", 1)))
	}
	two := policy.Review{step("team", of("finance", 1)), step("lead", of("leads", 1))}
	for name, c := range map[string]struct {
		in   policy.Requirements
		want string
		loc  []any
	}{
		"a name twice":       {policy.Requirements{Review: policy.Review{step("team", of("a", 1)), step("team", of("a", 1))}}, "duplicate_name", []any{"review", "steps", 1, "name"}},
		"a team twice":       {policy.Requirements{Review: policy.Review{step("team", of("a", 1), of("a", 1))}}, "duplicate_name", []any{"review", "steps", 0, "entries", 1, "group"}},
		"any reviewer twice": {policy.Requirements{Review: policy.Review{step("team", of("", 1), of("", 1))}}, "duplicate_name", []any{"review", "steps", 0, "entries", 1}},
		"a timeout without a time": {
			policy.Requirements{Review: policy.Review{{Name: "team", Entries: []policy.ReviewEntry{of("a", 1)}, OnTimeout: policy.OnTimeout{Group: "b"}}}},
			"missing", []any{"review", "steps", 0, "on_timeout"},
		},
		"six approvals in a step":  {policy.Requirements{Review: policy.Review{step("team", of("a", 3), of("b", 3))}}, "too_many_reviewers", []any{"review"}},
		"six steps":                {policy.Requirements{Review: six}, "too_many_steps", []any{"review"}},
		"more than the steps give": {policy.Requirements{ApprovalsRequired: 3, Review: two}, "value_error", []any{"approvals_required"}},
		"more than the steps give, by a rule": {
			policy.Requirements{Review: two, Rules: []policy.Rule{rule("large", policy.Stricter{ApprovalsRequired: 3})}}, "value_error",
			[]any{"rules", 0, "requirements", "approvals_required"},
		},
		"a list beside steps": {
			policy.Requirements{Review: two, Rules: []policy.Rule{rule("large", policy.Stricter{Review: policy.OneStep(of("board", 1))})}}, "value_error", []any{"review"},
		},
		"two orders": {
			policy.Requirements{Review: two, Rules: []policy.Rule{rule("large", policy.Stricter{Review: policy.Review{two[1], two[0]}})}}, "step_order", []any{"review"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found := policy.Validate(c.in, policy.Sandbox)
			require.Len(t, found, 1, "%v", found)
			require.Equal(t, c.want, found[0].Type)
			require.Equal(t, c.loc, found[0].Loc)
		})
	}
	require.Empty(t, policy.Validate(policy.Requirements{ApprovalsRequired: 2, Review: two}, policy.Live))
	steps := policy.Requirements{Review: two}.Steps()
	require.Len(t, steps, 2)
	require.Equal(t, 1, steps[1].Approvals)
	require.Equal(t, 2, policy.Requirements{Review: two}.Approvals())
	require.Equal(t, "step team: 1 of team finance, then step lead: 1 of team leads", two.String())
}

// Omitted hours are no part of what is stored, so that the content hash of a version of before stays.
func TestHoursAreStoredOnlyIfTheyAreGiven(t *testing.T) {
	t.Parallel()
	for given, stored := range map[policy.Hours]string{"": "", policy.HoursAll: `"hours":"all"`, policy.HoursWorking: `"hours":"working"`} {
		raw, err := json.Marshal(policy.Requirements{Hours: given}.Resolve(policy.Sandbox))
		require.NoError(t, err)
		require.Contains(t, string(raw), stored)
		require.Equal(t, given != "", strings.Contains(string(raw), "hours"))
	}
}
