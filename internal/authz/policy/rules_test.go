package policy_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/platform/reason"
)

// genStricter draws requirements of a rule: of each field either nothing or a value that a policy could have.
func genStricter(t *rapid.T, label string) policy.Stricter {
	full := genRequirements(t)
	full.ApprovalsRequired = rapid.IntRange(0, 5).Draw(t, "approvals "+label)
	full.SelfReview = rapid.SampledFrom([]policy.SelfReview{"", policy.SelfReviewAllowed, policy.SelfReviewBarred}).Draw(t, "self review "+label)
	for i, omit := range []func(){
		func() { full.Claims = nil }, func() { full.CoverageMin = "" }, func() { full.FreshnessMaxMS = 0 }, func() { full.InsufficientEvidence = "" },
		func() { full.MaxChallenges = 0 }, func() { full.ExplicitApprovalRequired = false }, func() { full.ChallengeMethods = nil },
		func() { full.ChallengeCompensates = nil }, func() { full.DenyOn = nil }, func() { full.HoldOn = nil },
		func() { full.ApprovalCompensates = nil },
	} {
		if rapid.IntRange(0, 2).Draw(t, "omit "+label+string(rune('a'+i))) > 0 {
			omit()
		}
	}
	return policy.Stricter(full)
}

func genMatched(t *rapid.T) []policy.MatchedRule {
	out := make([]policy.MatchedRule, rapid.IntRange(1, 4).Draw(t, "rules"))
	for i := range out {
		name := string(rune('a' + i))
		out[i] = policy.MatchedRule{
			Rule:   policy.Rule{Name: name, Requirements: genStricter(t, name), Reason: "why " + name},
			Failed: rapid.Bool().Draw(t, "failed "+name),
		}
	}
	return out
}

// Whatever a rule requires, it never makes the decision looser, and the order of rules has no effect.
func TestPropertyRulesNeverLoosen(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		without := genInput(t)
		with := without
		with.Rules = genMatched(t)
		notLooser(t, without, with)
		decided := policy.Decide(with)
		checkInvariants(t, with, decided)
		require.Contains(t, decided.ReasonCodes, reason.RuleMatched)

		reordered := with
		reordered.Rules = rapid.Permutation(with.Rules).Draw(t, "order")
		again := policy.Decide(reordered)
		require.Equal(t, decided.Effect, again.Effect)
		require.Equal(t, decided.ReasonCodes, again.ReasonCodes)
		require.Equal(t, decided.Methods, again.Methods)
		require.ElementsMatch(t, decided.Explanation, again.Explanation)
	})
}

// Each field of the merged requirements is at least as strict as that of the base and of each rule.
func TestPropertyMergeIsStricterInEachField(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		base := genRequirements(t).Resolve(policy.Live)
		one, two := genStricter(t, "one"), genStricter(t, "two")
		merged := policy.Merge(base, one, two)
		require.Equal(t, merged, policy.Merge(base, two, one))
		require.Equal(t, merged, policy.Merge(base, one, two, one))
		for _, from := range []policy.Requirements{base, policy.Requirements(one), policy.Requirements(two)} {
			requireAtLeast(t, merged, from)
		}
	})
}

func requireAtLeast(t require.TestingT, merged, from policy.Requirements) {
	for claim, minimum := range from.Claims {
		order := policy.MinimumStatuses(claim)
		require.LessOrEqual(t, slices.Index(order, merged.Claims[claim]), slices.Index(order, minimum), claim)
	}
	if from.CoverageMin != "" {
		require.GreaterOrEqual(t, merged.CoverageMin.Rank(), from.CoverageMin.Rank())
	}
	if from.FreshnessMaxMS != 0 {
		require.LessOrEqual(t, merged.FreshnessMaxMS, from.FreshnessMaxMS)
	}
	if from.InsufficientEvidence != "" {
		require.GreaterOrEqual(t, merged.InsufficientEvidence.Severity(), from.InsufficientEvidence.Severity())
	}
	if from.MaxChallenges != 0 {
		require.LessOrEqual(t, merged.MaxChallenges, from.MaxChallenges)
	}
	require.True(t, merged.ExplicitApprovalRequired || !from.ExplicitApprovalRequired)
	require.GreaterOrEqual(t, merged.ApprovalsRequired, from.ApprovalsRequired)
	require.True(t, merged.BarsSelfReview() || !from.BarsSelfReview())
	if from.ChallengeMethods != nil {
		require.Subset(t, from.ChallengeMethods, merged.ChallengeMethods)
	}
	if from.ChallengeCompensates != nil {
		require.Subset(t, from.ChallengeCompensates, merged.ChallengeCompensates)
	}
	if from.ApprovalCompensates != nil {
		require.NotNil(t, merged.ApprovalCompensates)
		require.Subset(t, from.ApprovalCompensates, merged.ApprovalCompensates)
	}
	require.Subset(t, merged.DenyOn, from.DenyOn)
	require.Subset(t, merged.HoldOn, from.HoldOn)
}

func TestRulesInTheDecision(t *testing.T) {
	t.Parallel()
	rule := func(r policy.Requirements) policy.MatchedRule {
		return policy.MatchedRule{
			Rule:  policy.Rule{Name: "large", When: "context.amount > 10000.0", Reason: "Above 10,000", Requirements: policy.Stricter(r)},
			Found: "matched: context.amount", Shown: []string{"Amount"},
		}
	}
	failed := rule(policy.Requirements{MaxChallenges: 1})
	failed.Failed = true
	for name, c := range map[string]struct {
		base   policy.Requirements
		rule   policy.MatchedRule
		effect policy.Effect
		codes  []string
		detail string
	}{
		"a rule that holds": {
			policy.Requirements{CoverageMin: policy.CoverageNone}, rule(policy.Requirements{HoldOn: []string{reason.RuleMatched}}), policy.Hold,
			[]string{reason.HoldOnMatched, reason.RuleMatched}, "It is rule_matched.",
		},
		"a rule that denies": {
			policy.Requirements{CoverageMin: policy.CoverageNone}, rule(policy.Requirements{DenyOn: []string{reason.RuleMatched}}), policy.Deny,
			[]string{reason.DenyOnMatched, reason.RuleMatched}, "It is rule_matched.",
		},
		"a rule that the request meets": {
			policy.Requirements{CoverageMin: policy.CoverageNone}, rule(policy.Requirements{MaxChallenges: 1}), policy.Allow,
			[]string{reason.RequirementsMet, reason.RuleMatched}, "Every requirement of the policy version is met.",
		},
		"a rule that asks for approval": {
			policy.Requirements{CoverageMin: policy.CoverageNone}, rule(policy.Requirements{ExplicitApprovalRequired: true}), policy.Challenge,
			[]string{reason.ExplicitApprovalRequired, reason.RuleMatched}, "approve this action explicitly",
		},
		"a rule that could not be evaluated": {
			policy.Requirements{CoverageMin: policy.CoverageNone, HoldOn: []string{reason.RuleFailed}}, failed, policy.Hold,
			[]string{reason.HoldOnMatched, reason.RuleFailed, reason.RuleMatched}, "It is rule_failed.",
		},
		"a stricter rule that would hide the code on which the policy denies": {
			policy.Requirements{DenyOn: []string{reason.NoChallengeMethod}, ChallengeMethods: []policy.Method{policy.Passkey}},
			rule(policy.Requirements{InsufficientEvidence: policy.Hold}), policy.Deny,
			[]string{reason.DenyOnMatched, reason.NoChallengeMethod, reason.InsufficientEvidence, reason.RuleMatched}, "It is no_challenge_method.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := policy.Decide(policy.Input{
				Requirements: c.base, Environment: policy.Sandbox, UsableMethods: []policy.Method{policy.SandboxConfirm}, Rules: []policy.MatchedRule{c.rule},
				Assurance: policy.Assurance{InsufficientEvidence: true, Coverage: policy.CoverageSufficient, FreshnessMS: ms(1)},
			})
			require.Equal(t, c.effect, d.Effect)
			require.Equal(t, c.codes, d.ReasonCodes)
			require.Contains(t, d.HumanReadable.Detail, c.detail)
			require.Contains(t, d.Explanation, policy.RequirementResult{
				Requirement: "rules.large", Wanted: "Above 10,000", Found: "matched: context.amount", Passed: true, Effect: policy.Allow,
				Shown: []policy.ShownValue{{Label: "Amount"}},
			})
		})
	}
}

func TestValidateRules(t *testing.T) {
	t.Parallel()
	rules := []policy.Rule{
		{Name: "a", Requirements: policy.Stricter{ApprovalsRequired: 2}},
		{Name: "a", Requirements: policy.Stricter{}},
		{Name: "b", Requirements: policy.Stricter{HoldOn: []string{"no_such_code"}, ChallengeMethods: []policy.Method{policy.SandboxConfirm}}},
	}
	found := policy.Validate(policy.Requirements{Rules: rules}, policy.Live)
	places := make([][]any, len(found))
	for i, v := range found {
		places[i] = v.Loc
	}
	require.Equal(t, [][]any{
		{"rules", 1, "name"}, {"rules", 1, "requirements"},
		{"rules", 2, "requirements", "challenge_methods", 0}, {"rules", 2, "requirements", "hold_on", 0},
	}, places)
}

// The rules are part of the content hash as the API returns them; a policy without rules has the hash that it always had.
func TestContentHashCoversRules(t *testing.T) {
	t.Parallel()
	contract := policy.Contract{Requirements: policy.Requirements{CoverageMin: policy.CoverageNone}.Resolve(policy.Live), ProofTTLSeconds: 300}
	without, err := contract.ContentHash()
	require.NoError(t, err)
	contract.Requirements.Rules = []policy.Rule{}
	same, err := contract.ContentHash()
	require.NoError(t, err)
	require.Equal(t, without, same)

	rule := policy.Rule{Name: "large", When: "context.amount > 1.0", Requirements: policy.Stricter{ApprovalsRequired: 2}, Reason: "Large"}
	contract.Requirements.Rules = []policy.Rule{rule}
	with, err := contract.ContentHash()
	require.NoError(t, err)
	require.NotEqual(t, without, with)

	raw, err := json.Marshal(rule)
	require.NoError(t, err)
	require.JSONEq(t, `{"name": "large", "when": "context.amount > 1.0", "requirements": {"approvals_required": 2}, "reason": "Large"}`, string(raw))
	var back policy.Rule
	require.NoError(t, json.Unmarshal(raw, &back))
	require.Equal(t, rule, back)
}
