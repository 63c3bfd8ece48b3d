package rules

import (
	"context"
	"errors"
	"slices"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"

	"github.com/countersign-dev/countersign/internal/authz/annotation"
	"github.com/countersign-dev/countersign/internal/authz/policy"
)

// Known reports whether a stored decision has the value of a variable or a property. The path begins with the variable; that of a
// list is "list" and its name. presence is set if a rule only tests whether the property is present.
type Known func(path []string, presence bool) bool

// Undecided is a rule of which it is not known whether it applies.
type Undecided struct {
	Rule    string
	Unknown []string // the values that it reads and that are not known, as the condition writes them
}

// CompileReplayable compiles rules for Replay. Conditions are the same as those of Compile; their evaluation costs more.
func CompileReplayable(list []policy.Rule, schema map[string]any) (*Set, []Fault) {
	return compileSet(list, schema, true)
}

// Replay returns the rules that apply to a stored decision, and those of which that depends on a value that is not known. A rule
// is decided in spite of an unknown value if it has the same result for every value. Counts that v lacks are not known.
func (s *Set) Replay(ctx context.Context, v Vars, known Known) ([]Match, []Undecided) {
	if s.Empty() {
		return nil, nil
	}
	var out replayed
	bound, unusable := s.bind(v)
	for _, r := range s.rules {
		out.add(r.replay(ctx, bound, unusable, known))
	}
	return out.matched, out.undecided
}

// ReplayAgain is Replay for a follow-up decision. earlier and undecided are the results of the decision that it follows. As in
// MatchAgain, a rule that applied still applies, and one that reads the request stays as it was, unless it limits a resource.
func (s *Set) ReplayAgain(ctx context.Context, v Vars, earlier []Earlier, undecided []Undecided, known Known) ([]Match, []Undecided) {
	if s.Empty() {
		return nil, nil
	}
	var out replayed
	bound, unusable := s.bind(v)
	for _, r := range s.rules {
		i := slices.IndexFunc(earlier, func(e Earlier) bool { return e.Name == r.Name })
		j := slices.IndexFunc(undecided, func(u Undecided) bool { return u.Rule == r.Name })
		stays := r.request && (!r.recounts() || v.Action.Mode != string(policy.ModeEnforce))
		switch {
		case i >= 0:
			out.matched = append(out.matched, r.earlier(earlier[i]))
		case stays && j >= 0:
			out.undecided = append(out.undecided, undecided[j])
		case stays:
		case j >= 0:
			if m, result := r.replay(ctx, bound, unusable, known); result.applies {
				out.matched = append(out.matched, m)
			} else {
				out.undecided = append(out.undecided, undecided[j])
			}
		default:
			out.add(r.replay(ctx, bound, unusable, known))
		}
	}
	return out.matched, out.undecided
}

// replayed collects the results of the rules in the order of the policy.
type replayed struct {
	matched   []Match
	undecided []Undecided
}

// replayResult is whether one rule applies, or else the values on which that depends.
type replayResult struct {
	applies bool
	rule    string
	unknown []string
}

// add files a result. A rule that does not apply leaves no trace, as in Match.
func (l *replayed) add(m Match, r replayResult) {
	switch {
	case len(r.unknown) > 0:
		l.undecided = append(l.undecided, Undecided{r.rule, r.unknown})
	case r.applies:
		l.matched = append(l.matched, m)
	}
}

// replay evaluates the condition with the known values. A rule that could not be evaluated applies, as in Match, unless the
// reason is that the request does not fit this context_schema: then it was made under a different one, and would be refused.
func (r compiled) replay(ctx context.Context, bound map[string]any, unusable map[string]error, known Known) (Match, replayResult) {
	patterns, unknown := r.unknown(bound, unusable, known)
	vars, err := cel.PartialVars(bound, patterns...)
	if err != nil {
		return Match{}, replayResult{rule: r.Name, unknown: unknown}
	}
	for _, p := range r.reads {
		if why := unusable[p.property()]; errors.Is(why, errInteger) {
			return r.failed(why), replayResult{applies: true}
		}
	}
	result, _, err := r.program.ContextEval(ctx, vars)
	switch {
	case err != nil:
		if missing := r.missing(bound); len(missing) > 0 {
			return Match{}, replayResult{rule: r.Name, unknown: missing}
		}
		return r.failed(err), replayResult{applies: true}
	case types.IsUnknown(result):
		return Match{}, replayResult{rule: r.Name, unknown: unknown}
	case result != types.True:
		return Match{}, replayResult{}
	default:
		return r.matched("matched: " + r.described(bound)), replayResult{applies: true}
	}
}

// unknown returns the patterns of the values that the rule reads and that are not known, and their names.
func (r compiled) unknown(bound map[string]any, unusable map[string]error, known Known) (patterns []*cel.AttributePatternType, names []string) {
	for _, p := range r.reads {
		presence := !slices.ContainsFunc(r.values, func(q path) bool { return slices.Equal(p, q) })
		if known(p, presence) && !errors.Is(unusable[p.property()], errForm) {
			continue
		}
		pattern := cel.AttributePattern(p[0])
		for _, step := range p[1:] {
			pattern = pattern.QualString(step)
		}
		patterns, names = append(patterns, pattern), append(names, p.String())
	}
	counts, _ := bound[varCounts].(map[string]int64)
	for _, c := range r.counts {
		if _, given := counts[c.key()]; !given {
			patterns, names = append(patterns, cel.AttributePattern(varCounts).QualString(c.key())), append(names, c.text())
		}
	}
	sums, _ := bound[varSums].(map[string]decimal)
	numbers, _ := bound[varNumbers].(map[string]int64)
	for _, g := range r.aggregates {
		_, sum := sums[g.key()]
		_, number := numbers[g.key()]
		if sum || number {
			continue
		}
		patterns, names = append(patterns, cel.AttributePattern(g.variable()).QualString(g.key())), append(names, g.text())
	}
	for _, l := range r.lists {
		if known(path{"list", l.Name}, false) {
			continue
		}
		patterns, names = append(patterns, cel.AttributePattern(varLists).QualString(l.Name)), append(names, listText(l.Name))
	}
	return patterns, names
}

// missing returns the properties of the context that the rule reads as required ones and that the request lacks. A key of a map
// that is absent is not among them: reading it fails in a request as well.
func (r compiled) missing(bound map[string]any) []string {
	var names []string
	for _, p := range r.values {
		if p[0] != varContext {
			continue
		}
		sent, _ := bound[varContext].(map[string]any)
		if _, given := annotation.Lookup(sent, p[1:]); !given {
			names = append(names, p.String())
		}
	}
	return names
}

// property is the property of the context that a path begins with; empty for another variable.
func (p path) property() string {
	if p[0] != varContext || len(p) == 1 {
		return ""
	}
	return p[1]
}
