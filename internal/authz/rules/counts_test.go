package rules_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/authz/rules"
)

func TestCountStopsAboveTheLiterals(t *testing.T) {
	t.Parallel()
	const a, b = `subject.decisions("a", "allow", "1h")`, `subject.decisions("b", "allow", "1h")`
	for when, most := range map[string]int{
		a + ` >= 3`: 4, a + ` > 3`: 4, a + ` < 3`: 4, a + ` <= 3`: 4, a + ` == 3`: 4, a + ` != 3`: 4, `3 <= ` + a: 4,
		a + ` == -3`: 1, a + ` >= 999`: 1000, a + ` >= 9223372036854775807`: 1000,
		a + ` > 1 && ` + a + ` < 20`: 21, a + ` > ` + b: 1000, a + ` + 1 > 3`: 1000, a + ` in [1, 2]`: 1000, a + ` > subject.passkeys`: 1000,
	} {
		t.Run(when, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, most, compile(t, when).Most(rules.Count{Action: "a", Outcome: "allow", Window: "1h"}))
		})
	}
	require.Equal(t, 21, compile(t, a+` > 20`, a+` > 2`).Most(rules.Count{Action: "a", Outcome: "allow", Window: "1h"}), "the highest of all rules")
}

func TestStoppedCountDecidesAsTheWholeOne(t *testing.T) {
	t.Parallel()
	count := rules.Count{Action: "a", Outcome: "allow", Window: "1h"}
	holds := map[string]func(n, limit int) bool{
		">=": func(n, limit int) bool { return n >= limit }, ">": func(n, limit int) bool { return n > limit },
		"<=": func(n, limit int) bool { return n <= limit }, "<": func(n, limit int) bool { return n < limit },
		"==": func(n, limit int) bool { return n == limit }, "!=": func(n, limit int) bool { return n != limit },
	}
	for sign, want := range holds {
		for _, limit := range []int{-2, 0, 1, 5, 999} {
			set := compile(t, fmt.Sprintf(`subject.decisions("a", "allow", "1h") %s %d`, sign, limit))
			for _, n := range []int{0, 1, 2, 4, 5, 6, 7, 998, 999, 1000, 5000} {
				v := vars("")
				v.Counts = map[rules.Count]int{count: n}
				stopped := v
				stopped.Counts = map[rules.Count]int{count: min(n, set.Most(count))}
				require.Equal(t, want(n, limit), len(set.Match(t.Context(), v)) == 1, "%d %s %d", n, sign, limit)
				require.Equal(t, set.Match(t.Context(), v), set.Match(t.Context(), stopped), "%d %s %d", n, sign, limit)
			}
		}
	}
}

func TestCountsForARequest(t *testing.T) {
	t.Parallel()
	a, b := rules.Count{Action: "a", Outcome: "allow", Window: "1h"}, rules.Count{Action: "b", Outcome: "any", Window: "7d"}
	counts := map[string][]rules.Count{
		`context.amount > 300.0 && ` + a1 + ` > 1`:                              nil, // the amount is 250.5
		a1 + ` > 1 && context.amount > 300.0`:                                   nil,
		`context.amount > 200.0 && ` + a1 + ` > 1`:                              {a},
		`context.amount > 300.0 || ` + a1 + ` > 1`:                              {a},
		`resource.type == "card" && ` + a1 + ` > 1`:                             nil,
		`subject.passkeys == 5 && ` + a1 + ` > 1`:                               {a}, // not known before the facts are read
		`context.currency == "EUR" ? ` + a1 + ` > 1 : ` + b1 + ` > 1`:           {a, b},
		`context.currency == "USD" && (` + a1 + ` > 1 || ` + b1 + ` > 1)`:       nil,
		`has(context.exact) && decimal(context.exact) > 1 && ` + a1 + ` > 1`:    nil,
		`context.lines.exists(l, l.sum > 1.0) && ` + a1 + ` > 1`:                nil,
		`now.getHours() == 3 && assurance.coverage == "none" && ` + a1 + ` > 1`: {a},
	}
	for when, want := range counts {
		t.Run(when, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, want, compile(t, when).CountsFor(t.Context(), vars("")))
		})
	}
	both := compile(t, `context.amount > 300.0 && `+a1+` > 1`, `context.amount > 200.0 && `+a1+` > 2`, a1+` > 3 || `+b1+` > 1`)
	require.Equal(t, []rules.Count{a, b}, both.CountsFor(t.Context(), vars("")))

	var none *rules.Set
	require.Empty(t, none.CountsFor(t.Context(), vars("")))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.Equal(t, []rules.Count{a, b}, both.CountsFor(ended, vars("")), "what cannot be evaluated is counted")
}

const a1, b1 = `subject.decisions("a", "allow", "1h")`, `subject.decisions("b", "any", "7d")`

// Without the counts that it does not need, a decision has the same rules.
func TestCountsThatAreNotReadDecideNothing(t *testing.T) {
	t.Parallel()
	g := &generator{Rand: rand.New(rand.NewPCG(23, 1))}
	spared := 0
	for range 3000 {
		when := fmt.Sprintf("%s %s %s", g.of(aBool, 2), pick(g, []string{"&&", "&&", "||"}), g.of(aBool, 3))
		set, faults := rules.Compile([]policy.Rule{rule(when)}, schema(t, generatedSchema))
		if len(faults) > 0 || len(set.Counts()) == 0 {
			continue
		}
		v, _ := g.decision()
		asked, needed := v, map[rules.Count]int{}
		asked.Assurance, asked.Subject, asked.Counts, asked.Now = policy.Assurance{}, rules.Subject{}, nil, time.Time{}
		for _, c := range set.CountsFor(t.Context(), asked) {
			needed[c] = v.Counts[c]
		}
		if len(needed) < len(set.Counts()) {
			spared++
		}
		fewer := v
		fewer.Counts = needed
		require.Equal(t, set.Match(t.Context(), v), set.Match(t.Context(), fewer), "%s\nwith %s", when, v.Context)
	}
	require.Greater(t, spared, 50)
}
