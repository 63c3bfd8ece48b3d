package statements

import (
	"slices"
	"strings"
)

// plan is a node of what "explain (verbose, format json)" returns.
type plan struct {
	NodeType    string   `json:"Node Type"`
	Role        string   `json:"Parent Relationship"` // of a plan inside another: "Outer" for the one whose rows it reads
	Operation   string   `json:"Operation"`
	Relation    string   `json:"Relation Name"`
	Alias       string   `json:"Alias"`
	Output      []string `json:"Output"`
	IndexCond   string   `json:"Index Cond"`
	RecheckCond string   `json:"Recheck Cond"`
	Filter      string   `json:"Filter"`
	HashCond    string   `json:"Hash Cond"`
	MergeCond   string   `json:"Merge Cond"`
	JoinFilter  string   `json:"Join Filter"`
	Plans       []plan   `json:"Plans"`
}

// source returns the plan whose rows this one reads. The queries of "with" come before it.
func (p plan) source() (plan, bool) {
	i := slices.IndexFunc(p.Plans, func(inner plan) bool { return inner.Role == "Outer" || inner.Role == "Subquery" })
	if i < 0 {
		return plan{}, false
	}
	return p.Plans[i], true
}

// every visits a plan and all that are inside it.
func (p plan) every(visit func(plan)) {
	visit(p)
	for _, inner := range p.Plans {
		inner.every(visit)
	}
}

// facts are the equations of environments that a plan has.
type facts struct {
	named map[string]bool     // aliases whose environment is an argument or a constant
	equal map[string][]string // aliases with the environment of another alias
}

// factsOf reads the equations of all conditions of a plan. Postgres derives the equations that follow from others for each
// scan itself: "a.environment_id = $1 and b.environment_id = a.environment_id" gives each of them its argument.
func factsOf(p plan) facts {
	f := facts{named: map[string]bool{}, equal: map[string][]string{}}
	p.every(func(node plan) {
		// The conditions of an outer join count too: they bind the rows that it may leave out.
		for _, cond := range []string{node.IndexCond, node.RecheckCond, node.Filter, node.HashCond, node.MergeCond, node.JoinFilter} {
			for _, term := range conjuncts(cond) {
				left, right, ok := strings.Cut(term, " = ")
				if !ok {
					continue
				}
				f.add(left, right)
				f.add(right, left)
			}
		}
	})
	return f
}

const environment = ".environment_id"

func (f facts) add(column, value string) {
	alias, ok := strings.CutSuffix(column, environment)
	if !ok || strings.ContainsAny(alias, " ()") {
		return
	}
	if other, ok := strings.CutSuffix(value, environment); ok {
		f.equal[alias] = append(f.equal[alias], other)
		return
	}
	if given(value) {
		f.named[alias] = true
	}
}

// given reports whether a value is an argument, such as $1 or ($1)::text, one of those in an argument, as of any($1), a constant, or a
// column of the rows that the statement gives.
func given(value string) bool {
	value = strings.TrimLeft(strings.TrimPrefix(value, "ANY "), "(")
	return strings.HasPrefix(value, "$") || strings.HasPrefix(value, "'") || strings.HasPrefix(value, `"*VALUES*"`)
}

// bound reports whether an alias has the environment of an argument, or of another alias that has.
func (f facts) bound(alias string, visited ...string) bool {
	return f.named[alias] || slices.ContainsFunc(f.equal[alias], func(other string) bool {
		return !slices.Contains(visited, other) && f.bound(other, append(visited, alias)...)
	})
}

// conjuncts returns the terms of a condition that are all required: of "((a = b) AND (c = d))" "a = b" and "c = d". A term with an
// "or" stays whole.
func conjuncts(cond string) []string {
	if cond == "" {
		return nil
	}
	parts, whole := split(cond)
	if len(parts) > 1 {
		var out []string
		for _, p := range parts {
			out = append(out, conjuncts(p)...)
		}
		return out
	}
	if whole {
		return conjuncts(cond[1 : len(cond)-1])
	}
	return []string{cond}
}

// split cuts a condition at the "and" outside of its parentheses. whole reports whether one pair of parentheses encloses all of it.
func split(cond string) (parts []string, whole bool) {
	depth, start, inText := 0, 0, false
	whole = cond[0] == '('
	for i, c := range []byte(cond) {
		switch {
		case c == '\'':
			inText = !inText
		case inText:
		case c == '(':
			depth++
		case c == ')':
			if depth--; depth == 0 && i < len(cond)-1 {
				whole = false
			}
		case depth == 0 && strings.HasPrefix(cond[i:], " OR "):
			return []string{cond}, false
		case depth == 0 && strings.HasPrefix(cond[i:], " AND "):
			parts, start = append(parts, cond[start:i]), i+len(" AND ")
		}
	}
	return append(parts, cond[start:]), whole
}
