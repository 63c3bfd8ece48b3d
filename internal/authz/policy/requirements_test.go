package policy_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/platform/reason"
)

func TestFreshnessBoundary(t *testing.T) {
	t.Parallel()
	for _, limit := range []int64{1000, 60_000, 3_600_000} {
		in := good()
		in.Requirements.FreshnessMaxMS = limit
		for age, want := range map[int64]policy.Effect{
			-5: policy.Allow, 0: policy.Allow, limit - 1: policy.Allow, limit: policy.Allow,
			limit + 1: policy.Challenge, 1 << 62: policy.Challenge,
		} {
			setAge(&in, ms(age))
			require.Equal(t, want, policy.Decide(in).Effect, "age %d ms, limit %d ms", age, limit)
		}
		setAge(&in, nil)
		require.Equal(t, []string{reason.FreshnessExceeded, reason.OperatorContinuityTooOld}, policy.Decide(in).ReasonCodes)
	}
}

func TestCoverageBoundary(t *testing.T) {
	t.Parallel()
	for _, minimum := range coverages {
		for _, found := range coverages {
			in := good()
			in.Requirements.CoverageMin, in.Assurance.Coverage = minimum, found
			want := policy.Allow
			if found.Rank() < minimum.Rank() {
				want = policy.Challenge
			}
			require.Equal(t, want, policy.Decide(in).Effect, "minimum %s, found %s", minimum, found)
		}
	}
}

func TestClaimOrder(t *testing.T) {
	t.Parallel()
	for _, name := range policy.ClaimNames() {
		order := policy.MinimumStatuses(name)
		for i, minimum := range order {
			for _, found := range statuses {
				in := good()
				in.Requirements.Claims = map[string]policy.Status{name: minimum}
				in.Assurance.Claims = []policy.Claim{{Name: name, Status: found, FreshnessMS: ms(0)}}
				met := false
				for _, s := range order[:i+1] {
					met = met || s == found
				}
				require.Equal(t, met, policy.Decide(in).Effect == policy.Allow, "%s: minimum %s, found %s", name, minimum, found)
			}
		}
	}
}

func TestResolveDefaults(t *testing.T) {
	t.Parallel()
	want := func(methods []policy.Method) policy.Requirements {
		return policy.Requirements{
			Claims: map[string]policy.Status{}, CoverageMin: "partial", FreshnessMaxMS: 60_000,
			InsufficientEvidence: "challenge", MaxChallenges: 2, ChallengeMethods: methods,
			ChallengeCompensates: []string{"operator_continuity", "human_presence", "coverage", "freshness"},
			DenyOn:               []string{}, HoldOn: []string{},
		}
	}
	sandbox := want([]policy.Method{policy.Passkey, policy.SandboxConfirm})
	require.Equal(t, sandbox, policy.Requirements{}.Resolve(policy.Sandbox))
	require.Equal(t, want([]policy.Method{policy.Passkey}), policy.Requirements{}.Resolve(policy.Live))
	require.Equal(t, sandbox, sandbox.Resolve(policy.Live), "resolving again changes nothing")
}

func TestRequirementsJSON(t *testing.T) {
	t.Parallel()
	t.Run("a list given empty stays empty, one omitted is defaulted", func(t *testing.T) {
		t.Parallel()
		var r policy.Requirements
		require.NoError(t, json.Unmarshal([]byte(`{"challenge_methods":[],"coverage_min":"none"}`), &r))
		r = r.Resolve(policy.Live)
		require.Empty(t, r.ChallengeMethods)
		require.Len(t, r.ChallengeCompensates, 4)
	})
	t.Run("what is resolved is written in full and read back the same", func(t *testing.T) {
		t.Parallel()
		r := policy.Requirements{ChallengeMethods: []policy.Method{}}.Resolve(policy.Live)
		raw, err := json.Marshal(r)
		require.NoError(t, err)
		require.JSONEq(t, `{"claims":{},"coverage_min":"partial","freshness_max_ms":60000,"insufficient_evidence":"challenge",
			"max_challenges":2,"explicit_approval_required":false,"challenge_methods":[],
			"challenge_compensates":["operator_continuity","human_presence","coverage","freshness"],"deny_on":[],"hold_on":[]}`, string(raw))
		var back policy.Requirements
		require.NoError(t, json.Unmarshal(raw, &back))
		require.Equal(t, r, back)
	})
}

func TestContentHash(t *testing.T) {
	t.Parallel()
	base := func() policy.Contract {
		return policy.Contract{
			Requirements: policy.Requirements{}.Resolve(policy.Live), AllowedAudiences: []string{"bank"}, ProofTTLSeconds: 300,
		}
	}
	hash, err := base().ContentHash()
	require.NoError(t, err)
	require.Regexp(t, `^sha256:[0-9a-f]{64}$`, hash)

	same := base()
	same.ContextSchema, same.AllowedCallers = map[string]any{}, []string{}
	again, err := same.ContentHash()
	require.NoError(t, err)
	require.Equal(t, hash, again)

	// A hash once given stays: a field that was added later counts only where a policy has it.
	require.Equal(t, "sha256:1b8d3781bd293fdf951963b297189e106ca260f22247ae22f7e2fb5b3f3f61da", hash)

	seen := map[string]bool{hash: true}
	for name, change := range map[string]func(*policy.Contract){
		"requirements": func(c *policy.Contract) { c.Requirements.FreshnessMaxMS++ },
		"schema":       func(c *policy.Contract) { c.ContextSchema = map[string]any{"type": "object"} },
		"audiences":    func(c *policy.Contract) { c.AllowedAudiences = append(c.AllowedAudiences, "shop") },
		"callers":      func(c *policy.Contract) { c.AllowedCallers = []string{"crd_1"} },
		"ttl":          func(c *policy.Contract) { c.ProofTTLSeconds = 301 },
		"approvals":    func(c *policy.Contract) { c.Requirements.ApprovalsRequired = 1 },
		"compensates":  func(c *policy.Contract) { c.Requirements.ApprovalCompensates = []string{} },
		"self review":  func(c *policy.Contract) { c.Requirements.SelfReview = policy.SelfReviewAllowed },
	} {
		c := base()
		change(&c)
		h, err := c.ContentHash()
		require.NoError(t, err)
		require.False(t, seen[h], name)
		seen[h] = true
	}

	bad := base()
	bad.ContextSchema = map[string]any{"maximum": 1e300}
	_, err = bad.ContentHash()
	require.Error(t, err)
}

func TestReviewRules(t *testing.T) {
	t.Parallel()
	plain := policy.Requirements{}.Resolve(policy.Live)
	require.Equal(t, 1, plain.Approvals())
	require.False(t, plain.BarsSelfReview())
	require.Equal(t, 3, policy.Requirements{ApprovalsRequired: 3}.Approvals())
	require.False(t, policy.Requirements{SelfReview: policy.SelfReviewAllowed}.BarsSelfReview())
	require.True(t, policy.Requirements{SelfReview: policy.SelfReviewBarred}.BarsSelfReview())
	require.True(t, policy.Requirements{SelfReview: "unheard_of"}.BarsSelfReview(), "what is not known bars")
}

func TestValidate(t *testing.T) {
	t.Parallel()
	require.Empty(t, policy.Validate(policy.Requirements{}, policy.Live))
	require.Empty(t, policy.Validate(policy.Requirements{}.Resolve(policy.Sandbox), policy.Sandbox))

	r := policy.Requirements{
		Claims: map[string]policy.Status{
			"operator_continuity": "likely", "automation": "confirmed", "agent_mandate": "confirmed",
			"made_up": "confirmed", "human_presence": "insufficient_evidence",
		},
		ChallengeMethods: []policy.Method{policy.Passkey, policy.SandboxConfirm},
		DenyOn:           []string{reason.SubjectRevoked, "nope", "Subject_Revoked"},
		HoldOn:           []string{"match:timing", ""},
	}
	type brief struct {
		loc []any
		typ string
	}
	var got []brief
	for _, v := range policy.Validate(r, policy.Live) {
		require.NotEmpty(t, v.Msg)
		got = append(got, brief{v.Loc, v.Type})
	}
	require.Equal(t, []brief{
		{[]any{"claims", "agent_mandate"}, "unsupported_claim"},
		{[]any{"claims", "automation"}, "status_not_reachable"},
		{[]any{"claims", "human_presence"}, "status_not_reachable"},
		{[]any{"claims", "made_up"}, "unknown_claim"},
		{[]any{"challenge_methods", 1}, "method_not_available"},
		{[]any{"deny_on", 1}, "unknown_reason_code"},
		{[]any{"deny_on", 2}, "unknown_reason_code"},
		{[]any{"hold_on", 1}, "unknown_reason_code"},
	}, got)
	require.Len(t, policy.Validate(r, policy.Sandbox), 7, "sandbox_confirm is fine in a sandbox")
}

// TestEveryCodeIsCatalogued runs the engine over a grid and asks the catalogue for each code it emits.
func TestEveryCodeIsCatalogued(t *testing.T) {
	t.Parallel()
	for _, name := range policy.ClaimNames() {
		for _, status := range statuses {
			in := policy.Input{Requirements: policy.Requirements{
				Claims: map[string]policy.Status{name: policy.Confirmed}, ExplicitApprovalRequired: true,
			}}
			in.Assurance.Claims = []policy.Claim{{Name: name, Status: status}}
			for _, code := range policy.Decide(in).ReasonCodes {
				require.True(t, reason.Known(code), code)
			}
		}
	}
}

// A person can vouch for being themselves, not for a program, a replay, a change of operator or a mandate; not even where a
// policy that came past the contract says so.
func TestChallengeCompensatesClaimsAboutTheUserOnly(t *testing.T) {
	t.Parallel()
	for _, name := range policy.ClaimNames() {
		least, found := policy.Confirmed, policy.NotConfirmed
		if order := policy.MinimumStatuses(name); len(order) > 0 {
			least, found = order[0], order[len(order)-1]
		}
		in := good()
		in.Requirements.Claims = map[string]policy.Status{name: least}
		in.Requirements.ChallengeCompensates = []string{name}
		in.Assurance.Claims = []policy.Claim{{Name: name, Status: found, FreshnessMS: ms(0)}}
		in.ChallengeCompleted = policy.Passkey
		vouched := name == policy.OperatorContinuity || name == policy.HumanPresence
		require.Equal(t, vouched, policy.Decide(in).Effect == policy.Allow, name)
	}
}

func TestDuplicateClaimCountsByTheWorse(t *testing.T) {
	t.Parallel()
	for _, statuses := range [][]policy.Status{{policy.Confirmed, policy.NotConfirmed}, {policy.NotConfirmed, policy.Confirmed}} {
		in := good()
		in.Assurance.Claims = nil
		for _, s := range statuses {
			in.Assurance.Claims = append(in.Assurance.Claims, policy.Claim{Name: policy.OperatorContinuity, Status: s, FreshnessMS: ms(0)})
		}
		require.NotEqual(t, policy.Allow, policy.Decide(in).Effect, "%v", statuses)
	}
}

func TestHumanReadableNamesTheMatchedCode(t *testing.T) {
	t.Parallel()
	in := good()
	in.Requirements.DenyOn = []string{"seen_profile"}
	d := policy.Decide(in)
	require.Equal(t, "Denied", d.HumanReadable.Status)
	require.True(t, strings.HasSuffix(d.HumanReadable.Detail, "It is seen_profile."), d.HumanReadable.Detail)

	in = good()
	in.Assurance.Coverage = policy.CoverageSparse
	in.Requirements.InsufficientEvidence = policy.Deny
	require.NotContains(t, policy.Decide(in).HumanReadable.Detail, "It is", "no other requirement has a code that it matched")
}

func BenchmarkDecide(b *testing.B) {
	in := good()
	in.Requirements = in.Requirements.Resolve(policy.Live)
	b.ReportAllocs()
	for b.Loop() {
		policy.Decide(in)
	}
}
