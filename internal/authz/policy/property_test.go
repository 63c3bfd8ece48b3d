package policy_test

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/platform/reason"
)

var (
	coverages    = []policy.Coverage{policy.CoverageNone, policy.CoverageSparse, policy.CoveragePartial, policy.CoverageSufficient}
	effects      = []policy.Effect{policy.Challenge, policy.Hold, policy.Deny}
	compensables = []string{policy.OperatorContinuity, policy.HumanPresence, policy.CompensatesCoverage, policy.CompensatesFreshness}
	statuses     = []policy.Status{
		policy.Confirmed, policy.Likely, policy.Uncertain, policy.NotConfirmed, policy.Detected, policy.NotDetected,
		policy.NotPresent, policy.StatusInsufficient, policy.StatusUnsupported,
	}
	// codes that lists and profiles draw from: codes of the profile, codes the engine emits, codes that never match
	codes = []string{
		"profile_a", "profile_b", "claim_a", reason.InsufficientEvidence, reason.CoverageBelowMinimum, reason.FreshnessExceeded,
		reason.OperatorContinuityNotMet, reason.AutomationNotMet, reason.ExplicitApprovalRequired,
		reason.NoChallengeMethod, reason.MaxChallengesReached, reason.ChallengeSatisfied, reason.HoldOnMatched,
		reason.HoldApproved, reason.RequirementsMet, reason.DenyOnMatched, reason.SubjectRevoked,
	}
)

func genRequirements(t *rapid.T) policy.Requirements {
	claims := map[string]policy.Status{}
	for _, name := range policy.ClaimNames() {
		if order := policy.MinimumStatuses(name); len(order) > 0 && rapid.Bool().Draw(t, "ask "+name) {
			claims[name] = rapid.SampledFrom(order).Draw(t, "minimum "+name)
		}
	}
	return policy.Requirements{
		Claims:                   claims,
		CoverageMin:              rapid.SampledFrom(append(slices.Clone(coverages), "")).Draw(t, "coverage_min"),
		FreshnessMaxMS:           rapid.Int64Range(1000, 3_600_000).Draw(t, "freshness_max_ms"),
		InsufficientEvidence:     rapid.SampledFrom(effects).Draw(t, "insufficient_evidence"),
		MaxChallenges:            rapid.IntRange(1, 5).Draw(t, "max_challenges"),
		ExplicitApprovalRequired: rapid.Bool().Draw(t, "explicit_approval_required"),
		ChallengeMethods:         genMethods(t, "challenge_methods"),
		ChallengeCompensates:     subset(t, compensables, "challenge_compensates"),
		DenyOn:                   subset(t, codes, "deny_on"),
		HoldOn:                   subset(t, codes, "hold_on"),
		ApprovalCompensates:      genApprovalCompensates(t),
	}
}

// approvable are all names of approval_compensates.
var approvable = append(slices.Clone(compensables), policy.CompensatesApproval)

// genApprovalCompensates draws nil, which is all, or a list.
func genApprovalCompensates(t *rapid.T) []string {
	if rapid.Bool().Draw(t, "approval_compensates omitted") {
		return nil
	}
	return append([]string{}, subset(t, approvable, "approval_compensates")...)
}

func genInput(t *rapid.T) policy.Input {
	in := policy.Input{
		Requirements:       genRequirements(t),
		Environment:        rapid.SampledFrom([]policy.EnvironmentKind{policy.Sandbox, policy.Live}).Draw(t, "environment"),
		Mode:               rapid.SampledFrom([]policy.Mode{policy.ModeTest, policy.ModeShadow, policy.ModeEnforce}).Draw(t, "mode"),
		SubjectRevoked:     rapid.IntRange(0, 9).Draw(t, "revoked") == 0,
		ActionArchived:     rapid.IntRange(0, 9).Draw(t, "archived") == 0,
		UsableMethods:      genMethods(t, "usable"),
		ChallengesUsed:     rapid.IntRange(0, 6).Draw(t, "used"),
		ChallengeCompleted: rapid.SampledFrom([]policy.Method{"", policy.Passkey, policy.SandboxConfirm}).Draw(t, "completed"),
		HoldApproved:       rapid.Bool().Draw(t, "approved"),
		Assurance: policy.Assurance{
			Coverage:             rapid.SampledFrom(coverages).Draw(t, "coverage"),
			InsufficientEvidence: rapid.Bool().Draw(t, "insufficient"),
			ReasonCodes:          subset(t, codes[:2], "profile codes"),
		},
	}
	if rapid.Bool().Draw(t, "has evidence") {
		in.Assurance.FreshnessMS = ms(rapid.Int64Range(0, 4_000_000).Draw(t, "freshness"))
	}
	for _, name := range policy.ClaimNames() {
		if rapid.Bool().Draw(t, "claims "+name) {
			c := policy.Claim{
				Name: name, Status: rapid.SampledFrom(statuses).Draw(t, "status "+name), ReasonCodes: subset(t, codes[2:3], "claim codes"),
			}
			if rapid.IntRange(0, 3).Draw(t, "has evidence of "+name) > 0 {
				c.FreshnessMS = ms(rapid.Int64Range(0, 4_000_000).Draw(t, "freshness of "+name))
			}
			in.Assurance.Claims = append(in.Assurance.Claims, c)
		}
	}
	return in
}

func genMethods(t *rapid.T, label string) []policy.Method {
	return subset(t, []policy.Method{policy.Passkey, policy.SandboxConfirm}, label)
}

func subset[T any](t *rapid.T, from []T, label string) []T {
	var out []T
	// Each element is in with a chance of a quarter: with more, nearly everything would be denied.
	first, second := rapid.Uint32().Draw(t, label), rapid.Uint32().Draw(t, label+" too")
	mask := first & second
	for i, v := range from {
		if mask&(1<<i) != 0 {
			out = append(out, v)
		}
	}
	return out
}

// notLooser fails the test when the decision on b is looser than the decision on a.
func notLooser(t *rapid.T, a, b policy.Input) {
	before, after := policy.Decide(a), policy.Decide(b)
	if after.Effect.Severity() < before.Effect.Severity() {
		t.Fatalf("%s became %s\nbefore %+v\nafter  %+v", before.Effect, after.Effect, before.Explanation, after.Explanation)
	}
}

func TestPropertyTotal(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := genInput(t)
		d := policy.Decide(in)
		checkInvariants(t, in, d)
		require.Equal(t, d, policy.Decide(in), "deciding again gives the same answer")
		in.Requirements = in.Requirements.Resolve(in.Environment)
		require.Equal(t, d, policy.Decide(in), "resolving first changes nothing")
	})
}

// checkInvariants holds for every decision on any input whatever.
func checkInvariants(t require.TestingT, in policy.Input, d policy.Decision) {
	require.Contains(t, []policy.Effect{policy.Allow, policy.Challenge, policy.Hold, policy.Deny}, d.Effect)
	require.NotEmpty(t, d.ReasonCodes)
	require.Len(t, slices.Compact(slices.Sorted(slices.Values(d.ReasonCodes))), len(d.ReasonCodes), "codes repeat")
	require.Equal(t, d.Effect == policy.Challenge, len(d.Methods) > 0, "methods are offered with a challenge, and only then")
	worst := policy.Allow
	for _, r := range d.Explanation {
		require.Equal(t, r.Passed, r.Effect == policy.Allow)
		if r.Effect.Severity() > worst.Severity() {
			worst = r.Effect
		}
	}
	require.Equal(t, worst, d.Effect, "the strictest effect is the decision")
	if in.HoldApproved {
		require.NotEqual(t, policy.Hold, d.Effect, "no hold follows an approved one")
		if in.Requirements.ApprovalCompensates == nil && len(in.Rules) == 0 {
			require.NotEqual(t, policy.Challenge, d.Effect)
		}
	}
	if in.SubjectRevoked || in.ActionArchived {
		require.Equal(t, policy.Deny, d.Effect)
	}
}

func TestPropertyAnotherDenyReasonNeverLoosens(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a := genInput(t)
		b := a
		b.Requirements.DenyOn = append(slices.Clone(a.Requirements.DenyOn), rapid.SampledFrom(codes).Draw(t, "more"))
		notLooser(t, a, b)
	})
}

func TestPropertyAnotherHoldReasonNeverLoosens(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a := genInput(t)
		code := rapid.SampledFrom(codes[:3]).Draw(t, "more")
		b := a
		b.Requirements.HoldOn = append(slices.Clone(a.Requirements.HoldOn), code)
		notLooser(t, a, b)
		b.Assurance.ReasonCodes = append(slices.Clone(a.Assurance.ReasonCodes), code)
		notLooser(t, a, b)
		b.HoldApproved = false
		require.GreaterOrEqual(t, policy.Decide(b).Effect.Severity(), policy.Hold.Severity())
	})
}

func TestPropertyLessCoverageNeverLoosens(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a := genInput(t)
		b := a
		b.Assurance.Coverage = coverages[rapid.IntRange(0, a.Assurance.Coverage.Rank()).Draw(t, "less")]
		b.Assurance.InsufficientEvidence = a.Assurance.InsufficientEvidence || rapid.Bool().Draw(t, "now insufficient")
		notLooser(t, a, b)
	})
}

func TestPropertyStalerNeverLoosens(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a := genInput(t)
		b := a
		staler := func(was *int64) *int64 {
			if was == nil || rapid.Bool().Draw(t, "gone") {
				return nil
			}
			return ms(*was + rapid.Int64Range(0, 4_000_000).Draw(t, "older"))
		}
		b.Assurance.FreshnessMS = staler(a.Assurance.FreshnessMS)
		b.Assurance.Claims = slices.Clone(a.Assurance.Claims)
		for i, c := range a.Assurance.Claims {
			b.Assurance.Claims[i].FreshnessMS = staler(c.FreshnessMS)
		}
		notLooser(t, a, b)
	})
}

func TestPropertyWeakerStatusNeverLoosens(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a := genInput(t)
		name := rapid.SampledFrom([]string{policy.OperatorContinuity, policy.HumanPresence}).Draw(t, "claim")
		order := append(policy.MinimumStatuses(name), policy.StatusInsufficient)
		from := rapid.IntRange(0, len(order)-1).Draw(t, "from")
		to := rapid.IntRange(from, len(order)-1).Draw(t, "to")
		b := a
		a.Assurance.Claims = []policy.Claim{{Name: name, Status: order[from], FreshnessMS: a.Assurance.FreshnessMS}}
		b.Assurance.Claims = []policy.Claim{{Name: name, Status: order[to], FreshnessMS: a.Assurance.FreshnessMS}}
		notLooser(t, a, b)
	})
}

func TestPropertyCompensationAffectsOnlyWhatItNames(t *testing.T) {
	t.Parallel()
	affects := map[string][]string{
		policy.OperatorContinuity:   {"claims.operator_continuity"},
		policy.HumanPresence:        {"claims.human_presence"},
		policy.CompensatesCoverage:  {"coverage", "insufficient_evidence"},
		policy.CompensatesFreshness: {"freshness"},
	}
	// Results that follow from the others, not from the evidence.
	derived := []string{"deny_on", "hold_on", "challenge_method", "max_challenges"}
	rapid.Check(t, func(t *rapid.T) {
		a := genInput(t)
		name := rapid.SampledFrom(compensables).Draw(t, "name")
		without := func(c string) bool { return c == name }
		b := a
		a.Requirements.ChallengeCompensates = slices.DeleteFunc(append([]string{}, a.Requirements.ChallengeCompensates...), without)
		b.Requirements.ChallengeCompensates = append(slices.Clone(a.Requirements.ChallengeCompensates), name)
		before, after := policy.Decide(a), policy.Decide(b)
		if a.ChallengeCompleted == "" && !a.HoldApproved {
			require.Equal(t, before, after, "without a completed challenge nothing is compensated")
		}
		for _, r := range before.Explanation {
			if !slices.Contains(affects[name], r.Requirement) && !slices.Contains(derived, r.Requirement) {
				require.Contains(t, after.Explanation, r)
			}
		}
	})
}

// approval_compensates on its whole lattice: a shorter list never leads to a looser decision, it matters only after an approved
// hold, and what denies is never compensated.
func TestPropertyApprovalCompensatesOnlyWhatItLists(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := genInput(t)
		full := 1<<len(approvable) - 1
		decided := make([]policy.Decision, full+1)
		for listed := range decided {
			in.Requirements.ApprovalCompensates = []string{}
			for i, name := range approvable {
				if listed&(1<<i) != 0 {
					in.Requirements.ApprovalCompensates = append(in.Requirements.ApprovalCompensates, name)
				}
			}
			decided[listed] = policy.Decide(in)
			checkInvariants(t, in, decided[listed])
		}
		for listed, d := range decided {
			for i, name := range approvable {
				more := decided[listed|1<<i]
				require.GreaterOrEqual(t, d.Effect.Severity(), more.Effect.Severity(), "%s was added to %05b", name, listed)
			}
			if !in.HoldApproved {
				require.Equal(t, decided[full].Effect, d.Effect)
				require.Equal(t, decided[full].ReasonCodes, d.ReasonCodes)
			}
		}
		in.Requirements.ApprovalCompensates = nil
		require.Equal(t, decided[full], policy.Decide(in), "an omitted list is the full one")

		in.HoldApproved = false
		for _, r := range policy.Decide(in).Explanation {
			if r.Effect == policy.Deny && r.Requirement != "freshness" && r.Requirement != "deny_on" {
				for _, d := range decided {
					require.Contains(t, d.Explanation, r)
				}
			}
		}
	})
}

func TestPropertyInputIsNotModified(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := genInput(t)
		in.Assurance.ReasonCodes = append(make([]string, 0, 16), in.Assurance.ReasonCodes...)
		policy.Decide(in)
		for _, code := range in.Assurance.ReasonCodes[len(in.Assurance.ReasonCodes):cap(in.Assurance.ReasonCodes)] {
			require.Empty(t, code, "Decide wrote into the spare room of the caller's slice")
		}
	})
}

func FuzzDecide(f *testing.F) {
	f.Add("partial", "challenge", "operator_continuity", "likely", "uncertain", "sufficient", int64(60_000), int64(60_001), 2, 1, "passkey", "live", uint8(0), "freshness_exceeded")
	f.Add("", "", "", "", "", "", int64(0), int64(math.MinInt64), 0, math.MinInt, "", "", uint8(255), "")
	f.Fuzz(func(t *testing.T, covMin, effect, claim, minimum, status, cov string, maxAge, age int64, max, used int, method, kind string, flags uint8, code string) {
		in := policy.Input{
			Requirements: policy.Requirements{
				Claims:                   map[string]policy.Status{claim: policy.Status(minimum)},
				CoverageMin:              policy.Coverage(covMin),
				FreshnessMaxMS:           maxAge,
				InsufficientEvidence:     policy.Effect(effect),
				MaxChallenges:            max,
				ExplicitApprovalRequired: flags&1 != 0,
				ChallengeMethods:         []policy.Method{policy.Method(method), policy.Passkey},
				DenyOn:                   []string{code},
				HoldOn:                   []string{reason.CoverageBelowMinimum, code},
			},
			Environment: policy.EnvironmentKind(kind),
			Assurance: policy.Assurance{
				Claims:               []policy.Claim{{Name: claim, Status: policy.Status(status)}, {Name: claim, Status: policy.Confirmed}},
				Coverage:             policy.Coverage(cov),
				FreshnessMS:          &age,
				InsufficientEvidence: flags&2 != 0,
			},
			SubjectRevoked:     flags&4 != 0,
			ActionArchived:     flags&8 != 0,
			UsableMethods:      []policy.Method{policy.Method(method)},
			ChallengesUsed:     used,
			ChallengeCompleted: policy.Method(method),
			HoldApproved:       flags&16 != 0,
		}
		checkInvariants(t, in, policy.Decide(in))
	})
}
