package rules_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/authz/rules"
)

// transfers is a context_schema with values by which rules count.
const transfers = `{"type": "object", "required": ["amount", "payee"], "properties": {
	"amount": {"type": "string", "maxLength": 30, "x-countersign-aggregate": "sum"},
	"fee": {"type": "number", "x-countersign-aggregate": "sum"},
	"payee": {"type": "object", "required": ["iban"], "properties": {"iban": {"type": "string", "maxLength": 40, "x-countersign-aggregate": "distinct"}}},
	"device": {"type": "string", "x-countersign-aggregate": "distinct"}, "plain": {"type": "string"}}}`

const sum = `subject.sum("amount", "payments.transfer", "allow", "24h")`

func TestAggregatesAreCheckedWithTheirPlace(t *testing.T) {
	t.Parallel()
	for when, want := range map[string]string{
		`subject.sum("plain", "a", "allow", "1h") > 1`:             `line 1 column 13: "plain" is not stored for this: mark the property of context_schema with "x-countersign-aggregate": "sum"; marked are amount, fee`,
		`subject.sum("payee.iban", "a", "allow", "1h") > 1`:        `"payee.iban" is not stored for this`,
		`subject.distinct("amount", "a", "allow", "1h") > 1`:       `mark the property of context_schema with "x-countersign-aggregate": "distinct"; marked are device, payee.iban`,
		`subject.distinct("subject", "a", "allow", "1h") > 1`:      `"subject" is not stored for this`,
		`subject.sum("amount", "A", "allow", "1h") > 1`:            "line 1 column 23: argument 2 of sum() is an action's key such as payments.transfer",
		`subject.sum("amount", "a", "allowed", "1h") > 1`:          "argument 3 of sum() is one of allow, challenge, hold, deny, any",
		`subject.sum("amount", "a", "allow", "31d") > 1`:           "argument 4 of sum() is a number of minutes, hours or days up to 30 days",
		`subject.sum(context.plain, "a", "allow", "1h") > 1`:       "argument 1 of sum() is a literal string",
		`action.sum("amount", "a", "allow", "1h") > 1`:             "sum() is a function of subject and resource",
		`resource.seen("device", "x", "1h")`:                       "seen() is a function of subject",
		`subject.seen("device", context.device, "1h")`:             "context.device can be missing or null",
		`subject.seen("device", "a" + "b", "1h")`:                  "argument 2 of seen() is a property of the context or a literal string",
		`subject.seen("plain", context.payee.iban, "1h")`:          `"plain" is not stored for this`,
		`subject.sum("amount", "a", "allow", "1h") > "1"`:          "> cannot be applied to (decimal, string)",
		`subject.sum("amount", "a", "allow", "1h")`:                "must be true or false",
		`subject.distinct("device", "a", "allow", "1h") == "many"`: "== cannot be applied to (int, string)",
	} {
		t.Run(when, func(t *testing.T) {
			t.Parallel()
			_, faults := rules.Compile([]policy.Rule{rule(when)}, schema(t, transfers))
			require.NotEmpty(t, faults)
			require.Contains(t, faults[0].Error(), want)
		})
	}
	for name, c := range map[string]struct{ when, want string }{
		"reads no number": {`decimal(context.amount) > 5`, "a rule that reserves reads a sum"},
		"only seen":       {`subject.seen("payee.iban", context.payee.iban, "1h")`, "a rule that reserves reads a sum"},
		"another outcome": {`subject.sum("amount", "a", "any", "1h") > 1`, `its outcome is "allow"`},
	} {
		t.Run("reserve "+name, func(t *testing.T) {
			t.Parallel()
			_, faults := rules.Compile([]policy.Rule{{Name: "r", When: c.when, Reserve: true}}, schema(t, transfers))
			require.NotEmpty(t, faults)
			require.Contains(t, faults[0].Error(), c.want)
		})
	}
}

// filteredBy is a context_schema with values that filters name.
const filteredBy = `{"type": "object", "required": ["amount", "payee", "agent", "currency"], "properties": {
	"amount": {"type": "string", "maxLength": 30, "x-countersign-aggregate": "sum", "x-countersign-display": {"label": "Amount", "format": "number"}},
	"payee": {"type": "object", "required": ["iban"], "properties": {"iban": {"type": "string", "maxLength": 40, "x-countersign-aggregate": "distinct",
		"x-countersign-display": {"label": "Account", "format": "account"}}}},
	"agent": {"type": "string", "maxLength": 40, "x-countersign-aggregate": "distinct"}, "level": {"type": "integer", "x-countersign-aggregate": "distinct"},
	"currency": {"type": "string", "enum": ["EUR", "USD"], "x-countersign-aggregate": "distinct"},
	"device": {"type": "string", "x-countersign-aggregate": "distinct"}, "plain": {"type": "string"}, "count": {"type": "integer"}}}`

func TestFiltersAreCheckedWithTheirPlace(t *testing.T) {
	t.Parallel()
	sum := func(filter string) string {
		return `subject.sum("amount", "payments.transfer", "allow", "24h", ` + filter + `) > 1000`
	}
	for when, want := range map[string]string{
		sum(`{"payee.iban": context.payee.iban, "agent": "bot-1"}`): "", sum(`{"approved_by_person": false}`): "", sum(`{"currency": "eur"}`): "",
		`has(context.device) && ` + sum(`{"device": context.device}`): "", `has(context.count) && ` + sum(`{"level": context.count}`): "", sum(`{"level": 3}`): "",
		`subject.decisions("payments.transfer", "any", "1h", {"agent": context.agent}) >= 3`:             "",
		`subject.decisions("payments.transfer", "allow", "1h", {"approved_by_person": false}) >= 3`:      "",
		`resource.distinct("subject", "payments.transfer", "allow", "1h", {"agent": context.agent}) > 3`: "",
		sum(`{}`):                           `line 1 column 60: argument 5 of sum() is a filter, such as {"payee": context.payee}`,
		sum(`"agent"`):                      "argument 5 of sum() is a filter",
		sum(`{context.agent: "a"}`):         "argument 5 of sum() is a filter",
		sum(`{"plain": context.agent}`):     `line 1 column 61: "plain" is not stored for this: mark the property of context_schema with "x-countersign-aggregate": "distinct"; marked are agent, currency, device, level, payee.iban`,
		sum(`{"amount": "5"}`):              `"amount" is not stored for this`,
		sum(`{"agent": "a", "agent": "b"}`): `the filter names "agent" twice`,
		sum(`{"agent": "a" + "b"}`):         `the filter compares "agent" with a property of the context or a literal`,
		sum(`{"agent": subject.id}`):        `the filter compares "agent" with a property of the context or a literal`,
		sum(`{"agent": context.agnet}`):     `there is no property "agnet" here`,
		sum(`{"device": context.device}`):   "context.device can be missing or null",
		sum(`{"agent": 5}`):                 `line 1 column 70: the filter compares "agent", of the type string, with a value of the type int`,
		sum(`{"level": context.agent}`):     `the filter compares "level", of the type int, with a value of the type string`,
		sum(`{"currency": "GBP"}`):          `currency is never "GBP"; it is one of EUR, USD`,
		sum(`{"approved_by_person": true}`): `"approved_by_person" of a filter is false`,
		`subject.sum("amount", "payments.transfer", "any", "24h", {"approved_by_person": false}) > 1`: `line 1 column 44: a filter with "approved_by_person" selects among what was allowed: the outcome is "allow"`,
		`subject.decisions("payments.transfer", "hold", "24h", {"approved_by_person": false}) > 1`:    `the outcome is "allow"`,
		`subject.decisions("payments.transfer", "held", "24h", {"agent": "a"}) > 1`:                   "argument 2 of subject.decisions() is one of",
		`resource.decisions("payments.transfer", "allow", "24h", {"agent": "a"}) > 1`:                 "decisions() is a function of subject",
		`subject.seen("agent", context.agent, "1h", {"agent": "a"})`:                                  "seen",
	} {
		t.Run(when, func(t *testing.T) {
			t.Parallel()
			set, faults := rules.Compile([]policy.Rule{rule(when)}, schema(t, filteredBy))
			if want == "" {
				require.Empty(t, faults)
				require.Len(t, append(set.Aggregates(), make([]rules.Aggregate, len(set.Counts()))...), 1)
				return
			}
			require.NotEmpty(t, faults)
			require.Contains(t, faults[0].Error(), want)
		})
	}
	_, faults := rules.Compile([]policy.Rule{{Name: "r", When: `subject.decisions("a", "allow", "1h", {"agent": "a"}) > 1`, Reserve: true}}, schema(t, filteredBy))
	require.Len(t, faults, 1)
	require.Contains(t, faults[0].Error(), "a rule that reserves reads a sum")
}

// The order of a filter makes no difference, and numbers of different filters are different ones.
func TestFiltersSelect(t *testing.T) {
	t.Parallel()
	const one = `subject.sum("amount", "a", "allow", "1h", {"agent": context.agent, "payee.iban": "DE 1", "approved_by_person": false}) + decimal(context.amount) > 100`
	const same = `subject.sum("amount", "a", "allow", "1h", {"approved_by_person": false, "payee.iban": "DE 1", "agent": context.agent}) > 200`
	const other = `subject.sum("amount", "a", "allow", "1h", {"agent": context.agent}) > 50 || subject.decisions("a", "allow", "1h", {"agent": context.agent}) >= 2`
	set, faults := rules.Compile([]policy.Rule{{Name: "one", When: one}, {Name: "same", When: same}, {Name: "other", When: other}}, schema(t, filteredBy))
	require.Empty(t, faults)
	all := set.Aggregates()
	require.Len(t, all, 3)
	require.Equal(t, [][]string{{"agent"}, {"amount"}}, set.ReadsContext())
	require.Equal(t, []rules.Sought{{Field: "agent", Value: "context.agent"}, {Field: "payee.iban", Value: `"DE 1"`}}, all[0].Sought())
	require.True(t, all[0].Filter.Unapproved())
	require.False(t, all[1].Filter.Unapproved())
	require.Equal(t, "200", set.Above(all[0]).RatString())
	var context map[string]any
	require.NoError(t, json.Unmarshal([]byte(`{"agent": "bot"}`), &context))
	for i, want := range []string{"bot", "DE 1"} {
		value, given := all[0].Sought()[i].In(context)
		require.True(t, given)
		require.Equal(t, want, value)
	}
	v := vars("")
	v.Context = []byte(`{"amount": "40.01", "agent": "bot", "payee": {"iban": "DE1"}, "currency": "EUR"}`)
	v.Aggregates = map[rules.Aggregate]string{all[0]: "60", all[1]: "0", all[2]: "2"}
	got := set.Match(t.Context(), v)
	require.Len(t, got, 2)
	require.Contains(t, got[0].Found, `subject.sum("amount", "a", "allow", "1h", {"agent": context.agent, "approved_by_person": false, "payee.iban": "DE 1"}) <= 100`)
	require.Equal(t, "Amount in 1 hour by a, same agent, Account \"DE 1\", approved by no person", got[0].Totals[0].Label)
	require.Equal(t, "60 + 40.01 of 100", got[0].Totals[0].Value)
	require.Contains(t, got[1].Found, `subject.decisions("a", "allow", "1h", {"agent": context.agent}) = 2`)
	require.NotContains(t, got[1].Found, "bot")

	count, faults := rules.Compile([]policy.Rule{{Name: "n", When: `subject.decisions("a", "allow", "1h", {"approved_by_person": false}) >= 2`}}, schema(t, filteredBy))
	require.Empty(t, faults)
	require.Equal(t, []rules.Count{{Action: "a", Outcome: "allow", Window: "1h", Unapproved: true}}, count.AgainCounts())
	v.Counts = map[rules.Count]int{count.Counts()[0]: 2}
	require.Contains(t, count.Match(t.Context(), v)[0].Found, `subject.decisions("a", "allow", "1h", {"approved_by_person": false}) = 2`)
}

// A simulation does not decide by a filter whose value it does not know.
func TestReplayOfFilters(t *testing.T) {
	t.Parallel()
	const when = `subject.sum("amount", "a", "allow", "1h", {"agent": context.agent}) > 100`
	set, faults := rules.CompileReplayable([]policy.Rule{rule(when)}, schema(t, filteredBy))
	require.Empty(t, faults)
	v := vars("")
	for name, kept := range map[string]bool{"kept": true, "not kept": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := v
			if kept {
				v.Context = []byte(`{"agent": "bot"}`)
			}
			matched, undecided := set.Replay(t.Context(), v, func(path []string, _ bool) bool { return kept || path[0] != "context" })
			require.Empty(t, matched)
			want := []string{`subject.sum("amount", "a", "allow", "1h", {"agent": context.agent})`}
			if !kept {
				want = append([]string{"context.agent"}, want...)
			}
			require.Equal(t, want, undecided[0].Unknown)
		})
	}
}

// From the limit on a number may be any higher one.
func TestAggregateStopsAboveTheLiterals(t *testing.T) {
	t.Parallel()
	of := rules.Aggregate{Function: "sum", Field: "amount", Action: "payments.transfer", Outcome: "allow", Window: "24h"}
	for when, want := range map[string]string{
		sum + ` > 1000`: "1000", sum + ` <= 1000.5`: "1000.5", `decimal("99.90") < ` + sum: "99.9", sum + ` > 5 || ` + sum + ` > 70`: "70",
		sum + ` + decimal(context.amount) > 1000`: "1000", `decimal(context.amount) + ` + sum + ` >= 1000`: "1000", sum + ` == decimal(3)`: "3",
		`has(context.fee) && ` + sum + ` + decimal(context.fee) > 7`: "7",
		sum + ` + decimal(context.plain) > 1000`:                     "", sum + ` - decimal(context.amount) > 10`: "", sum + ` > decimal(context.amount)`: "",
		sum + ` > 5 || ` + sum + ` > decimal(context.amount)`: "",
	} {
		t.Run(when, func(t *testing.T) {
			t.Parallel()
			if strings.Contains(when, "plain") {
				when = "has(context.plain) && " + when
			}
			set, faults := rules.Compile([]policy.Rule{rule(when)}, schema(t, transfers))
			require.Empty(t, faults)
			require.Equal(t, []rules.Aggregate{of}, set.Aggregates())
			above := set.Above(of)
			if want == "" {
				require.Nil(t, above)
			} else {
				digits, _ := above.FloatPrec()
				require.Equal(t, want, above.FloatString(digits))
			}
		})
	}
}

func TestAggregatesDecide(t *testing.T) {
	t.Parallel()
	const when = sum + ` + decimal(context.amount) > 100 || subject.distinct("device", "a", "any", "1h") > 2 || !subject.seen("payee.iban", context.payee.iban, "30d")`
	set, faults := rules.Compile([]policy.Rule{rule(when)}, schema(t, transfers))
	require.Empty(t, faults)
	all := set.Aggregates()
	require.Len(t, all, 3)
	v := vars("")
	v.Context = []byte(`{"amount": "40.01", "payee": {"iban": "DE1"}}`)
	for name, c := range map[string]struct {
		numbers []string
		found   string
		applies bool
	}{
		"below":     {[]string{"59.99", "2", "1"}, "", false},
		"above":     {[]string{"60", "2", "1"}, `subject.sum("amount", "payments.transfer", "allow", "24h") <= 100, subject.distinct("device", "a", "any", "1h") = 2, subject.seen("payee.iban", context.payee.iban, "30d") = true`, true},
		"far above": {[]string{"101", "2", "1"}, `subject.sum("amount", "payments.transfer", "allow", "24h") > 100, `, true},
		"devices":   {[]string{"0", "7", "1"}, `subject.distinct("device", "a", "any", "1h") > 2`, true},
		"new":       {[]string{"0", "0", "0"}, `subject.seen("payee.iban", context.payee.iban, "30d") = false`, true},
		"too many":  {[]string{"", "0", "1"}, "could not be evaluated", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := v
			v.Aggregates = map[rules.Aggregate]string{}
			for i, n := range c.numbers {
				if n != "" {
					v.Aggregates[all[i]] = n
				}
			}
			got := set.Match(t.Context(), v)
			require.Equal(t, c.applies, len(got) == 1)
			if c.applies {
				require.Contains(t, got[0].Found, c.found)
				require.NotContains(t, got[0].Found, "60", "an amount is not quoted")
			}
		})
	}
	require.Empty(t, set.MatchAgain(t.Context(), v, nil), "it was decided with the request")
	require.Equal(t, v.Now.Add(-24*time.Hour), all[0].Since(v.Now))
	var context map[string]any
	require.NoError(t, json.Unmarshal(v.Context, &context))
	value, given := all[2].Sought()[0].In(context)
	require.True(t, given)
	require.Equal(t, "DE1", value)
}

// A value that was never seen is first seen by the decision itself.
func TestFirstSeen(t *testing.T) {
	t.Parallel()
	const when = `now - subject.first_seen("payee.iban", context.payee.iban) < duration("24h")`
	set, faults := rules.Compile([]policy.Rule{rule(when)}, schema(t, transfers))
	require.Empty(t, faults)
	g := set.Aggregates()[0]
	require.True(t, g.IsFirst() && g.IsSeen())
	v := vars("")
	v.Context = []byte(`{"amount": "40.01", "payee": {"iban": "DE1"}}`)
	for number, found := range map[string]string{"0": "= never before", "3600000000": "= 1h0m0s ago", "86400000000": "", "86399999999": "= 24h0m0s ago"} {
		v.Aggregates = map[rules.Aggregate]string{g: number}
		got := set.Match(t.Context(), v)
		require.Equal(t, found != "", len(got) == 1, number)
		if found != "" {
			require.Contains(t, got[0].Found, `subject.first_seen("payee.iban", context.payee.iban) `+found)
		}
	}
	for when, why := range map[string]string{
		`resource.first_seen("payee.iban", context.payee.iban) < now`: "is a function of subject",
		`subject.first_seen("amount", context.amount) < now`:          "is not stored for this",
		`subject.first_seen("payee.iban", "a" + "b") < now`:           "argument 2 of first_seen()",
	} {
		_, faults := rules.Compile([]policy.Rule{rule(when)}, schema(t, transfers))
		require.NotEmpty(t, faults, when)
		require.Contains(t, faults[0].Error(), why)
	}
}
