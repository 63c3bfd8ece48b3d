package rules_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/authz/rules"
)

// What a condition asks of lists is known before it is evaluated, and no more than it can depend on.
func TestListedFor(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		when, context string
		want          []rules.Listed
	}{
		"a property":                  {`context.currency in list("a")`, "", []rules.Listed{{"a", "EUR"}}},
		"not in a list":               {`!(context.currency in list("a"))`, "", []rules.Listed{{"a", "EUR"}}},
		"both sides":                  {`context.currency in list("a") || resource.id in list("b")`, "", []rules.Listed{{"a", "EUR"}, {"b", "DE89370400440532013000"}}},
		"the same question":           {`context.currency in list("a") || context.currency in list("a") && subject.passkeys == 0`, "", []rules.Listed{{"a", "EUR"}}},
		"the subject":                 {`subject.id in list("a") && audience in list("b")`, "", []rules.Listed{{"a", "user_1"}, {"b", "payments-api"}}},
		"false without":               {`context.amount > 1000.0 && context.currency in list("a")`, "", nil},
		"false without, written last": {`context.currency in list("a") && context.amount > 1000.0`, "", nil},
		"unknown before":              {`subject.passkeys == 0 && context.currency in list("a")`, "", []rules.Listed{{"a", "EUR"}}},
		"missing":                     {`has(context.exact) && context.exact in list("a")`, "", nil},
		"given":                       {`has(context.exact) && context.exact in list("a")`, `"exact": "x"`, []rules.Listed{{"a", "x"}}},
		"of each item":                {`context.many.exists(m, m in list("a"))`, `"many": ["x", "y", "x"]`, []rules.Listed{{"a", "x"}, {"a", "y"}}},
		"of all items":                {`context.many.all(m, m in list("a"))`, `"many": ["x", "y"]`, []rules.Listed{{"a", "x"}, {"a", "y"}}},
		"of one item":                 {`context.many.exists_one(m, m in list("a"))`, `"many": ["x", "y"]`, []rules.Listed{{"a", "x"}, {"a", "y"}}},
		"the condition of ?:":         {`context.currency in list("a") ? subject.passkeys > 0 : false`, "", []rules.Listed{{"a", "EUR"}}},
		"no string":                   {`has(context.free) && context.free in list("a")`, `"free": 5`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			open := schema(t, payment)
			open["required"] = append(open["required"].([]any), "many")
			open["properties"].(map[string]any)["many"] = schema(t, `{"type": "array", "maxItems": 200, "items": {"type": "string", "maxLength": 40}}`)
			set, faults := rules.Compile([]policy.Rule{{Name: "r", When: c.when}}, open)
			require.Empty(t, faults)
			v := vars(c.context)
			require.Equal(t, c.want, set.ListedFor(t.Context(), v))

			// Whatever the lists have, nothing else is asked of them.
			for has := range 1 << len(c.want) {
				v.Listed = map[rules.Listed]bool{}
				for i, l := range c.want {
					v.Listed[l] = has&(1<<i) != 0
				}
				for _, m := range set.Match(t.Context(), v) {
					require.Equal(t, name == "no string", m.Failed, m.Found)
				}
			}
		})
	}
}

func TestMatchWithLists(t *testing.T) {
	t.Parallel()
	set := compile(t, `!(context.currency in list("trusted"))`)
	question := rules.Listed{List: "trusted", Value: "EUR"}
	v := vars("")
	v.Listed = map[rules.Listed]bool{question: true}
	require.Empty(t, set.Match(t.Context(), v))
	v.Listed[question] = false
	found := set.Match(t.Context(), v)
	require.Len(t, found, 1)
	require.Equal(t, `matched: context.currency, list("trusted")`, found[0].Found, "it names the list, and not the value")

	v.Listed = nil
	found = set.Match(t.Context(), v)
	require.Len(t, found, 1)
	require.True(t, found[0].Failed, "what was not looked up is not guessed")
	require.Contains(t, found[0].Found, "a list that it reads could not be asked")

	require.Empty(t, set.MatchAgain(t.Context(), v, nil), "a list is checked once, with the request")
	_, undecided := set.Replay(t.Context(), v, func([]string, bool) bool { return true })
	require.Empty(t, undecided, "compiled without unknown values")
}

func TestReplayDoesNotGuessLists(t *testing.T) {
	t.Parallel()
	set, faults := rules.CompileReplayable([]policy.Rule{
		rule(`context.currency in list("a")`), rule(`context.amount > 1000.0 && context.currency in list("a")`), rule(`context.amount > 1.0 || context.currency in list("a")`),
	}, schema(t, payment))
	require.Empty(t, faults)
	matched, undecided := set.Replay(t.Context(), vars(""), knowing("list.a"))
	require.Len(t, matched, 1)
	require.Equal(t, []rules.Undecided{{Rule: "r", Unknown: []string{`list("a")`}}}, undecided)
}

// More values than are looked up make the rule apply.
func TestTooManyValues(t *testing.T) {
	t.Parallel()
	long := schema(t, `{"type": "object", "required": ["many"], "properties": {"many": {"type": "array", "maxItems": 200, "items": {"type": "string", "maxLength": 5}}}}`)
	set, faults := rules.Compile([]policy.Rule{{Name: "r", When: `context.many.exists(m, m in list("a"))`}}, long)
	require.Empty(t, faults)
	sent := make([]string, rules.MaxListed+1)
	for i := range sent {
		sent[i] = fmt.Sprintf("%q", fmt.Sprint(i))
	}
	v := vars("")
	v.Context = []byte(`{"many": [` + strings.Join(sent, ",") + `]}`)
	asked := set.ListedFor(t.Context(), v)
	require.Len(t, asked, rules.MaxListed)
	v.Listed = map[rules.Listed]bool{}
	for _, l := range asked {
		v.Listed[l] = false
	}
	found := set.Match(t.Context(), v)
	require.Len(t, found, 1)
	require.True(t, found[0].Failed)
}

func TestListsAreRefused(t *testing.T) {
	t.Parallel()
	const where = "list() stands after `in`"
	for name, c := range map[string]struct{ when, why string }{
		"a name in capitals":      {`context.currency in list("Trusted")`, "the name of a list of the environment"},
		"a name that is no text":  {`context.currency in list(context.currency)`, "the name of a list of the environment"},
		"a number":                {`context.amount in list("a")`, "in cannot be applied to (double, named list); check a list for a string"},
		"a list as a value":       {`list("a") == list("b")`, where},
		"behind ?:":               {`context.amount > 1.0 ? context.currency in list("a") : false`, where},
		"as an argument":          {`(context.currency in list("a")) == true`, where},
		"in a list":               {`[context.currency in list("a")].exists(x, x)`, where},
		"in a filter":             {`size(context.lines.filter(l, context.currency in list("a"))) > 1`, where},
		"of the time":             {`assurance.coverage in list("a")`, "a list is checked for values of the request"},
		"of the subject":          {`subject.enrollment in list("a")`, "a list is checked for values of the request"},
		"of a count":              {`(subject.decisions("a.b", "any", "1h") > 1 ? "x" : "y") in list("a")`, "a list is checked for values of the request"},
		"of items of the service": {`[subject.enrollment].exists(x, x in list("a"))`, "a list is checked for values of the request"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, faults := rules.Compile([]policy.Rule{rule(c.when)}, schema(t, payment))
			require.NotEmpty(t, faults)
			require.Contains(t, faults[0].Why, c.why)
		})
	}
	set := compile(t, "true", `context.amount > 1.0 &&`+"\n"+`  context.currency in list("a") && audience in list("b") && context.currency in list("a")`)
	require.Equal(t, []rules.UsedList{
		{Name: "a", At: rules.Fault{Rule: 1, Name: "r1", Line: 2, Column: 27}}, {Name: "b", At: rules.Fault{Rule: 1, Name: "r1", Line: 2, Column: 52}},
	}, set.Lists())
}
