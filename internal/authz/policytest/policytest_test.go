package policytest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/policytest"
	"github.com/countersign-dev/countersign/internal/platform/yamlfile"
)

// The reference policies of the documentation decide as their cases expect.
func TestReferencePolicies(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../../docs/policies/*.yaml")
	require.NoError(t, err)
	require.Len(t, files, 3)
	for _, name := range files {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			raw, err := os.ReadFile(name)
			require.NoError(t, err)
			file, err := policytest.Parse(raw)
			require.NoError(t, err)
			require.Contains(t, string(raw), "self_review: barred")
			var out strings.Builder
			differing, err := policytest.Print(&out, file.Warnings, file.Run(t.Context()))
			require.NoError(t, err)
			require.Empty(t, file.Warnings)
			require.Zero(t, differing, out.String())
		})
	}
}

const head = `
policy:
  requirements:
    coverage_min: none
    rules:
      - {name: large, when: context.amount > 100, requirements: {hold_on: [rule_matched]}, reason: Large.}
  context_schema: {type: object, required: [amount], properties: {amount: {type: number}}}
cases:
`

const summed = `
policy:
  requirements:
    coverage_min: none
    rules: [{name: much, when: 'subject.sum("amount", "test.action", "allow", "1h") > 100', requirements: {hold_on: [rule_matched]}, reason: Much.}]
  context_schema: {type: object, required: [amount], properties: {amount: {type: number, x-countersign-aggregate: sum}}}
cases:
`

const filtered = `
policy:
  requirements:
    coverage_min: none
    rules:
      - {name: payee, when: 'subject.sum("amount", "test.action", "allow", "1h", {"payee": context.payee}) > 100', requirements: {hold_on: [rule_matched]}, reason: Much.}
      - {name: often, when: 'subject.decisions("test.action", "any", "1h", {"payee": "b"}) >= 2', requirements: {hold_on: [rule_matched]}, reason: Often.}
      - {name: alone, when: 'subject.decisions("test.action", "allow", "1h", {"approved_by_person": false}) >= 3', requirements: {hold_on: [rule_matched]}, reason: Alone.}
      - {name: large, when: 'subject.sum("amount", "test.action", "allow", "1h", {"approved_by_person": false}) > 200', requirements: {hold_on: [rule_matched]}, reason: Large.}
  context_schema: {type: object, required: [amount, payee], properties: {amount: {type: number, x-countersign-aggregate: sum}, payee: {type: string, x-countersign-aggregate: distinct}}}
anchors:
  - &a {context: {amount: 60, payee: "A 1"}}
  - &b {context: {amount: 90, payee: b}}
  - &approved {context: {amount: 60, payee: a1}, approved_by_person: true}
cases:
  - {name: one payee, context: {amount: 1, payee: a1}, earlier: [*a, *a], expect: {decision: hold, rules: [payee]}}
  - {name: another payee, context: {amount: 1, payee: c}, earlier: [*a, *a], expect: {decision: allow, rules: []}}
  - {name: a literal, context: {amount: 1, payee: c}, earlier: [*b, {decision: deny, context: {payee: B}}], expect: {decision: hold, rules: [often]}}
  - {name: approved by a person, context: {amount: 1, payee: c}, earlier: [*a, *a, *approved, *approved], expect: {decision: allow, rules: []}}
  - {name: approved by no person, context: {amount: 1, payee: c}, earlier: [*a, *a, *b], expect: {decision: hold, rules: [alone, large]}}
`

// Filters select among the earlier decisions of a case.
func TestEarlierDecisionsOfFilters(t *testing.T) {
	t.Parallel()
	file, err := policytest.Parse([]byte(filtered))
	require.NoError(t, err)
	var out strings.Builder
	differing, err := policytest.Print(&out, file.Warnings, file.Run(t.Context()))
	require.NoError(t, err)
	require.Zero(t, differing, out.String())
}

// Sums of shown amounts are printed with what they came to.
func TestPrintNamesSums(t *testing.T) {
	t.Parallel()
	file, err := policytest.Parse([]byte(strings.Replace(summed, "x-countersign-aggregate: sum", "x-countersign-aggregate: sum, x-countersign-display: {label: Amount, format: money, currency: EUR}", 1) + `
  - {name: much, context: {amount: 1}, earlier: [{context: {amount: 60.50}}, {context: {amount: 60}}], expect: {decision: hold}}
`))
	require.NoError(t, err)
	var out strings.Builder
	differing, err := policytest.Print(&out, nil, file.Run(t.Context()))
	require.NoError(t, err)
	require.Zero(t, differing, out.String())
	require.Contains(t, out.String(), "Amount in 1 hour: more than 100.00 EUR")
}

func TestRunReportsDifferences(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"decision":     {`{name: a, context: {amount: 500}, expect: {decision: allow}}`, []string{"decision: want allow, got hold"}},
		"reason codes": {`{name: a, context: {amount: 5}, expect: {decision: allow, reason_codes: [rule_matched]}}`, []string{"reason_codes: want [rule_matched], got [requirements_met]"}},
		"rules":        {`{name: a, context: {amount: 500}, expect: {decision: hold, rules: []}}`, []string{"rules: want [], got [large]"}},
		"refused":      {`{name: a, context: {amount: x}, expect: {decision: hold}}`, []string{"decision: want hold, but the request is refused: its context does not match context_schema"}},
		"revoked":      {`{name: a, context: {amount: 5}, subject: {revoked: true}, expect: {decision: allow}}`, []string{"decision: want allow, got deny"}},
		"none":         {`{name: a, context: {amount: 500}, expect: {decision: hold, reason_codes: [hold_on_matched, rule_matched], rules: [large]}}`, nil},
		"JSON":         {`{"name": "a", "context": {"amount": 1e2}, "expect": {"decision": "allow"}}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file, err := policytest.Parse([]byte(head + "  - " + c.text))
			require.NoError(t, err)
			results := file.Run(t.Context())
			require.Len(t, results, 1)
			require.Equal(t, c.want, results[0].Differences)
		})
	}
}

func TestParseRefusesAFileWithItsLine(t *testing.T) {
	t.Parallel()
	const good = "  - {name: a, context: {amount: 5}, expect: {decision: allow}}"
	for name, c := range map[string]struct{ text, want string }{
		"empty":                         {``, "the file is empty; it needs policy and cases"},
		"no YAML":                       {"policy: [", "line 1: "},
		"unknown property":              {head + good + "\n    context2: 5", "line "},
		"unknown top-level":             {"polcy: {}\n" + head + good, "line 1: field polcy is not a property here"},
		"unknown requirement":           {strings.Replace(head, "coverage_min", "coverage_minimum", 1) + good, `line 4: "coverage_minimum" is not a property here`},
		"requirement of the wrong type": {strings.Replace(head, "coverage_min: none", "max_challenges: many", 1) + good, "line 4: max_challenges cannot be a string"},
		"requirement that is refused":   {strings.Replace(head, "coverage_min: none", "deny_on: [nothing]", 1) + good, `line 4: requirements.deny_on.0: "nothing" is not a reason code`},
		"condition":                     {strings.Replace(head, "context.amount", "context.amuont", 1) + good, `line 6: the condition of the rule "large": line 1 column 8: there is no property "amuont" here`},
		"schema":                        {strings.Replace(head, "type: number", "type: nothing", 1) + good, "context_schema is not valid JSON Schema"},
		"no cases":                      {strings.Replace(head, "cases:", "cases: []", 1), "cases is missing or empty"},
		"no requirements":               {"cases:\n" + good, "policy.requirements is missing"},
		"no expectation":                {head + "  - {name: a, context: {amount: 5}}", `line 9: the case "a" needs expect.decision`},
		"no name":                       {head + "  - {expect: {decision: allow}}", "line 9: a case needs a name"},
		"unknown claim":                 {head + "  - {name: a, assurance: {claims: {trust: {status: likely}}}, expect: {decision: allow}}", "line 9: the case \"a\" has the unknown claim"},
		"unknown coverage":              {head + "  - {name: a, assurance: {coverage: much}, expect: {decision: allow}}", "line 9: the coverage \"much\""},
		"count that no rule reads":      {head + "  - {name: a, counts: [{action: a, outcome: allow, window: 1h, count: 1}], expect: {decision: allow}}", "line 9: no rule reads"},
		"earlier decisions in vain":     {head + "  - {name: a, context: {amount: 5}, earlier: [{ago: 1h}], expect: {decision: allow}}", "line 9: no rule counts decisions"},
		"amount of an earlier decision": {summed + "  - {name: a, context: {amount: 5}, earlier: [{ago: 1h, context: {amount: -5}}], expect: {decision: allow}}", "line 8: context.amount must be a decimal number of at least 0"},
		"a number that JSON lacks":      {head + "  - {name: a, context: {amount: .inf}, expect: {decision: allow}}", `line 9: ".inf" is not a number of JSON`},
		"a context that is a list":      {head + "  - {name: a, context: [5], expect: {decision: allow}}", "line 9: context must be an object"},
		"now that is no time":           {head + "  - {name: a, now: 2027-03-01 9am, context: {amount: 5}, expect: {decision: allow}}", `line 9: now is "2027-03-01 9am": it must be a time such as 2027-03-01T09:00:00Z`},
		"now without a zone":            {head + "  - name: a\n    now: 2027-03-01T09:00:00\n    expect: {decision: allow}", "line 10: now is"},
		"environment":                   {"environment: test\n" + head + good, "environment is live or sandbox"},
		"too large":                     {strings.Repeat("#", 2<<20), "the file has a maximum of 1048576 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := policytest.Parse([]byte(c.text))
			var fault *yamlfile.Fault
			require.ErrorAs(t, err, &fault)
			require.Contains(t, fault.Error(), c.want)
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add(head + "  - {name: a, context: {amount: 5}, expect: {decision: allow}}")
	f.Add("cases: &a [*a]")
	f.Add("policy: {requirements: &r {rules: *r}}\ncases: [{}]")
	f.Add("[]")
	f.Fuzz(func(t *testing.T, text string) {
		file, err := policytest.Parse([]byte(text))
		if err != nil {
			var fault *yamlfile.Fault
			require.ErrorAs(t, err, &fault)
			return
		}
		require.Len(t, file.Run(t.Context()), len(file.Cases))
	})
}
