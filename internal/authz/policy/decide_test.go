package policy_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/platform/reason"
)

func ms(v int64) *int64 { return &v }

// good is a decision with nothing wrong: full evidence of the enrolled person, a passkey, default requirements with a
// minimum on operator continuity.
func good() policy.Input {
	return policy.Input{
		Requirements: policy.Requirements{Claims: map[string]policy.Status{policy.OperatorContinuity: policy.Likely}},
		Environment:  policy.Live,
		Mode:         policy.ModeEnforce,
		Assurance: policy.Assurance{
			Claims: []policy.Claim{
				{Name: policy.OperatorContinuity, Status: policy.Confirmed, FreshnessMS: ms(1000), ReasonCodes: []string{"seen_operator"}},
				{Name: policy.HumanPresence, Status: policy.Confirmed, FreshnessMS: ms(1000)},
				{Name: policy.Automation, Status: policy.NotDetected, FreshnessMS: ms(1000)},
				{Name: policy.EvidenceReplay, Status: policy.NotDetected, FreshnessMS: ms(1000)},
			},
			Coverage:    policy.CoverageSufficient,
			FreshnessMS: ms(1000),
			ReasonCodes: []string{"seen_profile"},
		},
		UsableMethods: []policy.Method{policy.Passkey},
	}
}

func setClaim(in *policy.Input, name string, status policy.Status) {
	claims := make([]policy.Claim, 0, len(in.Assurance.Claims))
	for _, c := range in.Assurance.Claims {
		if c.Name == name {
			c.Status = status
		}
		claims = append(claims, c)
	}
	in.Assurance.Claims = claims
}

// setAge makes the evidence of every claim, and of the whole, so old; nil is none.
func setAge(in *policy.Input, age *int64) {
	in.Assurance.FreshnessMS = age
	claims := slices.Clone(in.Assurance.Claims)
	for i := range claims {
		claims[i].FreshnessMS = age
	}
	in.Assurance.Claims = claims
}

func TestDecidePrecedence(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		change func(*policy.Input)
		effect policy.Effect
		codes  []string
	}{
		{"everything met", func(*policy.Input) {}, policy.Allow, []string{reason.RequirementsMet}},
		{
			"a revoked subject is denied whatever else holds",
			func(in *policy.Input) { in.SubjectRevoked = true; in.HoldApproved = true },
			policy.Deny, []string{reason.SubjectRevoked},
		},
		{
			"an archived action is denied",
			func(in *policy.Input) { in.ActionArchived = true },
			policy.Deny, []string{reason.ActionArchived},
		},
		{
			"deny_on matches a profile code",
			func(in *policy.Input) { in.Requirements.DenyOn = []string{"seen_profile"} },
			policy.Deny, []string{reason.DenyOnMatched, "seen_profile"},
		},
		{
			"deny_on matches a claim code",
			func(in *policy.Input) { in.Requirements.DenyOn = []string{"absent", "seen_operator"} },
			policy.Deny, []string{reason.DenyOnMatched, "seen_operator"},
		},
		{
			"deny_on matches a decision code and beats the challenge it stands for",
			func(in *policy.Input) {
				in.Requirements.DenyOn = []string{reason.OperatorContinuityNotMet}
				setClaim(in, policy.OperatorContinuity, policy.Uncertain)
			},
			policy.Deny, []string{reason.DenyOnMatched, reason.OperatorContinuityNotMet},
		},
		{
			"hold_on beats challenge",
			func(in *policy.Input) {
				in.Requirements.HoldOn = []string{"seen_profile"}
				setClaim(in, policy.OperatorContinuity, policy.NotConfirmed)
			},
			policy.Hold, []string{reason.HoldOnMatched, "seen_profile", reason.OperatorContinuityNotMet},
		},
		{
			"deny_on beats hold_on",
			func(in *policy.Input) {
				in.Requirements.HoldOn = []string{"seen_profile"}
				in.Requirements.DenyOn = []string{"seen_operator"}
			},
			policy.Deny, []string{reason.DenyOnMatched, "seen_operator", reason.HoldOnMatched, "seen_profile"},
		},
		{
			"deny_on can name hold_on_matched",
			func(in *policy.Input) {
				in.Requirements.HoldOn = []string{"seen_profile"}
				in.Requirements.DenyOn = []string{reason.HoldOnMatched}
			},
			policy.Deny, []string{reason.DenyOnMatched, reason.HoldOnMatched, "seen_profile"},
		},
		{
			"codes of requirements met match nothing",
			func(in *policy.Input) { in.Requirements.DenyOn = []string{reason.RequirementsMet, reason.HoldApproved} },
			policy.Allow, []string{reason.RequirementsMet},
		},
		{
			"insufficient evidence challenges by default",
			func(in *policy.Input) { in.Assurance.InsufficientEvidence = true },
			policy.Challenge, []string{reason.InsufficientEvidence},
		},
		{
			"insufficient evidence holds where the policy says so",
			func(in *policy.Input) {
				in.Assurance.InsufficientEvidence = true
				in.Requirements.InsufficientEvidence = policy.Hold
			},
			policy.Hold, []string{reason.InsufficientEvidence},
		},
		{
			"insufficient evidence denies where the policy says so",
			func(in *policy.Input) {
				in.Assurance.InsufficientEvidence = true
				in.Requirements.InsufficientEvidence = policy.Deny
			},
			policy.Deny, []string{reason.InsufficientEvidence},
		},
		{
			"coverage below the minimum has the effect of insufficient evidence",
			func(in *policy.Input) {
				in.Assurance.Coverage = policy.CoverageSparse
				in.Requirements.InsufficientEvidence = policy.Hold
			},
			policy.Hold, []string{reason.CoverageBelowMinimum},
		},
		{
			"no evidence at all",
			func(in *policy.Input) {
				in.Assurance = policy.Assurance{Coverage: policy.CoverageNone, InsufficientEvidence: true}
			},
			policy.Challenge, []string{
				reason.InsufficientEvidence, reason.CoverageBelowMinimum, reason.FreshnessExceeded,
				reason.OperatorContinuityTooOld, reason.OperatorContinuityNotMet,
			},
		},
		{
			"a claim with insufficient evidence has the effect of insufficient evidence",
			func(in *policy.Input) {
				in.Requirements.InsufficientEvidence = policy.Deny
				setClaim(in, policy.OperatorContinuity, policy.StatusInsufficient)
			},
			policy.Deny, []string{reason.InsufficientEvidence, reason.OperatorContinuityNotMet},
		},
		{
			"automation detected holds: no challenge makes it good",
			func(in *policy.Input) {
				in.Requirements.Claims[policy.Automation] = policy.NotDetected
				setClaim(in, policy.Automation, policy.Detected)
				in.ChallengeCompleted = policy.Passkey
			},
			policy.Hold, []string{reason.AutomationNotMet},
		},
		{
			"an unsupported claim holds",
			func(in *policy.Input) { in.Requirements.Claims[policy.AgentMandate] = policy.Confirmed },
			policy.Hold, []string{reason.ClaimNotMet},
		},
		{
			"coverage none and no claim minimum rely on no evidence",
			func(in *policy.Input) {
				in.Requirements = policy.Requirements{CoverageMin: policy.CoverageNone, InsufficientEvidence: policy.Deny}
				in.Assurance = policy.Assurance{Coverage: policy.CoverageNone, InsufficientEvidence: true}
			},
			policy.Allow, []string{reason.RequirementsMet},
		},
		{
			"coverage none with a claim minimum relies on evidence",
			func(in *policy.Input) {
				in.Requirements.CoverageMin = policy.CoverageNone
				setAge(in, ms(policy.DefaultFreshnessMaxMS+1))
			},
			policy.Challenge, []string{reason.FreshnessExceeded, reason.OperatorContinuityTooOld},
		},
		{
			"explicit approval always challenges",
			func(in *policy.Input) { in.Requirements.ExplicitApprovalRequired = true },
			policy.Challenge, []string{reason.ExplicitApprovalRequired},
		},
		{
			"explicit approval holds if no method is usable",
			func(in *policy.Input) {
				in.Requirements.ExplicitApprovalRequired = true
				in.UsableMethods = nil
			},
			policy.Hold, []string{reason.ExplicitApprovalRequired, reason.NoChallengeMethod},
		},
		{
			"explicit approval is given by a completed challenge, whatever compensates",
			func(in *policy.Input) {
				in.Requirements.ExplicitApprovalRequired = true
				in.Requirements.ChallengeCompensates = []string{}
				in.ChallengeCompleted = policy.Passkey
			},
			policy.Allow, []string{reason.ChallengeSatisfied},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			in := good()
			tt.change(&in)
			d := policy.Decide(in)
			require.Equal(t, tt.effect, d.Effect)
			require.Equal(t, tt.codes, d.ReasonCodes)
			require.NotEmpty(t, d.HumanReadable.Status)
			require.NotEmpty(t, d.HumanReadable.Detail)
		})
	}
}

func TestDecideChallengeAvailability(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name        string
		environment policy.EnvironmentKind
		methods     []policy.Method
		usable      []policy.Method
		used        int
		effect      policy.Effect
		offered     []policy.Method
	}{
		{"passkey in live", policy.Live, nil, []policy.Method{policy.Passkey}, 0, policy.Challenge, []policy.Method{policy.Passkey}},
		{"sandbox_confirm never in live", policy.Live, []policy.Method{policy.SandboxConfirm}, []policy.Method{policy.SandboxConfirm}, 0, policy.Hold, nil},
		{"sandbox default offers both", policy.Sandbox, nil, []policy.Method{policy.SandboxConfirm, policy.Passkey}, 0, policy.Challenge, []policy.Method{policy.Passkey, policy.SandboxConfirm}},
		{"only what is usable", policy.Sandbox, nil, []policy.Method{policy.SandboxConfirm}, 0, policy.Challenge, []policy.Method{policy.SandboxConfirm}},
		{"only what the policy permits", policy.Sandbox, []policy.Method{policy.Passkey}, []policy.Method{policy.SandboxConfirm}, 0, policy.Hold, nil},
		{"empty list of methods", policy.Sandbox, []policy.Method{}, []policy.Method{policy.SandboxConfirm, policy.Passkey}, 0, policy.Hold, nil},
		{"last challenge of the default two", policy.Live, nil, []policy.Method{policy.Passkey}, 1, policy.Challenge, []policy.Method{policy.Passkey}},
		{"challenges used up", policy.Live, nil, []policy.Method{policy.Passkey}, 2, policy.Hold, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			in := good()
			in.Environment, in.UsableMethods, in.ChallengesUsed = tt.environment, tt.usable, tt.used
			in.Requirements.ChallengeMethods = tt.methods
			setClaim(&in, policy.OperatorContinuity, policy.NotConfirmed)
			d := policy.Decide(in)
			require.Equal(t, tt.effect, d.Effect)
			require.Equal(t, tt.offered, d.Methods)
		})
	}
}

func TestDecideAsksForNoMethodWhereNoChallengeIsDue(t *testing.T) {
	t.Parallel()
	in := good()
	in.UsableMethods, in.ChallengesUsed = nil, 5
	require.Equal(t, policy.Allow, policy.Decide(in).Effect)
}

func TestDecideCompensation(t *testing.T) {
	t.Parallel()
	broken := func() policy.Input {
		in := good()
		in.Requirements.Claims[policy.HumanPresence] = policy.Confirmed
		in.Assurance.InsufficientEvidence = true
		in.Assurance.Coverage = policy.CoverageNone
		setAge(&in, ms(policy.DefaultFreshnessMaxMS+1))
		setClaim(&in, policy.OperatorContinuity, policy.NotConfirmed)
		setClaim(&in, policy.HumanPresence, policy.Uncertain)
		in.ChallengeCompleted = policy.Passkey
		return in
	}
	all := []string{policy.OperatorContinuity, policy.HumanPresence, policy.CompensatesCoverage, policy.CompensatesFreshness}
	left := map[string][]string{ // what still fails when this name alone is not compensated
		policy.OperatorContinuity:   {"claims.operator_continuity"},
		policy.HumanPresence:        {"claims.human_presence"},
		policy.CompensatesCoverage:  {"insufficient_evidence", "coverage"},
		policy.CompensatesFreshness: {"freshness"},
	}
	require.Equal(t, policy.Allow, policy.Decide(broken()).Effect, "the default compensates all four")
	for i, name := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := broken()
			in.Requirements.ChallengeCompensates = append(append([]string{}, all[:i]...), all[i+1:]...)
			d := policy.Decide(in)
			require.Equal(t, policy.Challenge, d.Effect)
			require.Equal(t, left[name], failed(d))
		})
	}
	t.Run("by a method the policy does not permit", func(t *testing.T) {
		t.Parallel()
		in := broken()
		in.ChallengeCompleted = policy.SandboxConfirm
		require.Equal(t, policy.Challenge, policy.Decide(in).Effect)
	})
	t.Run("a deny effect is compensated too", func(t *testing.T) {
		t.Parallel()
		in := broken()
		in.Requirements.InsufficientEvidence = policy.Deny
		require.Equal(t, policy.Allow, policy.Decide(in).Effect)
	})
	t.Run("a compensated requirement shows no code to hold_on", func(t *testing.T) {
		t.Parallel()
		in := broken()
		in.Requirements.HoldOn = []string{reason.FreshnessExceeded}
		require.Equal(t, policy.Allow, policy.Decide(in).Effect)
	})
	t.Run("hold_on can ask for a second pair of eyes after a challenge", func(t *testing.T) {
		t.Parallel()
		in := broken()
		in.Requirements.HoldOn = []string{reason.ChallengeSatisfied}
		require.Equal(t, policy.Hold, policy.Decide(in).Effect)
	})
}

func failed(d policy.Decision) []string {
	var names []string
	for _, r := range d.Explanation {
		if !r.Passed {
			names = append(names, r.Requirement)
		}
	}
	return names
}

func TestDecideModeChangesWordsOnly(t *testing.T) {
	t.Parallel()
	in := good()
	setClaim(&in, policy.OperatorContinuity, policy.NotConfirmed)
	enforce := policy.Decide(in)
	for _, mode := range []policy.Mode{policy.ModeTest, policy.ModeShadow} {
		in.Mode = mode
		d := policy.Decide(in)
		require.NotEqual(t, enforce.HumanReadable.Detail, d.HumanReadable.Detail)
		d.HumanReadable = enforce.HumanReadable
		require.Equal(t, enforce, d)
	}
}

func TestDecideExplanation(t *testing.T) {
	t.Parallel()
	in := good()
	in.Requirements.DenyOn = []string{"absent"}
	setClaim(&in, policy.OperatorContinuity, policy.Uncertain)
	require.Equal(t, []policy.RequirementResult{
		{Requirement: "subject", Wanted: "active", Found: "active", Passed: true, Effect: policy.Allow},
		{Requirement: "action", Wanted: "active", Found: "active", Passed: true, Effect: policy.Allow},
		{Requirement: "deny_on", Wanted: "none of absent", Found: "none", Passed: true, Effect: policy.Allow},
		{Requirement: "hold_on", Wanted: "no code listed", Found: "none", Passed: true, Effect: policy.Allow},
		{Requirement: "insufficient_evidence", Wanted: "sufficient", Found: "sufficient", Passed: true, Effect: policy.Allow},
		{Requirement: "coverage", Wanted: "at least partial", Found: "sufficient", Passed: true, Effect: policy.Allow},
		{Requirement: "freshness", Wanted: "at most 60000 ms", Found: "operator_continuity: 1000 ms", Passed: true, Effect: policy.Allow},
		{Requirement: "claims.operator_continuity", Wanted: "at least likely", Found: "uncertain", Effect: policy.Challenge},
		{Requirement: "challenge_method", Wanted: "one of passkey", Found: "passkey", Passed: true, Effect: policy.Allow},
		{Requirement: "max_challenges", Wanted: "fewer than 2", Found: "0", Passed: true, Effect: policy.Allow},
	}, policy.Decide(in).Explanation)
}

// A challenge that made the claim good, coverage alone, and evidence that is too old or shows a program or a replay are no
// behaviour of the person.
func TestDecideByEvidence(t *testing.T) {
	t.Parallel()
	asks := func(claim string, minimum policy.Status) policy.Requirements {
		return policy.Requirements{CoverageMin: policy.CoverageNone, Claims: map[string]policy.Status{claim: minimum}}
	}
	for name, c := range map[string]struct {
		change func(*policy.Input)
		want   bool
	}{
		"nothing is asked": {func(in *policy.Input) { in.Requirements = policy.Requirements{CoverageMin: policy.CoverageNone} }, false},
		"coverage alone":   {func(in *policy.Input) { in.Requirements = policy.Requirements{} }, false},
		"continuity is met": {func(in *policy.Input) {
			in.Requirements = asks(policy.OperatorContinuity, policy.Likely)
		}, true},
		"presence is met": {func(in *policy.Input) { in.Requirements = asks(policy.HumanPresence, policy.Likely) }, true},
		"no replay was asked for, and none was found": {func(in *policy.Input) {
			in.Requirements = asks(policy.EvidenceReplay, policy.NotDetected)
		}, false},
		"the minimum excludes no one": {func(in *policy.Input) {
			in.Requirements = asks(policy.OperatorContinuity, policy.NotConfirmed)
			setClaim(in, policy.OperatorContinuity, policy.NotConfirmed)
		}, false},
		"a challenge made the claim good": {func(in *policy.Input) {
			setClaim(in, policy.OperatorContinuity, policy.NotConfirmed)
			in.ChallengeCompleted = policy.Passkey
		}, false},
		"a challenge made its age good": {func(in *policy.Input) {
			setAge(in, ms(policy.DefaultFreshnessMaxMS+1))
			in.ChallengeCompleted = policy.Passkey
		}, false},
		"a challenge made one claim good, evidence the other": {func(in *policy.Input) {
			in.Requirements.Claims = map[string]policy.Status{policy.OperatorContinuity: policy.Likely, policy.HumanPresence: policy.Likely}
			setClaim(in, policy.OperatorContinuity, policy.NotConfirmed)
			in.ChallengeCompleted = policy.Passkey
		}, true},
		"a reviewer made the claim good": {func(in *policy.Input) {
			setClaim(in, policy.OperatorContinuity, policy.NotConfirmed)
			in.HoldApproved = true
		}, false},
		"a program typed, and no claim on it was asked for": {func(in *policy.Input) {
			setClaim(in, policy.Automation, policy.Detected)
		}, false},
		"a replay, and no claim on it was asked for": {func(in *policy.Input) {
			setClaim(in, policy.EvidenceReplay, policy.Detected)
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := good()
			c.change(&in)
			d := policy.Decide(in)
			require.Equal(t, policy.Allow, d.Effect)
			require.Equal(t, c.want, d.ByEvidence)
		})
	}
}

// A detected replay and detected automation are among the reason codes of the decision, whatever the policy requires.
func TestDecideNamesDetectedForgery(t *testing.T) {
	t.Parallel()
	for name, code := range map[string]string{policy.Automation: "automation_range", policy.EvidenceReplay: "replay_exact"} {
		in := good()
		for i, c := range in.Assurance.Claims {
			if c.Name == name {
				in.Assurance.Claims[i].Status, in.Assurance.Claims[i].ReasonCodes = policy.Detected, []string{code}
			}
		}
		d := policy.Decide(in)
		require.Equal(t, policy.Allow, d.Effect)
		require.Equal(t, []string{reason.RequirementsMet, code}, d.ReasonCodes)
		in.Requirements.DenyOn = []string{code}
		d = policy.Decide(in)
		require.Equal(t, policy.Deny, d.Effect)
		require.Contains(t, d.ReasonCodes, code)
	}
}
