package policy_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/countersign-dev/countersign/internal/authz/policy"
)

func escalates(after int64, group string) *policy.Escalation {
	return &policy.Escalation{AfterSeconds: after, Group: group}
}

func TestMergeTakesTheStricterTeams(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ base, rule, want []policy.ReviewEntry }{
		"a rule adds a team": {
			[]policy.ReviewEntry{{Group: "risk", Approvals: 1}}, []policy.ReviewEntry{{Group: "finance", Approvals: 2}},
			[]policy.ReviewEntry{{Group: "finance", Approvals: 2}, {Group: "risk", Approvals: 1}},
		},
		"the higher number": {
			[]policy.ReviewEntry{{Group: "risk", Approvals: 1}}, []policy.ReviewEntry{{Group: "risk", Approvals: 3}},
			[]policy.ReviewEntry{{Group: "risk", Approvals: 3}},
		},
		"a lower number has no effect": {
			[]policy.ReviewEntry{{Group: "risk", Approvals: 2}}, []policy.ReviewEntry{{Group: "risk", Approvals: 1}},
			[]policy.ReviewEntry{{Group: "risk", Approvals: 2}},
		},
		"the later escalation": {
			[]policy.ReviewEntry{{Group: "risk", Approvals: 1, Escalate: escalates(60, "leads")}},
			[]policy.ReviewEntry{{Group: "risk", Approvals: 1, Escalate: escalates(600, "leads")}},
			[]policy.ReviewEntry{{Group: "risk", Approvals: 1, Escalate: escalates(600, "leads")}},
		},
		"no escalation if one has none": {
			[]policy.ReviewEntry{{Group: "risk", Approvals: 1, Escalate: escalates(60, "leads")}}, []policy.ReviewEntry{{Group: "risk", Approvals: 1}},
			[]policy.ReviewEntry{{Group: "risk", Approvals: 1}},
		},
		"a rule without teams has no effect": {
			[]policy.ReviewEntry{{Group: "risk", Approvals: 1, Escalate: escalates(60, "leads")}}, nil,
			[]policy.ReviewEntry{{Group: "risk", Approvals: 1, Escalate: escalates(60, "leads")}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := policy.Merge(policy.Requirements{Review: policy.OneStep(c.base...)}, policy.Stricter{Review: policy.OneStep(c.rule...)})
			require.Equal(t, policy.OneStep(c.want...), got.Review)
		})
	}
}

func TestMergeOfTeamsDoesNotDependOnTheOrderOfRules(t *testing.T) {
	t.Parallel()
	entry := rapid.Custom(func(t *rapid.T) policy.ReviewEntry {
		out := policy.ReviewEntry{
			Group: rapid.SampledFrom([]string{"finance", "risk", "legal"}).Draw(t, "group"), Approvals: rapid.IntRange(1, 5).Draw(t, "approvals"),
		}
		if rapid.Bool().Draw(t, "escalates") {
			out.Escalate = escalates(rapid.Int64Range(60, 62).Draw(t, "after"), rapid.SampledFrom([]string{"leads", "board"}).Draw(t, "to"))
		}
		return out
	})
	entries := rapid.SliceOfNDistinct(entry, 0, 3, func(r policy.ReviewEntry) string { return r.Group })
	rapid.Check(t, func(t *rapid.T) {
		var rules []policy.Stricter
		for range rapid.IntRange(0, 4).Draw(t, "rules") {
			rules = append(rules, policy.Stricter{Review: policy.OneStep(entries.Draw(t, "rule")...)})
		}
		listed := entries.Draw(t, "base")
		base := policy.Requirements{Review: policy.OneStep(listed...)}
		before := policy.Merge(base, rules...).Review
		slices.Reverse(rules)
		after := policy.Merge(base, rules...).Review
		require.Equal(t, before, after)
		for _, r := range listed {
			i := slices.IndexFunc(before[0].Entries, func(o policy.ReviewEntry) bool { return o.Group == r.Group })
			require.GreaterOrEqual(t, before[0].Entries[i].Approvals, r.Approvals)
		}
	})
}

func TestReviewIsValidated(t *testing.T) {
	t.Parallel()
	rule := func(entries ...policy.ReviewEntry) []policy.Rule {
		return []policy.Rule{{Name: "large", When: "true", Reason: "large", Requirements: policy.Stricter{Review: policy.OneStep(entries...)}}}
	}
	for name, c := range map[string]struct {
		in   policy.Requirements
		want string
		loc  []any
	}{
		"a team twice":            {policy.Requirements{Review: policy.OneStep(policy.ReviewEntry{Group: "risk", Approvals: 1}, policy.ReviewEntry{Group: "risk", Approvals: 1})}, "duplicate_name", []any{"review", 1, "group"}},
		"an escalation to itself": {policy.Requirements{Review: policy.OneStep(policy.ReviewEntry{Group: "risk", Approvals: 1, Escalate: escalates(60, "risk")})}, "value_error", []any{"review", 0, "escalate", "group"}},
		"more reviewers than five": {
			policy.Requirements{Review: policy.OneStep(policy.ReviewEntry{Group: "risk", Approvals: 3}), Rules: rule(policy.ReviewEntry{Group: "legal", Approvals: 3})},
			"too_many_reviewers", []any{"review"},
		},
		"a team twice in a rule": {
			policy.Requirements{Rules: rule(policy.ReviewEntry{Group: "risk", Approvals: 1}, policy.ReviewEntry{Group: "risk", Approvals: 1})},
			"duplicate_name", []any{"rules", 0, "requirements", "review", 1, "group"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found := policy.Validate(c.in, policy.Sandbox)
			require.Len(t, found, 1)
			require.Equal(t, c.want, found[0].Type)
			require.Equal(t, c.loc, found[0].Loc)
		})
	}
	valid := policy.Requirements{
		Review: policy.OneStep(policy.ReviewEntry{Group: "risk", Approvals: 2, Escalate: escalates(60, "leads")}), Rules: rule(policy.ReviewEntry{Group: "legal", Approvals: 3}),
	}
	require.Empty(t, policy.Validate(valid, policy.Sandbox))
	require.Equal(t, []string{"leads", "legal", "risk"}, valid.Groups())
	require.Equal(t, 2, valid.Approvals())
	require.Equal(t, 4, policy.Requirements{ApprovalsRequired: 4, Review: valid.Review}.Approvals())
}

func TestExplanationNamesTheTeamsOfAHold(t *testing.T) {
	t.Parallel()
	in := policy.Input{
		Requirements: policy.Requirements{
			CoverageMin: policy.CoverageNone, HoldOn: []string{"profile_a"},
			Review: policy.OneStep(policy.ReviewEntry{Group: "risk", Approvals: 1, Escalate: escalates(3600, "leads")}, policy.ReviewEntry{Group: "legal", Approvals: 2}),
		},
		Environment: policy.Sandbox, Mode: policy.ModeEnforce,
	}
	named := func(in policy.Input) *policy.RequirementResult {
		results := policy.Decide(in).Explanation
		if i := slices.IndexFunc(results, func(r policy.RequirementResult) bool { return r.Requirement == "review" }); i >= 0 {
			return &results[i]
		}
		return nil
	}
	require.Nil(t, named(in), "an allowed request waits for no team")
	in.Assurance.ReasonCodes = []string{"profile_a"}
	require.Equal(t, &policy.RequirementResult{
		Requirement: "review", Wanted: "1 of team risk, after 1h0m0s of team leads as well; 2 of team legal", Found: "not reviewed yet", Passed: true, Effect: policy.Allow,
	}, named(in))
	in.HoldApproved = true
	require.Equal(t, "approved by the reviewers", named(in).Found)
	require.Equal(t, policy.Allow, policy.Decide(in).Effect)
}
