package policy_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/platform/reason"
)

// freshness_max_ms is held against each claim with a minimum, whatever else came in meanwhile; the explanation and the codes
// name the claims that were too old.
func TestFreshnessComparesRequiredClaims(t *testing.T) {
	t.Parallel()
	const limit = 60_000
	both := map[string]policy.Status{policy.OperatorContinuity: policy.Likely, policy.HumanPresence: policy.Likely}
	for name, c := range map[string]struct {
		claims             map[string]policy.Status
		profile            *int64
		continuity, person *int64
		effect             policy.Effect
		found              string
		codes              []string
	}{
		"all are fresh, the oldest is named": {
			both, ms(10), ms(2000), ms(1000), policy.Allow, "operator_continuity: 2000 ms", []string{reason.RequirementsMet},
		},
		"scrolling does not make typing fresh": {
			both, ms(0), ms(limit + 1), ms(limit), policy.Challenge, "operator_continuity: 60001 ms",
			[]string{reason.FreshnessExceeded, reason.OperatorContinuityTooOld},
		},
		"one has no evidence yet": {
			both, ms(0), ms(0), nil, policy.Challenge, "human_presence: no evidence",
			[]string{reason.FreshnessExceeded, reason.HumanPresenceTooOld},
		},
		"two are too old": {
			both, ms(0), nil, ms(limit + 5), policy.Challenge, "human_presence: 60005 ms, operator_continuity: no evidence",
			[]string{reason.FreshnessExceeded, reason.HumanPresenceTooOld, reason.OperatorContinuityTooOld},
		},
		"a claim that is not asked for may be as old as it likes": {
			map[string]policy.Status{policy.HumanPresence: policy.Likely}, ms(0), nil, ms(1), policy.Allow, "human_presence: 1 ms",
			[]string{reason.RequirementsMet},
		},
		"the profile's age counts if no claim is required": {
			nil, ms(limit), nil, nil, policy.Allow, "60000 ms", []string{reason.RequirementsMet},
		},
		"and fails by itself there": {
			nil, ms(limit + 1), ms(0), ms(0), policy.Challenge, "60001 ms", []string{reason.FreshnessExceeded},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := good()
			in.Requirements = policy.Requirements{Claims: c.claims, FreshnessMaxMS: limit}
			in.Assurance.FreshnessMS = c.profile
			in.Assurance.Claims[0].FreshnessMS, in.Assurance.Claims[1].FreshnessMS = c.continuity, c.person
			d := policy.Decide(in)
			require.Equal(t, c.effect, d.Effect)
			require.Equal(t, c.codes, d.ReasonCodes)
			for _, r := range d.Explanation {
				if r.Requirement == "freshness" {
					require.Equal(t, policy.RequirementResult{
						Requirement: "freshness", Wanted: "at most 60000 ms", Found: c.found, Passed: c.effect == policy.Allow, Effect: c.effect,
					}, r)
				}
			}
		})
	}
}

// A policy can hold or deny by the claim that is too old.
func TestListsMatchStaleClaimCodes(t *testing.T) {
	t.Parallel()
	in := good()
	in.Requirements.DenyOn = []string{reason.OperatorContinuityTooOld}
	require.Equal(t, policy.Allow, policy.Decide(in).Effect)
	in.Assurance.Claims[0].FreshnessMS = nil
	require.Equal(t, policy.Deny, policy.Decide(in).Effect)
}
