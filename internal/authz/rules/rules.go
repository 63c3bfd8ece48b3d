// Package rules evaluates the conditions of a policy's rules: CEL expressions over a request, the subject and its recent
// decisions, checked against the action's context_schema when the policy version is created.
//
// The package is pure: no clock, no randomness, no I/O; the time and every count are arguments. The cost of an evaluation is
// bounded by an estimate at compilation and by a limit at evaluation. Compile returns a Set, which is immutable and safe for
// concurrent use. What the requirements of the rules that match lead to is decided by internal/authz/policy.
package rules

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/big"
	"slices"

	"cel.dev/cel-go/cel"

	"github.com/countersign-dev/countersign/internal/authz/aggregate"
	"github.com/countersign-dev/countersign/internal/authz/policy"
)

// Bounds of a rule.
const (
	// MaxWhen is the maximum length of a condition in characters, and maxDepth of its nesting.
	MaxWhen  = 2000
	maxDepth = 40
	// MaxCost limits one evaluation, in the cost units of cel-go, each at most some 100 ns.
	MaxCost = 10_000
	// MaxCounts is the maximum number of different counts and aggregates of a policy. Each is a range of an index.
	MaxCounts = 16
)

// Fault is a reason why a rule cannot be used.
type Fault struct {
	Rule   int // position in the list
	Name   string
	Line   int // in the condition, from 1
	Column int // in characters, from 1
	Why    string
}

// Error returns the place and the reason.
func (f Fault) Error() string { return fmt.Sprintf("line %d column %d: %s", f.Line, f.Column, f.Why) }

// Set is the compiled rules of a policy version. The zero value and nil have no rules.
type Set struct {
	rules  []compiled
	shape  *object // of the context
	plan   aggregate.Plan
	uses   []string // variables that a rule reads
	asked  []string // those of uses that a request has
	reads  []string // top-level properties of the context that a rule reads
	counts []Count
	most   map[Count]int // where each of counts stops
	// aggregates are the numbers computed from stored values; limits are explained at analysis.
	aggregates []Aggregate
	limits     map[Aggregate]*big.Rat
	lists      []UsedList // the place of each is in its first rule
}

// compiled is one rule.
type compiled struct {
	policy.Rule
	program    cel.Program
	reads      []path
	values     []path // of reads, those that it does more with than to test their presence
	counts     []Count
	most       map[Count]int // where each of counts can stop without changing the result
	request    bool          // reads the context, the resource's id, an aggregate or a list, none of which a follow-up decision knows
	aggregates []Aggregate
	limits     map[Aggregate]*big.Rat
	adds       map[Aggregate]path // the amount of the request that it adds to a number before it compares
	lists      []UsedList
	nevers     []Fault  // parts of a time that never occur
	evaded     []string // properties of the context without which a request can skip the rule
}

// Compile compiles rules against a context_schema, which is a valid JSON Schema of an object. It returns every fault.
func Compile(list []policy.Rule, schema map[string]any) (*Set, []Fault) {
	set, faults := compileSet(list, schema, false)
	if set != nil {
		for i, rule := range set.rules {
			for _, f := range rule.nevers {
				f.Rule, f.Name = i, rule.Name
				faults = append(faults, f)
			}
		}
	}
	if len(faults) > 0 {
		return nil, faults
	}
	return set, nil
}

// CompileStored compiles the rules of a stored policy version. A rule that compiled when it was stored and does not any more
// always applies, as one that cannot be evaluated.
func CompileStored(list []policy.Rule, schema map[string]any) *Set {
	set, _ := compileSet(list, schema, false)
	return set
}

// compileSet compiles rules, for Replay if replay is set. Those with a fault have no program.
func compileSet(list []policy.Rule, schema map[string]any, replay bool) (*Set, []Fault) {
	if len(list) == 0 {
		return nil, nil
	}
	set := &Set{shape: shapeOf(schema), plan: planOf(schema), most: map[Count]int{}, limits: map[Aggregate]*big.Rat{}}
	env, err := newEnvironment(set.shape, set.plan)
	if err != nil {
		for _, rule := range list {
			set.add(compiled{Rule: rule})
		}
		return set, []Fault{{Name: list[0].Name, Line: 1, Column: 1, Why: "the context_schema has no types that rules can use: " + err.Error()}}
	}
	env.replay = replay
	var faults []Fault
	for i, rule := range list {
		made, found := env.compile(rule)
		for _, f := range found {
			f.Rule, f.Name = i, rule.Name
			faults = append(faults, f)
		}
		set.add(made)
	}
	if n := len(set.counts) + len(set.aggregates); n > MaxCounts {
		last := len(list) - 1
		why := fmt.Sprintf("the rules of a policy read at most %d different counts, sums and values, and these read %d", MaxCounts, n)
		faults = append(faults, Fault{Rule: last, Name: list[last].Name, Line: 1, Column: 1, Why: why})
	}
	return set, faults
}

// add appends a rule with what it reads.
func (s *Set) add(rule compiled) {
	s.rules = append(s.rules, rule)
	for _, p := range rule.reads {
		if !slices.Contains(s.uses, p[0]) {
			s.uses = append(s.uses, p[0])
			if slices.Contains(requestVars, p[0]) {
				s.asked = append(s.asked, p[0])
			}
		}
		if p[0] == varContext && len(p) > 1 && !slices.Contains(s.reads, p[1]) {
			s.reads = append(s.reads, p[1])
		}
	}
	for _, c := range rule.counts {
		if !slices.Contains(s.counts, c) {
			s.counts = append(s.counts, c)
		}
		s.most[c] = max(s.most[c], rule.most[c])
	}
	for _, l := range rule.lists {
		if !slices.ContainsFunc(s.lists, func(m UsedList) bool { return m.Name == l.Name }) {
			l.At.Rule, l.At.Name = len(s.rules)-1, rule.Name
			s.lists = append(s.lists, l)
		}
	}
	for _, g := range rule.aggregates {
		if slices.Contains(s.aggregates, g) {
			s.limits[g] = higher(s.limits[g], rule.limits[g])
		} else {
			s.aggregates, s.limits[g] = append(s.aggregates, g), rule.limits[g]
		}
	}
}

// planOf returns the fields by which rules can count. A schema that declares them wrongly is refused elsewhere.
func planOf(schema map[string]any) aggregate.Plan {
	raw, err := json.Marshal(schema)
	if err != nil {
		return aggregate.Plan{}
	}
	plan, _ := aggregate.Parse(raw)
	return plan
}

// Empty reports whether there is no rule.
func (s *Set) Empty() bool { return s == nil || len(s.rules) == 0 }

// Counts returns the counts of decisions that the rules read.
func (s *Set) Counts() []Count {
	if s == nil {
		return nil
	}
	return s.counts
}

// Most returns where a count stops: from this number on, at most MaxCounted, no rule has another result.
func (s *Set) Most(c Count) int { return s.most[c] }

// again reports whether MatchAgain evaluates the rule.
func (r compiled) again() bool { return !r.request || r.recounts() }

// recounts reports whether the rule limits a resource. A request that waits reserves room under such a limit for a limited time only, so that
// its follow-up decision reads the numbers of the resource anew.
func (r compiled) recounts() bool {
	return r.Reserve && slices.ContainsFunc(r.aggregates, func(g Aggregate) bool { return g.Resource })
}

// Recount lists the values that a follow-up decision needs to evaluate the rules again that limit a resource; nothing if there are none.
type Recount struct {
	Aggregates []Aggregate
	Context    [][]string // the properties that the rules read; a path without a step is the whole context
	Resource   bool       // they read the id of the resource
}

// Recount returns what the rules that limit a resource read.
func (s *Set) Recount() Recount {
	var out Recount
	if s == nil {
		return out
	}
	for _, r := range s.rules {
		if !r.recounts() {
			continue
		}
		out.Aggregates = union(out.Aggregates, r.aggregates)
		for _, p := range r.reads {
			switch {
			case p[0] == varContext:
				out.Context = append(out.Context, p[1:])
			case p.ofRequest():
				out.Resource = true
			}
		}
	}
	for _, g := range out.Aggregates {
		if f, _ := s.plan.Field(g.Field); g.IsSum() && f.CurrencyPath != nil {
			out.Context = append(out.Context, f.CurrencyPath)
		}
	}
	return out
}

// AgainCounts returns the counts that rules read which MatchAgain evaluates.
func (s *Set) AgainCounts() []Count {
	var out []Count
	if s == nil {
		return nil
	}
	for _, r := range s.rules {
		for _, c := range r.counts {
			if r.again() && !slices.Contains(out, c) {
				out = append(out, c)
			}
		}
	}
	return out
}

// ReadsContext returns the properties of the context that the rules read, as the names of the properties from the context down.
func (s *Set) ReadsContext() [][]string {
	var out [][]string
	if s == nil {
		return nil
	}
	for _, r := range s.rules {
		for _, p := range r.reads {
			if p[0] == varContext && !slices.ContainsFunc(out, func(q []string) bool { return slices.Equal(q, p[1:]) }) {
				out = append(out, slices.Clone(p[1:]))
			}
		}
	}
	slices.SortFunc(out, slices.Compare[[]string])
	return out
}

// ReadsResource reports whether a rule reads the id of the resource.
func (s *Set) ReadsResource() bool {
	return s != nil && slices.ContainsFunc(s.rules, func(r compiled) bool {
		return slices.ContainsFunc(r.reads, func(p path) bool { return p[0] == varResource && p.ofRequest() })
	})
}

// compareFaults orders faults by their place.
func compareFaults(a, b Fault) int { return cmp.Or(a.Line-b.Line, a.Column-b.Column) }
