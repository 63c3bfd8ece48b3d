package policy_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/platform/reason"
)

func TestDecideApprovedHold(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		change func(*policy.Input)
		effect policy.Effect
		codes  []string
	}{
		{"hold_on", func(in *policy.Input) { in.Requirements.HoldOn = []string{"seen_profile"} }, policy.Allow, []string{reason.HoldApproved}},
		{"a claim below its minimum", func(in *policy.Input) { setClaim(in, policy.OperatorContinuity, policy.NotConfirmed) }, policy.Allow, []string{reason.HoldApproved}},
		{"explicit approval", func(in *policy.Input) { in.Requirements.ExplicitApprovalRequired = true }, policy.Allow, []string{reason.HoldApproved}},
		{"challenges used up", func(in *policy.Input) {
			setClaim(in, policy.OperatorContinuity, policy.NotConfirmed)
			in.ChallengesUsed = 5
		}, policy.Allow, []string{reason.HoldApproved}},
		{"the subject was revoked meanwhile", func(in *policy.Input) { in.SubjectRevoked = true }, policy.Deny, []string{reason.SubjectRevoked}},
		{"the action was archived meanwhile", func(in *policy.Input) { in.ActionArchived = true }, policy.Deny, []string{reason.ActionArchived}},
		{"deny_on matches meanwhile", func(in *policy.Input) { in.Requirements.DenyOn = []string{"seen_profile"} }, policy.Deny, []string{reason.DenyOnMatched, "seen_profile"}},
		{"insufficient evidence that denies", func(in *policy.Input) {
			in.Requirements.InsufficientEvidence = policy.Deny
			in.Assurance.InsufficientEvidence = true
		}, policy.Deny, []string{reason.InsufficientEvidence}},
		{"stale evidence, even if it denies: the wait made it stale", func(in *policy.Input) {
			in.Requirements.InsufficientEvidence = policy.Deny
			setAge(in, ms(24*3600*1000))
		}, policy.Allow, []string{reason.HoldApproved}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			in := good()
			in.HoldApproved = true
			tt.change(&in)
			d := policy.Decide(in)
			require.Equal(t, tt.effect, d.Effect)
			require.Equal(t, tt.codes, d.ReasonCodes)
		})
	}
}

// A requirement that approval_compensates leaves out needs the challenge as well as the reviewer, in either order.
func TestDecideApprovedHoldRequiresTheChallengeToo(t *testing.T) {
	t.Parallel()
	held := func(in *policy.Input) {
		in.Requirements.ExplicitApprovalRequired, in.Requirements.HoldOn = true, []string{"seen_profile"}
		in.Requirements.ApprovalCompensates = []string{policy.OperatorContinuity, policy.HumanPresence, policy.CompensatesCoverage, policy.CompensatesFreshness}
	}
	for name, c := range map[string]struct {
		change func(*policy.Input)
		effect policy.Effect
		codes  []string
	}{
		"neither":           {func(*policy.Input) {}, policy.Hold, []string{reason.HoldOnMatched, "seen_profile", reason.ExplicitApprovalRequired}},
		"only the reviewer": {func(in *policy.Input) { in.HoldApproved = true }, policy.Challenge, []string{reason.ExplicitApprovalRequired}},
		"only the passkey": {func(in *policy.Input) { in.ChallengeCompleted = policy.Passkey }, policy.Hold,
			[]string{reason.HoldOnMatched, "seen_profile", reason.ChallengeSatisfied}},
		"both": {func(in *policy.Input) { in.HoldApproved, in.ChallengeCompleted = true, policy.Passkey }, policy.Allow,
			[]string{reason.ChallengeSatisfied, reason.HoldApproved}},
		"the reviewer, and no passkey to use": {func(in *policy.Input) { in.HoldApproved, in.UsableMethods = true, nil }, policy.Deny,
			[]string{reason.ExplicitApprovalRequired, reason.NoChallengeMethod}},
		"the reviewer, and challenges used up": {func(in *policy.Input) { in.HoldApproved, in.ChallengesUsed = true, 2 }, policy.Deny,
			[]string{reason.ExplicitApprovalRequired, reason.MaxChallengesReached}},
		"a claim that only a challenge may satisfy": {func(in *policy.Input) {
			in.HoldApproved, in.Requirements.ExplicitApprovalRequired = true, false
			in.Requirements.InsufficientEvidence, in.Requirements.ApprovalCompensates = policy.Hold, []string{}
			setClaim(in, policy.OperatorContinuity, policy.StatusInsufficient)
		}, policy.Challenge, []string{reason.InsufficientEvidence, reason.OperatorContinuityNotMet}},
		"a claim that nothing may satisfy": {func(in *policy.Input) {
			in.HoldApproved, in.Requirements.ExplicitApprovalRequired = true, false
			in.Requirements.ApprovalCompensates, in.Requirements.ChallengeCompensates = []string{}, []string{}
			setClaim(in, policy.OperatorContinuity, policy.NotConfirmed)
		}, policy.Deny, []string{reason.OperatorContinuityNotMet}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := good()
			held(&in)
			c.change(&in)
			d := policy.Decide(in)
			require.Equal(t, c.effect, d.Effect)
			require.Equal(t, c.codes, d.ReasonCodes)
		})
	}
}
