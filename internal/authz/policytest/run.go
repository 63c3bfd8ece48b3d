package policytest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/internal/authz/lists"
	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/authz/rules"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/platform/yamlfile"
)

// request is the input of a case in the form that the service decides on.
type request struct {
	vars    rules.Vars
	context map[string]any
}

// Defaults of a case.
var defaultNow = time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC) // a Monday

const (
	defaultAge      = 30 * 24 * time.Hour
	defaultPasskeys = 1
	defaultID       = "test"
)

// prepare checks a case and fills in its defaults.
func (c *Case) prepare(f *File) error {
	if c.Name == "" {
		return yamlfile.At(c.Line, "a case needs a name")
	}
	if !slices.Contains([]policy.Effect{policy.Allow, policy.Challenge, policy.Hold, policy.Deny}, c.Expect.Decision) {
		return yamlfile.At(c.Line, "the case %q needs expect.decision: allow, challenge, hold or deny", c.Name)
	}
	raw := json.RawMessage("{}")
	if !c.Context.IsZero() {
		var err error
		if raw, err = toJSON(&c.Context); err != nil {
			return err
		}
	}
	if err := json.Unmarshal(raw, &c.in.context); err != nil {
		return yamlfile.At(c.Context.Line, "context must be an object")
	}
	if c.Now.IsZero() {
		c.Now.Time = defaultNow
	}
	v := rules.Vars{
		Context: raw, Resource: rules.Resource{Type: c.Resource.Type, ID: or(c.Resource.ID, defaultID)}, Action: f.action,
		Audience: or(c.Audience, defaultID), Environment: f.kind, Now: c.Now.Time,
		Subject: rules.Subject{
			ID: or(c.Subject.ID, defaultID), Enrollment: or(c.Subject.Enrollment, "enrolled"), CreatedAt: c.Now.Add(-given(c.Subject.Age, defaultAge)),
			Passkeys: given(c.Subject.Passkeys, defaultPasskeys), RecentlyRecovered: c.Subject.RecentlyRecovered,
		},
	}
	var err error
	if v.Assurance, err = c.assurance(); err != nil {
		return err
	}
	c.in.vars = v
	if err := c.before(f); err != nil {
		return err
	}
	return c.counts()
}

// assurance returns the recorded profile. Unlike a minimum of a policy, a status is not checked: the service, too, decides on any.
func (c *Case) assurance() (policy.Assurance, error) {
	in := c.Assurance
	out := policy.Assurance{
		Coverage: policy.Coverage(or(string(in.Coverage), string(policy.CoverageNone))), FreshnessMS: in.FreshnessMS, ReasonCodes: in.ReasonCodes,
	}
	if out.Coverage.Rank() < 0 {
		return out, yamlfile.At(c.Line, "the coverage %q of the case %q is not known; use none, sparse, partial or sufficient", out.Coverage, c.Name)
	}
	out.InsufficientEvidence = given(in.InsufficientEvidence, len(in.Claims) == 0)
	for _, name := range slices.Sorted(maps.Keys(in.Claims)) {
		if !slices.Contains(policy.ClaimNames(), name) {
			return out, yamlfile.At(c.Line, "the case %q has the unknown claim %q; use %s", c.Name, name, strings.Join(policy.ClaimNames(), ", "))
		}
		claim := in.Claims[name]
		age := claim.FreshnessMS
		if age == nil {
			age = in.FreshnessMS
		}
		out.Claims = append(out.Claims, policy.Claim{
			Name: name, Status: claim.Status, Coverage: policy.Coverage(or(string(claim.Coverage), string(out.Coverage))), FreshnessMS: age,
			ReasonCodes: claim.ReasonCodes,
		})
	}
	return out, nil
}

// counts sets the counts that the case states instead of earlier decisions. A number that no rule reads is refused: it would have no
// effect.
func (c *Case) counts() error {
	for _, n := range c.Counts {
		key := rules.Count{Action: n.Action, Outcome: n.Outcome, Window: n.Window}
		if _, read := c.in.vars.Counts[key]; !read {
			return yamlfile.At(c.Line, "no rule reads subject.decisions(%q, %q, %q), which the case %q sets", n.Action, n.Outcome, n.Window, c.Name)
		}
		c.in.vars.Counts[key] = n.Count
	}
	for _, n := range c.Signals {
		key := rules.Signals(n.Type, n.Window)
		if _, read := c.in.vars.Counts[key]; !read {
			return yamlfile.At(c.Line, "no rule reads subject.signals(%q, %q), which the case %q sets", n.Type, n.Window, c.Name)
		}
		c.in.vars.Counts[key] = n.Count
	}
	return nil
}

func or(s, fallback string) string {
	if s == "" {
		return fallback
	}
	return s
}

// given returns the fallback for a value that the file leaves out: zero is a value.
func given[T any](v *T, fallback T) T {
	if v == nil {
		return fallback
	}
	return *v
}

// Result is the decision of one case with everything that its explanation needs.
type Result struct {
	Case        Case
	Decision    policy.Decision
	Rules       []string                       // that apply
	Steps       []string                       // who approves a held request
	BreakGlass  []string                       // who approves it alone; at most one
	Standing    []string                       // by whose standing approvals it would be allowed
	Totals      map[string][]policy.ShownValue // that they read, by the name of the requirement
	Refused     []problem.Field                // violations of the context_schema; if there are any, the service decides nothing
	Differences []string                       // from the expectation; none if it is met
}

// Run decides every case, in the order of the file. The context ends an evaluation of rules early, and the rule then applies.
func (f *File) Run(ctx context.Context) []Result {
	out := make([]Result, len(f.Cases))
	for i, c := range f.Cases {
		out[i] = f.decide(ctx, c)
	}
	return out
}

// decide makes the decision of one case in the order of the service: the context is checked first, then the rules are matched.
func (f *File) decide(ctx context.Context, c Case) Result {
	r := Result{Case: c, Refused: f.draft.ContextFaults(c.in.context)}
	if len(r.Refused) > 0 {
		r.Differences = []string{fmt.Sprintf("decision: want %s, but the request is refused: its context does not match context_schema", c.Expect.Decision)}
		return r
	}
	in := policy.Input{
		Requirements: f.draft.Requirements, Environment: f.kind, Mode: policy.Mode(f.action.Mode), Assurance: c.in.vars.Assurance,
		SubjectRevoked: c.Subject.Revoked, SubjectSuspected: c.Subject.Suspected, UsableMethods: policy.Usable(c.in.vars.Subject.Passkeys, f.kind),
		ChallengesUsed: c.ChallengesUsed, ChallengeCompleted: c.ChallengeCompleted, HoldApproved: c.HoldApproved,
	}
	r.Totals = map[string][]policy.ShownValue{}
	c.in.vars.Listed, in.Lists = lists.Memory(f.lists, f.set.ListedFor(ctx, c.in.vars))
	for _, m := range f.set.Match(ctx, c.in.vars) {
		in.Rules = append(in.Rules, policy.MatchedRule{Rule: m.Rule, Found: m.Found, Totals: m.Totals, Failed: m.Failed})
		r.Rules, r.Totals[policy.RulePrefix+m.Rule.Name] = append(r.Rules, m.Rule.Name), m.Totals
	}
	r.Decision = policy.Decide(in)
	for _, s := range in.Effective().Review {
		r.Steps = append(r.Steps, s.String())
	}
	if glass := in.Effective().BreakGlass; glass != nil && r.Decision.Effect == policy.Hold {
		r.BreakGlass = []string{glass.String()}
	}
	for _, source := range policy.StandingSources(in, r.Decision) {
		r.Standing = append(r.Standing, string(source))
	}
	r.compare()
	return r
}

// compare collects the differences from the expectation, all of them: a wrong decision and its reason codes are one mistake, and
// its author wants to see both.
func (r *Result) compare() {
	want := r.Case.Expect
	if r.Decision.Effect != want.Decision {
		r.Differences = append(r.Differences, fmt.Sprintf("decision: want %s, got %s", want.Decision, r.Decision.Effect))
	}
	for _, l := range []struct {
		name      string
		want, got []string
	}{{"reason_codes", want.ReasonCodes, r.Decision.ReasonCodes}, {"rules", want.Rules, r.Rules}, {"steps", want.Steps, r.Steps}, {"break_glass", want.BreakGlass, r.BreakGlass}, {"standing", want.Standing, r.Standing}} {
		if l.want != nil && !slices.Equal(l.want, l.got) && len(l.want)+len(l.got) > 0 {
			r.Differences = append(r.Differences, fmt.Sprintf("%s: want [%s], got [%s]", l.name, strings.Join(l.want, ", "), strings.Join(l.got, ", ")))
		}
	}
}
