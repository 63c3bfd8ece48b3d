package rules_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/authz/rules"
)

// knowing knows everything but the given values. The presence of an object is known if one below it is.
func knowing(unknown ...string) rules.Known {
	return func(path []string, presence bool) bool {
		at := strings.Join(path, ".")
		if at == "context.payee" && presence {
			return true
		}
		return !slices.Contains(unknown, at)
	}
}

func replayable(t *testing.T, when ...string) *rules.Set {
	t.Helper()
	var list []policy.Rule
	for i, w := range when {
		list = append(list, policy.Rule{Name: "r" + string(rune('0'+i)), When: w})
	}
	set, faults := rules.CompileReplayable(list, schema(t, payment))
	require.Empty(t, faults)
	return set
}

func TestReplayDecidesWhatItCanAndNamesWhatItCannot(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		when, context string
		unknown       []string
		want          string // applies, not, or the names of the missing values
	}{
		"everything is known":                  {`context.amount > 250.0`, "", nil, "applies"},
		"known and false":                      {`context.amount > 300.0`, "", []string{"context.currency"}, "not"},
		"unknown":                              {`context.currency == "EUR"`, "", []string{"context.currency"}, "context.currency"},
		"false whatever the unknown is":        {`context.amount > 300.0 && context.currency == "EUR"`, "", []string{"context.currency"}, "not"},
		"true whatever the unknown is":         {`context.currency == "USD" || context.amount > 250.0`, "", []string{"context.currency"}, "applies"},
		"depends on the unknown":               {`context.amount > 250.0 && context.currency == "EUR"`, "", []string{"context.currency"}, "context.currency"},
		"presence of the unknown":              {`has(context.exact)`, "", []string{"context.exact"}, "context.exact"},
		"absence is known":                     {`has(context.exact)`, "", []string{"context.currency"}, "not"},
		"presence of an object":                {`has(context.payee)`, `"payee": {"name": "A"}`, []string{"context.payee", "context.payee.name"}, "applies"},
		"an object's known property":           {`has(context.payee) && has(context.payee.country) && context.payee.country == "FR"`, `"payee": {"country": "FR"}`, []string{"context.payee", "context.payee.name"}, "applies"},
		"an object's unknown property":         {`has(context.payee) && context.payee.name == "A"`, `"payee": {}`, []string{"context.payee", "context.payee.name"}, "context.payee.name"},
		"an object as a whole":                 {`has(context.payee) && context.payee == context.payee`, `"payee": {}`, []string{"context.payee", "context.payee.name"}, "context.payee"},
		"items of an unknown list":             {`context.lines.exists(l, l.sum > 1.0)`, "", []string{"context.lines"}, "context.lines"},
		"key of an unknown map":                {`has(context.labels) && "x" in context.labels`, "", []string{"context.labels"}, "context.labels"},
		"resource":                             {`resource.id == "x"`, "", []string{"resource.id"}, "resource.id"},
		"type of the resource":                 {`resource.type == "account"`, "", []string{"resource.id"}, "applies"},
		"enrollment":                           {`subject.enrollment == "enrolled"`, "", []string{"subject.enrollment"}, "subject.enrollment"},
		"count that is known":                  {`subject.decisions("payments.transfer", "allow", "24h") >= 3`, "", nil, "applies"},
		"count that is not":                    {`subject.decisions("payments.transfer", "deny", "24h") >= 3`, "", nil, `subject.decisions("payments.transfer", "deny", "24h")`},
		"a request of another schema":          {`size(context.lines) > 0`, `{"amount": 5}`, nil, "context.lines"},
		"a value of another type":              {`has(context.count) && context.count > 1`, `"count": "many"`, nil, "context.count"},
		"an integer that no rule can use":      {`has(context.count) && context.count > 1`, `"count": 1e30`, nil, "applies"},
		"an error is a match, as in a request": {`has(context.exact) && decimal(context.exact) > 1`, `"exact": "x"`, nil, "applies"},
		"an error beside an unknown is not":    {`has(context.exact) && decimal(context.exact) > 1 && context.amount > 1.0`, `"exact": "x"`, []string{"context.amount"}, "context.amount"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := vars("")
			if v.Context = []byte(c.context); !strings.HasPrefix(c.context, "{") {
				v = vars(c.context)
			}
			matched, missing := replayable(t, c.when).Replay(t.Context(), v, knowing(c.unknown...))
			switch c.want {
			case "applies":
				require.Len(t, matched, 1)
				require.Empty(t, missing)
			case "not":
				require.Empty(t, matched)
				require.Empty(t, missing)
			default:
				require.Empty(t, matched)
				require.Equal(t, []rules.Undecided{{Rule: "r0", Unknown: []string{c.want}}}, missing)
			}
		})
	}
}

// A value that is known is asked for, of a list that is known, also beside what is not.
func TestReplayAsksListsForKnownValues(t *testing.T) {
	t.Parallel()
	eur := rules.Listed{List: "a", Value: "EUR"}
	for name, c := range map[string]struct {
		when    string
		unknown []string
		asked   []rules.Listed
		want    string // applies if the list has EUR, never, or the names of the missing values
	}{
		"a known value":             {`context.currency in list("a")`, nil, []rules.Listed{eur}, "applies"},
		"an unknown value":          {`context.currency in list("a")`, []string{"context.currency"}, nil, "context.currency"},
		"a list that is not stored": {`context.currency in list("a")`, []string{"list.a"}, nil, `list("a")`},
		"false anyway":              {`context.amount > 300.0 && context.currency in list("a")`, nil, nil, "never"},
		"beside an unknown":         {`context.currency in list("a") && resource.id == "x"`, []string{"resource.id"}, []rules.Listed{eur}, "resource.id"},
		"of unknown presence":       {`has(context.exact) && context.currency in list("a")`, []string{"context.exact"}, []rules.Listed{eur}, "context.exact"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set, v, known := replayable(t, c.when), vars(""), knowing(c.unknown...)
			require.Equal(t, c.asked, set.ReplayListed(t.Context(), v, known))
			for _, has := range []bool{true, false} {
				v.Listed = map[rules.Listed]bool{}
				for _, l := range c.asked {
					v.Listed[l] = has
				}
				matched, missing := set.Replay(t.Context(), v, known)
				switch decided := len(c.asked) > 0 && !has; {
				case c.want == "applies" && has:
					require.Len(t, matched, 1)
				case c.want == "applies" || c.want == "never" || decided:
					require.Empty(t, matched)
					require.Empty(t, missing)
				default:
					require.Equal(t, []rules.Undecided{{Rule: "r0", Unknown: []string{c.want}}}, missing)
				}
			}
		})
	}
}

func TestReplayAgainFollowsTheFirstDecision(t *testing.T) {
	t.Parallel()
	set := replayable(t, `context.amount > 250.0`, `subject.passkeys == 0`, `context.currency == "EUR"`, `subject.passkeys == 1`)
	v := vars("")
	matched, missing := set.ReplayAgain(t.Context(), v, []rules.Earlier{{Name: "r1"}}, nil, knowing())
	require.Equal(t, []string{"r1", "r3"}, names(matched), "what applied still applies, and what reads the request stays as it was")
	require.Empty(t, missing)

	before := []rules.Undecided{{Rule: "r2", Unknown: []string{"context.currency"}}, {Rule: "r3", Unknown: []string{"subject.passkeys"}}}
	matched, missing = set.ReplayAgain(t.Context(), v, nil, before, knowing())
	require.Equal(t, []string{"r3"}, names(matched), "it applies now, whatever it did before")
	require.Equal(t, before[:1], missing)
}

func names(matched []rules.Match) []string {
	var out []string
	for _, m := range matched {
		out = append(out, m.Rule.Name)
	}
	return out
}

func TestReplayOfAKnownDecisionIsItsMatch(t *testing.T) {
	t.Parallel()
	when := []string{`context.amount > 250.0`, `context.currency == "USD"`, `subject.decisions("payments.transfer", "allow", "24h") >= 3`, `now.getHours() > 3`}
	matched, missing := replayable(t, when...).Replay(t.Context(), vars(""), knowing())
	require.Empty(t, missing)
	require.Equal(t, compile(t, when...).Match(t.Context(), vars("")), matched)
}
