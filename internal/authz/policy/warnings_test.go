package policy_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/platform/reason"
)

func TestWarnings(t *testing.T) {
	t.Parallel()
	both := []string{policy.WarnReplay, policy.WarnAutomation}
	for name, c := range map[string]struct {
		r    policy.Requirements
		want []string
	}{
		"the defaults":                       {policy.Requirements{}, both},
		"a claim about the user":             {policy.Requirements{CoverageMin: policy.CoverageNone, Claims: map[string]policy.Status{policy.OperatorContinuity: policy.Likely}}, both},
		"no evidence":                        {policy.Requirements{CoverageMin: policy.CoverageNone, ExplicitApprovalRequired: true}, []string{policy.WarnApproval}},
		"a rule asks for the user":           {policy.Requirements{CoverageMin: policy.CoverageNone, Rules: []policy.Rule{{Requirements: policy.Stricter{ExplicitApprovalRequired: true}}}}, []string{policy.WarnApproval}},
		"the reviewer is enough":             {policy.Requirements{CoverageMin: policy.CoverageNone, ExplicitApprovalRequired: true, ApprovalCompensates: []string{"explicit_approval"}}, nil},
		"both are required":                  {policy.Requirements{CoverageMin: policy.CoverageNone, ExplicitApprovalRequired: true, ApprovalCompensates: []string{}}, nil},
		"a replay denies":                    {policy.Requirements{DenyOn: []string{"replay_exact"}}, both[1:]},
		"a replay holds":                     {policy.Requirements{HoldOn: []string{"rule_matched", "replay_other_session"}}, both[1:]},
		"automation holds":                   {policy.Requirements{HoldOn: []string{"automation_range"}}, both[:1]},
		"both":                               {policy.Requirements{DenyOn: []string{"replay_near_duplicate"}, HoldOn: []string{"automation_typing_pattern"}}, nil},
		"the vetoes":                         {policy.Requirements{DenyOn: []string{"vetoed_by_replay", "vetoed_by_automation"}}, nil},
		"the claims":                         {policy.Requirements{Claims: map[string]policy.Status{policy.Automation: policy.NotDetected, policy.EvidenceReplay: policy.NotDetected}}, nil},
		"a minimum that everything meets":    {policy.Requirements{Claims: map[string]policy.Status{policy.EvidenceReplay: policy.Detected}}, both},
		"the code of a claim not required":   {policy.Requirements{HoldOn: []string{reason.EvidenceReplayNotMet, reason.AutomationNotMet}}, both},
		"a suspicion is not a detection":     {policy.Requirements{HoldOn: []string{"automation_suspected", "no_replay_seen"}}, both},
		"a rule applies to few requests":     {policy.Requirements{Rules: []policy.Rule{{Requirements: policy.Stricter{DenyOn: []string{"replay_exact", "automation_range"}}}}}, both},
		"a minimum of one claim, and a code": {policy.Requirements{Claims: map[string]policy.Status{policy.Automation: policy.NotDetected}, DenyOn: []string{"replay_exact"}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, w := range policy.Warnings(c.r.Resolve(policy.Live)) {
				got = append(got, w.Code)
				loc := "deny_on"
				if w.Code == policy.WarnApproval {
					loc = "approval_compensates"
				}
				require.Equal(t, []string{loc}, w.Loc)
			}
			require.Equal(t, c.want, got)
		})
	}
	require.Equal(t, "A detected replay neither denies nor holds: name replay_exact, replay_near_duplicate or replay_other_session in deny_on or hold_on, or require not_detected of the claim evidence_replay.",
		policy.Warnings(policy.Requirements{}.Resolve(policy.Live))[0].Message)
}

// A policy without a warning denies or holds what the warnings are about, and one with a warning does not.
func TestWarningsAreTrue(t *testing.T) {
	t.Parallel()
	for claim, codes := range map[string][]string{
		policy.EvidenceReplay: {"replay_exact", "replay_near_duplicate", "replay_other_session"},
		policy.Automation:     {"automation_typing_pattern", "automation_pointer_pattern", "automation_range"},
	} {
		for _, code := range codes {
			require.True(t, reason.Known(code), code)
			decide := func(r policy.Requirements) policy.Effect {
				return policy.Decide(policy.Input{Requirements: r, Environment: policy.Live, Assurance: policy.Assurance{
					Coverage: policy.CoverageSufficient, FreshnessMS: ms(1000),
					Claims: []policy.Claim{{Name: claim, Status: policy.Detected, Coverage: policy.CoverageSufficient, FreshnessMS: ms(1000), ReasonCodes: []string{code}}},
				}}).Effect
			}
			require.Equal(t, policy.Allow, decide(policy.Requirements{}), code)
			require.Equal(t, policy.Deny, decide(policy.Requirements{DenyOn: []string{code}}), code)
			require.Equal(t, policy.Hold, decide(policy.Requirements{HoldOn: []string{code}}), code)
			require.Equal(t, policy.Hold, decide(policy.Requirements{Claims: map[string]policy.Status{claim: policy.NotDetected}}), code)
		}
	}
}
