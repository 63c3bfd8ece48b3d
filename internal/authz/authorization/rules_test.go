package authorization_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/action"
	"github.com/countersign-dev/countersign/internal/authz/authorization"
	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/authz/settle"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/platform/reason"
	"github.com/countersign-dev/countersign/internal/testing/fixture"
	"github.com/countersign-dev/countersign/models"
)

// transfer is a context_schema that shows the amount and not the note.
const transfer = `{"type": "object", "required": ["amount"], "properties": {
	"amount": {"type": "number", "x-countersign-display": {"label": "Amount", "format": "money", "currency": "EUR"}},
	"note": {"type": "string", "maxLength": 100}}}`

// withRules is a bundle whose policy allows without evidence and has these rules.
func withRules(t *testing.T, list ...policy.Rule) *bundle {
	t.Helper()
	b := setup(t, allowing)
	b.activateRules(t, list...)
	return b
}

func (b *bundle) activateRules(t *testing.T, list ...policy.Rule) {
	t.Helper()
	requirements := allowing
	requirements.Rules = list
	b.activate(t, action.CreateVersion{Requirements: requirements, ContextSchema: json.RawMessage(transfer)})
}

// pay authorizes with a context.
func (b *bundle) pay(t *testing.T, context string) authorization.Response {
	t.Helper()
	r := b.request()
	r.Context = json.RawMessage(context)
	got, err := b.authorize(t, r)
	require.NoError(t, err)
	return got
}

// explained returns the entry of a rule in the stored explanation.
func (b *bundle) explained(t *testing.T, id, rule string) (policy.RequirementResult, bool) {
	t.Helper()
	trace, err := b.Get(t.Context(), b.Scope, id)
	require.NoError(t, err)
	var results []policy.RequirementResult
	require.NoError(t, json.Unmarshal(trace.Explanation, &results))
	for _, r := range results {
		if r.Requirement == "rules."+rule {
			return r, true
		}
	}
	return policy.RequirementResult{}, false
}

func holdRule(name, when string) policy.Rule {
	return policy.Rule{Name: name, When: when, Requirements: policy.Stricter{HoldOn: []string{reason.RuleMatched}, ApprovalsRequired: 2}, Reason: "Because of " + name}
}

func TestRuleHoldsAboveAnAmount(t *testing.T) {
	t.Parallel()
	b := withRules(t, holdRule("large", `context.amount > 10000`), holdRule("noted", `has(context.note) && context.note.contains("secret")`))
	below := b.pay(t, `{"amount": 10000}`)
	require.Equal(t, policy.Allow, below.Decision)
	require.Equal(t, []string{reason.RequirementsMet}, below.ReasonCodes)
	_, listed := b.explained(t, below.ID, "large")
	require.False(t, listed, "a rule that does not match is not listed")

	above := b.pay(t, `{"amount": 10000.01, "note": "a secret"}`)
	require.Equal(t, policy.Hold, above.Decision)
	require.Equal(t, []string{reason.HoldOnMatched, reason.RuleMatched}, above.ReasonCodes)
	large, _ := b.explained(t, above.ID, "large")
	require.Equal(t, policy.RequirementResult{
		Requirement: "rules.large", Wanted: "Because of large", Found: "matched: context.amount", Passed: true, Effect: policy.Allow,
		Shown: []policy.ShownValue{{Label: "Amount", Value: "10,000.01 EUR"}},
	}, large)
	noted, _ := b.explained(t, above.ID, "noted")
	require.Equal(t, "matched: context.note", noted.Found, "a value that is not shown is named, not quoted")
	require.Empty(t, noted.Shown)
	stored, err := authorization.TraceDecision(t.Context(), b.Store.Q, b.Scope, above.ID)
	require.NoError(t, err)
	for _, value := range []string{"10,000.01", "secret"} {
		require.NotContains(t, string(stored.Authorization.Explanation), value, "values of the request are stored sealed or not at all")
	}
	require.Equal(t, 1, b.Count("select count(*) from holds where authorization_id = $1 and approvals_required = 2", above.ID))
}

// A version without rules decides as before, and its requirements have no trace of the field.
func TestPolicyWithoutRulesHasTheHashOfBefore(t *testing.T) {
	t.Parallel()
	b := setup(t, allowing)
	with, err := b.actions.CreateVersion(t.Context(), b.principal, b.Action.ID, action.CreateVersion{Requirements: policy.Requirements{CoverageMin: "none", Rules: []policy.Rule{}}})
	require.NoError(t, err)
	without, err := b.actions.CreateVersion(t.Context(), b.principal, b.Action.ID, action.CreateVersion{Requirements: allowing})
	require.NoError(t, err)
	require.Equal(t, without.ContentHash, with.ContentHash)
	require.NotContains(t, string(with.Requirements), "rules")
}

func TestRuleCountsDecisions(t *testing.T) {
	t.Parallel()
	b := withRules(t, holdRule("often", `subject.decisions("payments.transfer", "allow", "24h") >= 2`), holdRule("ever", `subject.decisions("payments.transfer", "any", "7d") >= 5`))
	require.Equal(t, policy.Allow, b.pay(t, `{"amount": 1}`).Decision)
	require.Equal(t, policy.Allow, b.pay(t, `{"amount": 1}`).Decision)
	third := b.pay(t, `{"amount": 1}`)
	require.Equal(t, policy.Hold, third.Decision)
	often, _ := b.explained(t, third.ID, "often")
	require.Equal(t, `matched: subject.decisions("payments.transfer", "allow", "24h") = 2`, often.Found)

	b.clock.Advance(25 * time.Hour)
	require.Equal(t, policy.Allow, b.pay(t, `{"amount": 1}`).Decision, "the window has passed")
	require.Equal(t, policy.Allow, b.pay(t, `{"amount": 1}`).Decision)
	require.Equal(t, policy.Hold, b.pay(t, `{"amount": 1}`).Decision, "five of any outcome in a week, and two in a day")
}

// Counts are those of the subject in its environment and about the action.
func TestRuleCountsNothingOfOthers(t *testing.T) {
	t.Parallel()
	b := withRules(t, holdRule("once", `subject.decisions("payments.transfer", "allow", "24h") >= 1`))
	other := fixture.New(t, b.Store, b.clock.Now())
	a := other.Authorization("allow")
	other.Write(authorization.Decision{Authorization: a})

	for name, change := range map[string]func(*models.Authorization){
		"another environment": func(a *models.Authorization) { a.EnvironmentID = other.Scope.Environment },
		"another action":      func(a *models.Authorization) { a.ActionKey = "payments.refund" },
		"another outcome":     func(a *models.Authorization) { a.Decision = "deny" },
		"too long ago":        func(a *models.Authorization) { a.DecidedAt = b.clock.Now().Add(-25 * time.Hour) },
	} {
		a := b.Authorization("allow")
		own := a.EnvironmentID
		change(&a)
		in := a.EnvironmentID
		a.EnvironmentID = own // no decision can be written about a subject of a different environment
		b.Write(authorization.Decision{Authorization: a})
		b.Exec("update authorizations set environment_id = $2 where id = $1", a.ID, in)
		require.Equal(t, policy.Allow, b.Simulated(t), name)
	}
	b.Write(authorization.Decision{Authorization: b.Authorization("allow")})
	require.Equal(t, policy.Hold, b.Simulated(t))
}

// Simulated decides and removes the decision again.
func (b *bundle) Simulated(t *testing.T) policy.Effect {
	t.Helper()
	got := b.pay(t, `{"amount": 1}`)
	b.Exec("delete from authorizations where id = $1", got.ID)
	return got.Decision
}

func TestRuleThatCannotBeEvaluatedApplies(t *testing.T) {
	t.Parallel()
	b := withRules(t, holdRule("exact", `has(context.note) && decimal(context.note) > 5`))
	require.Equal(t, policy.Allow, b.pay(t, `{"amount": 1, "note": "4.99"}`).Decision)
	got := b.pay(t, `{"amount": 1, "note": "four"}`)
	require.Equal(t, policy.Hold, got.Decision)
	require.Equal(t, []string{reason.HoldOnMatched, reason.RuleMatched, reason.RuleFailed}, got.ReasonCodes)
	exact, _ := b.explained(t, got.ID, "exact")
	require.Contains(t, exact.Found, "could not be evaluated, so it applies: decimal() reads digits")
	require.NotContains(t, exact.Found, "four")
}

// A follow-up decision keeps the rules that applied to the request, whose context is not stored, and adds those that apply by now.
func TestFollowUpKeepsTheRulesOfTheRequest(t *testing.T) {
	t.Parallel()
	approve := policy.Stricter{ExplicitApprovalRequired: true}
	b := withRules(t,
		policy.Rule{Name: "large", When: `context.amount > 10000`, Requirements: approve, Reason: "Large"},
		policy.Rule{Name: "larger", When: `context.amount > 20000`, Requirements: policy.Stricter{DenyOn: []string{reason.RuleMatched}}, Reason: "Larger"},
		policy.Rule{Name: "new", When: `subject.age > duration("1h")`, Requirements: policy.Stricter{HoldOn: []string{reason.RuleMatched}}, Reason: "By now"},
	)
	first := b.pay(t, `{"amount": 15000}`)
	require.Equal(t, policy.Challenge, first.Decision)
	b.clock.Advance(2 * time.Hour)
	second, err := b.Service.FollowUp(t.Context(), b.Store.Q, settle.FollowUp{
		Scope: b.Scope, Parent: first.ID, ChallengeMethod: "sandbox_confirm", At: b.clock.Now(), Actor: "test",
	})
	require.NoError(t, err)
	require.Equal(t, "hold", second.Decision)
	require.Equal(t, []string{reason.HoldOnMatched, reason.RuleMatched, reason.ChallengeSatisfied}, []string(second.ReasonCodes))
	large, _ := b.explained(t, second.ID, "large")
	require.Equal(t, "matched when it was requested: context.amount", large.Found)
	require.Equal(t, []policy.ShownValue{{Label: "Amount", Value: "15,000.00 EUR"}}, large.Shown)
	_, listed := b.explained(t, second.ID, "larger")
	require.False(t, listed)
	now, _ := b.explained(t, second.ID, "new")
	require.Equal(t, "matched: subject.age = 2h0m0s", now.Found)
}

// A rule on now looks at the follow-up decision, too; one that also reads the request looks at the request only. docs/policies.md says so.
func TestRuleOnTheTimeLooksAtTheRequestOrAtTheFollowUp(t *testing.T) {
	t.Parallel()
	const late = `now.getHours("Europe/Berlin") >= 18`
	deny := policy.Stricter{DenyOn: []string{reason.RuleMatched}}
	for name, c := range map[string]struct {
		when            string
		asked, followed string
		first, second   policy.Effect
	}{
		"it becomes late":                     {late, "2026-07-14T15:59:00Z", "2026-07-14T16:01:00Z", policy.Challenge, policy.Deny},
		"it becomes late after the request":   {late + ` && context.amount >= 0`, "2026-07-14T15:59:00Z", "2026-07-14T16:01:00Z", policy.Challenge, policy.Allow},
		"it was late":                         {late, "2026-07-14T21:59:00Z", "2026-07-14T22:01:00Z", policy.Deny, ""},
		"the clocks go back in between":       {`now.getHours("Europe/Berlin") >= 2`, "2026-10-25T00:59:00Z", "2026-10-25T01:01:00Z", policy.Deny, ""},
		"the clocks go forward in between":    {`now.getHours("Europe/Berlin") >= 3`, "2026-03-29T00:59:00Z", "2026-03-29T01:01:00Z", policy.Challenge, policy.Deny},
		"a property that the request has not": {late + ` && !has(context.note)`, "2026-07-14T15:59:00Z", "2026-07-14T16:01:00Z", policy.Challenge, policy.Allow},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := withRules(t, policy.Rule{Name: "late", When: c.when, Requirements: deny, Reason: "Late"},
				policy.Rule{Name: "ask", When: "true", Requirements: policy.Stricter{ExplicitApprovalRequired: true}, Reason: "Ask"})
			at := func(text string) time.Time {
				out, err := time.Parse(time.RFC3339, text)
				require.NoError(t, err)
				return out
			}
			b.clock.Set(at(c.asked))
			first := b.pay(t, `{"amount": 1}`)
			require.Equal(t, c.first, first.Decision)
			if c.second == "" {
				return
			}
			b.clock.Set(at(c.followed))
			second, err := b.Service.FollowUp(t.Context(), b.Store.Q, settle.FollowUp{
				Scope: b.Scope, Parent: first.ID, ChallengeMethod: "sandbox_confirm", At: b.clock.Now(), Actor: "test",
			})
			require.NoError(t, err)
			require.Equal(t, string(c.second), second.Decision)
		})
	}
}

func TestCreateVersionRefusesRulesWithTheirPlace(t *testing.T) {
	t.Parallel()
	b := setup(t, allowing)
	create := func(schema string, list ...policy.Rule) error {
		requirements := allowing
		requirements.Rules = list
		_, err := b.actions.CreateVersion(t.Context(), b.principal, b.Action.ID, action.CreateVersion{Requirements: requirements, ContextSchema: json.RawMessage(schema)})
		return err
	}
	for name, c := range map[string]struct {
		rule policy.Rule
		loc  []any
		msg  string
	}{
		"unknown property": {holdRule("bad", "true &&\n context.amuont > 1.0"), []any{"body", "requirements", "rules", 1, "when"},
			`requirements.rules[1].when of the rule "bad": line 2 column 9: there is no property "amuont" here`},
		"two of a name":   {holdRule("good", "true"), []any{"body", "requirements", "rules", 1, "name"}, `"good" names two rules`},
		"an unknown code": {policy.Rule{Name: "bad", When: "true", Requirements: policy.Stricter{DenyOn: []string{"no_code"}}, Reason: "R"}, []any{"body", "requirements", "rules", 1, "requirements", "deny_on", 0}, "not a reason code"},
		"no requirement":  {policy.Rule{Name: "bad", When: "true", Reason: "R"}, []any{"body", "requirements", "rules", 1, "requirements"}, "at least one requirement"},
		"text direction":  {policy.Rule{Name: "bad", When: "true", Requirements: policy.Stricter{MaxChallenges: 1}, Reason: "a\u202eb"}, []any{"body", "requirements", "rules", 1, "reason"}, "U+202E"},
		"a costly rule":   {holdRule("bad", `context.amount > 1 && "`+strings.Repeat("x", 90)+`".contains("y") && [1, 2, 3].all(a, [1, 2, 3].all(b, [1, 2, 3].all(c, [1, 2, 3].all(d, [1, 2, 3].all(e, [1, 2, 3].all(f, a < b + c + d + e + f))))))`), []any{"body", "requirements", "rules", 1, "when"}, "could cost"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := create(transfer, holdRule("good", "context.amount > 1"), c.rule)
			var refused *problem.Error
			require.ErrorAs(t, err, &refused)
			require.Equal(t, c.loc, refused.Fields[0].Loc)
			require.Contains(t, refused.Fields[0].Msg, c.msg)
		})
	}
	t.Run("against the schema of the action if none is given", func(t *testing.T) {
		t.Parallel()
		var refused *problem.Error
		require.ErrorAs(t, create("", holdRule("good", "context.amount > 1")), &refused)
		require.Contains(t, refused.Fields[0].Msg, "add them to properties in context_schema")
	})
}

// A plan that is made once for a connection costs a fraction of one that is made for each decision.
func TestDecisionsWithCountsArePlannedOnce(t *testing.T) {
	t.Parallel()
	b := withRules(t, holdRule("often", `context.amount < 10000 && subject.decisions("payments.transfer", "allow", "24h") >= 100`))
	for range 50 {
		b.pay(t, `{"amount": 1}`)
	}
	b.Exec("vacuum analyze")
	for range 20 {
		b.pay(t, `{"amount": 1}`)
	}
	require.Positive(t, b.Count("select coalesce(sum(generic_plans), 0) from pg_prepared_statements where statement like '%counted' and generic_plans + custom_plans > 10"))
}
