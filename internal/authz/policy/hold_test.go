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
