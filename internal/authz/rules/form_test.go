package rules_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/authz/rules"
)

const formSchema = `{
	"type": "object", "required": ["amount", "total", "country", "urgent", "payee"],
	"properties": {
		"amount": {"type": "string", "x-countersign-aggregate": "sum", "x-countersign-display": {"label": "Amount", "format": "number"}},
		"total": {"type": "number"}, "items": {"type": "integer", "title": "Number of items"}, "note": {"type": "string", "maxLength": 100},
		"country": {"type": "string", "enum": ["DE", "FR", "XX"]}, "urgent": {"type": "boolean"},
		"payee": {"type": "object", "required": ["name"], "properties": {
			"name": {"type": "string", "maxLength": 100}, "iban": {"type": "string", "maxLength": 34, "x-countersign-aggregate": "distinct"}}},
		"tags": {"type": "array", "maxItems": 5, "items": {"type": "string", "maxLength": 20}}
	}}`

func builder(t require.TestingT) *rules.Builder {
	var schema map[string]any
	require.NoError(t, json.Unmarshal([]byte(formSchema), &schema))
	b, err := rules.NewBuilder(schema)
	require.NoError(t, err)
	return b
}

// A condition that a form can express is shown as one, and said in words; the form makes a condition that compiles.
func TestFormsOfConditions(t *testing.T) {
	t.Parallel()
	b := builder(t)
	for when, want := range map[string]struct {
		form  rules.Form
		words string
	}{
		"context.total > 10000": {rules.Form{Tests: []rules.Test{{"context.total", ">", "10000"}}}, "total is over 10,000"},
		`decimal(context.amount) >= 99.50 && context.country in ["DE", "FR"]`: {
			rules.Form{Tests: []rules.Test{{"decimal(context.amount)", ">=", "99.5"}, {"context.country", "one of", "DE\nFR"}}}, "amount is at least 99.5 and country is one of DE, FR",
		},
		"has(context.items) && context.items > 3": {rules.Form{Tests: []rules.Test{{"context.items", ">", "3"}}}, "number of items is over 3"},
		"has(context.note)":                       {rules.Form{Tests: []rules.Test{{"context.note", "is given", ""}}}, "note is given"},
		"!has(context.items) || context.items > 3": {
			rules.Form{Any: true, Tests: []rules.Test{{"context.items", "is missing", ""}, {"context.items", ">", "3"}}}, "number of items is missing, or number of items is over 3",
		},
		`context.urgent || (has(context.note) && context.note.startsWith("now"))`: {
			rules.Form{Any: true, Tests: []rules.Test{{"context.urgent", "is true", ""}, {"context.note", "starts with", "now"}}}, "urgent, or note starts with now",
		},
		`!(context.payee.name in list("trusted_payees")) && subject.age < duration("72h")`: {
			rules.Form{Tests: []rules.Test{{"context.payee.name", "not in list", "trusted_payees"}, {"subject.age", "<", "72h"}}},
			"payee name is not in the list trusted_payees and the age of the subject's account is under 72h",
		},
		`subject.sum("amount", "payments.transfer", "allow", "24h") + decimal(context.amount) > 20000`: {
			rules.Form{Tests: []rules.Test{{`subject.sum("amount", "payments.transfer", "allow", "24h") + decimal(context.amount)`, ">", "20000"}}},
			"the sum of amount of allowed decisions about the subject in the last 24 hours plus amount is over 20,000",
		},
		`subject.sum("amount", "payments.transfer", "allow", "24h", {"payee.iban": "DE1", "approved_by_person": false}) > 5000`: {
			rules.Form{Tests: []rules.Test{{`subject.sum("amount", "payments.transfer", "allow", "24h", {"payee.iban": "DE1", "approved_by_person": false})`, ">", "5000"}}},
			"the sum of amount of allowed decisions about the subject with payee iban \"DE1\" that no person approved in the last 24 hours is over 5,000",
		},
		`has(context.payee.iban) && !subject.seen("payee.iban", context.payee.iban, "30d")`: {
			rules.Form{Tests: []rules.Test{{`subject.seen("payee.iban", context.payee.iban, "30d")`, "is false", ""}}},
			"the subject was not allowed this payee iban in the last 30 days",
		},
		`subject.decisions("payments.transfer", "deny", "7d") >= 2`: {
			rules.Form{Tests: []rules.Test{{`subject.decisions("payments.transfer", "deny", "7d")`, ">=", "2"}}},
			"the number of denied decisions about the subject in the last 7 days is at least 2",
		},
		"": {rules.Form{Tests: []rules.Test{}}, ""},
	} {
		t.Run(when, func(t *testing.T) {
			t.Parallel()
			got, ok := b.Form(when)
			require.True(t, ok)
			require.Equal(t, want.form, got)
			said, _ := b.Words(when)
			require.Equal(t, want.words, said)
			if when == "" {
				return
			}
			text, err := b.Text(got)
			require.NoError(t, err)
			requireCompiles(t, text)
			again, ok := b.Form(text)
			require.True(t, ok)
			require.Equal(t, got, again)
		})
	}
}

func requireCompiles(t require.TestingT, when string) {
	var schema map[string]any
	require.NoError(t, json.Unmarshal([]byte(formSchema), &schema))
	_, faults := rules.Compile([]policy.Rule{{Name: "r", When: when, Requirements: policy.Stricter{HoldOn: []string{"rule_matched"}}}}, schema)
	require.Empty(t, faults, when)
}

// What a form cannot say stays as it is written.
func TestConditionsWithoutAForm(t *testing.T) {
	t.Parallel()
	b := builder(t)
	for _, when := range []string{
		"context.total > 10000 && (context.urgent || context.country == \"XX\")", "has(context.tags) && context.tags.exists(t, t == \"new\")",
		"context.urgent ? context.total > 1.0 : context.total > 2.0", "10000 < context.total", "context.total > subject.passkeys * 100.0 && context.total <",
		"context.total > ", "true", "context.total", "has(context.items) || context.items > 3", "(((", "\"", "`",
	} {
		form, ok := b.Form(when)
		if ok { // then it must at least say the same
			text, err := b.Text(form)
			require.NoError(t, err)
			again, ok := b.Form(text)
			require.True(t, ok, when)
			require.Equal(t, form, again, when)
			require.Contains(t, []string{"context.total", "true"}, when)
		}
	}
}

// Whatever is typed, a form is either refused or makes a condition with the same form.
func TestFormsAreStable(t *testing.T) {
	t.Parallel()
	b := builder(t)
	values := b.Values("payments.transfer")
	require.NotEmpty(t, values)
	rapid.Check(t, func(t *rapid.T) {
		f := rules.Form{Any: rapid.Bool().Draw(t, "any"), Tests: []rules.Test{}}
		for range rapid.IntRange(1, 4).Draw(t, "tests") {
			v := rapid.SampledFrom(values).Draw(t, "value")
			operators := map[string][]string{
				rules.KindText: {"==", "!=", "one of", "none of", "starts with", "contains", "ends with"}, rules.KindNumber: {"<", "<=", ">", ">="},
				rules.KindDecimal: {"<", "<=", ">", ">="}, rules.KindYesNo: {"is true", "is false"}, rules.KindDuration: {"<", ">"}, rules.KindTime: {"<"},
			}[v.Kind]
			test := rules.Test{Value: v.Text, Operator: rapid.SampledFrom(operators).Draw(t, "operator")}
			switch v.Kind {
			case rules.KindText:
				test.Operand = rapid.StringMatching(`[ -~äß漢"\\]{0,20}`).Draw(t, "operand")
				if test.Operator == "one of" || test.Operator == "none of" {
					test.Operand = "DE\nFR"
				}
			case rules.KindNumber, rules.KindDecimal:
				test.Operand = rapid.StringMatching(`-?[1-9][0-9]{0,6}(\.[1-9])?`).Draw(t, "operand")
			case rules.KindDuration:
				test.Operand = "72h"
			case rules.KindTime:
				test.Operand = "2026-11-21T09:30:00Z"
			}
			f.Tests = append(f.Tests, test)
		}
		text, err := b.Text(f)
		require.NoError(t, err)
		got, ok := b.Form(text)
		if len(f.Tests) == 1 {
			f.Any = false
		}
		require.True(t, ok, text)
		require.Equal(t, f, got, text)
	})
}

func TestFormsOfWrongOperands(t *testing.T) {
	t.Parallel()
	b := builder(t)
	for _, c := range []struct {
		test rules.Test
		want string
	}{
		{rules.Test{"context.total", ">", "ten"}, "is not a number"},
		{rules.Test{"context.total", ">", "1e3"}, "is not a number"},
		{rules.Test{"subject.age", "<", "3 days"}, "is not a span of time"},
		{rules.Test{"context.payee.name", "in list", "Trusted payees"}, "name a list"},
		{rules.Test{"", "==", "x"}, "choose the value"},
		{rules.Test{"context.total > 1 || true", "==", "x"}, "choose the value"},
		{rules.Test{"context.total", "~", "x"}, "is not an operator"},
	} {
		_, err := b.Text(rules.Form{Tests: []rules.Test{c.test}})
		require.ErrorContains(t, err, c.want)
	}
}

func TestFormatBreaksLinesAtOperators(t *testing.T) {
	t.Parallel()
	require.Equal(t, "context.total > 10000\n&& context.country == \"XX\"\n&& !context.urgent",
		rules.Format(`context.total > 10000 && context.country == "XX" && !context.urgent`))
	for _, own := range []string{"a ||\n b", "a || b // why", "a ||", ""} {
		require.Equal(t, own, rules.Format(own))
	}
}
