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
	value, given := all[2].Sought(context)
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
