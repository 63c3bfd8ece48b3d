package policy_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/platform/reason"
)

// What a standing approval satisfies, and what it does not.
func TestDecideByStandingApproval(t *testing.T) {
	t.Parallel()
	permitted := &policy.Standing{By: []policy.StandingSource{policy.StandingByPasskey, policy.StandingByReview}, MaxUses: 1, MaxDurationSeconds: 60}
	explicit := func(in *policy.Input) { in.Requirements.ExplicitApprovalRequired = true }
	held := func(in *policy.Input) { in.Requirements.HoldOn = []string{"seen_profile"} }
	for name, c := range map[string]struct {
		change  func(*policy.Input)
		passkey policy.Effect
		review  policy.Effect
	}{
		"the subject's approval": {explicit, policy.Allow, policy.Allow},
		"the subject's approval, whatever a reviewer approves": {func(in *policy.Input) {
			explicit(in)
			in.Requirements.ApprovalCompensates = []string{policy.CompensatesCoverage}
		}, policy.Allow, policy.Challenge},
		"a hold": {held, policy.Hold, policy.Allow},
		"both":   {func(in *policy.Input) { explicit(in); held(in) }, policy.Hold, policy.Allow},
		"a hold for want of evidence": {func(in *policy.Input) {
			in.Requirements.InsufficientEvidence, in.Assurance.InsufficientEvidence = policy.Hold, true
		}, policy.Hold, policy.Allow},
		"a challenge for want of evidence": {func(in *policy.Input) { in.Assurance.InsufficientEvidence = true }, policy.Challenge, policy.Challenge},
		"a security event":                 {func(in *policy.Input) { in.SubjectSuspected = true }, policy.Challenge, policy.Challenge},
		"what denies":                      {func(in *policy.Input) { explicit(in); in.Requirements.DenyOn = []string{"seen_profile"} }, policy.Deny, policy.Deny},
		"a revoked subject":                {func(in *policy.Input) { explicit(in); in.SubjectRevoked = true }, policy.Deny, policy.Deny},
		"automation": {func(in *policy.Input) {
			explicit(in)
			in.Assurance.Claims = append(in.Assurance.Claims, policy.Claim{Name: policy.Automation, Status: policy.Detected})
		}, policy.Challenge, policy.Challenge},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for source, want := range map[policy.StandingSource]policy.Effect{policy.StandingByPasskey: c.passkey, policy.StandingByReview: c.review} {
				in := good()
				in.Requirements.Standing, in.Standing = permitted, &policy.GivenStanding{Source: source}
				c.change(&in)
				d := policy.Decide(in)
				require.Equal(t, want, d.Effect, "%s: %v", source, d.ReasonCodes)
				if want == policy.Allow {
					require.Equal(t, []string{reason.StandingApproval}, d.ReasonCodes)
				}
			}
		})
	}
}

// A request for a standing approval asks exactly its source, whatever else was approved.
func TestDecideAsksForAStandingApproval(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		asked  policy.StandingSource
		change func(*policy.Input)
		effect policy.Effect
	}{
		"the subject":               {policy.StandingByPasskey, func(*policy.Input) {}, policy.Challenge},
		"the subject has confirmed": {policy.StandingByPasskey, func(in *policy.Input) { in.ChallengeCompleted = policy.Passkey }, policy.Allow},
		"a reviewer for it":         {policy.StandingByPasskey, func(in *policy.Input) { in.HoldApproved = true }, policy.Challenge},
		"reviewers":                 {policy.StandingByReview, func(*policy.Input) {}, policy.Hold},
		"reviewers have approved":   {policy.StandingByReview, func(in *policy.Input) { in.HoldApproved = true }, policy.Allow},
		"the subject for them":      {policy.StandingByReview, func(in *policy.Input) { in.ChallengeCompleted = policy.Passkey }, policy.Hold},
		"what denies": {policy.StandingByPasskey, func(in *policy.Input) {
			in.ChallengeCompleted, in.Requirements.DenyOn = policy.Passkey, []string{"seen_profile"}
		}, policy.Deny},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := good()
			in.StandingAsked = c.asked
			c.change(&in)
			require.Equal(t, c.effect, policy.Decide(in).Effect)
		})
	}
}

func TestStandingForms(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]policy.StandingResource{
		`"same"`: {}, `"any"`: {Any: true}, `{"prefix":"invoice-"}`: {Prefix: "invoice-"},
	} {
		var got policy.StandingResource
		require.NoError(t, json.Unmarshal([]byte(text), &got))
		require.Equal(t, want, got)
		written, err := json.Marshal(got)
		require.NoError(t, err)
		require.JSONEq(t, text, string(written))
	}
	r := policy.Requirements{}.Resolve(policy.Sandbox)
	without, err := json.Marshal(r)
	require.NoError(t, err)
	require.NotContains(t, string(without), "standing", "a policy without it keeps its hash")
	r.Standing = &policy.Standing{By: []policy.StandingSource{policy.StandingByPasskey}, MaxUses: 2, MaxDurationSeconds: 60}
	with, err := json.Marshal(r)
	require.NoError(t, err)
	require.Contains(t, string(with), `"standing":{"by":["passkey"],"max_uses":2,"max_duration_seconds":60}`)
}

func TestValidateStanding(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]policy.Standing{
		"no source":       {},
		"a source twice":  {By: []policy.StandingSource{policy.StandingByReview, policy.StandingByReview}},
		"an amount of 0":  {By: []policy.StandingSource{policy.StandingByReview}, MaxAmount: &policy.StandingAmount{Field: "amount", Limit: "0.00"}},
		"a control":       {By: []policy.StandingSource{policy.StandingByReview}, Resource: policy.StandingResource{Prefix: "a\u202e"}},
		"no plain number": {By: []policy.StandingSource{policy.StandingByReview}, MaxAmount: &policy.StandingAmount{Field: "amount", Limit: "1e9"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Len(t, policy.Validate(policy.Requirements{Standing: &s}, policy.Sandbox), 1)
		})
	}
}

func TestStandingWithoutEffectIsAWarning(t *testing.T) {
	t.Parallel()
	standing := &policy.Standing{By: []policy.StandingSource{policy.StandingByPasskey, policy.StandingByReview}}
	for name, c := range map[string]struct {
		r    policy.Requirements
		want [][]string
	}{
		"nothing":  {policy.Requirements{}, [][]string{{"standing", "by", "0"}, {"standing", "by", "1"}}},
		"explicit": {policy.Requirements{ExplicitApprovalRequired: true, ApprovalCompensates: []string{}}, [][]string{{"standing", "by", "1"}}},
		"a rule":   {policy.Requirements{Rules: []policy.Rule{{Requirements: policy.Stricter{HoldOn: []string{reason.RuleMatched}}}}}, [][]string{{"standing", "by", "0"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.r.CoverageMin, c.r.Standing = policy.CoverageNone, standing
			var got [][]string
			for _, w := range policy.Warnings(c.r.Resolve(policy.Sandbox)) {
				if w.Code == policy.WarnStanding {
					got = append(got, w.Loc)
				}
			}
			require.Equal(t, c.want, got)
		})
	}
}
