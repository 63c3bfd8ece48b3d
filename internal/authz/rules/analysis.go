package rules

import (
	"fmt"
	"math/big"
	"slices"
	"strings"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/types"

	"github.com/countersign-dev/countersign/internal/authz/aggregate"
)

// path is a value that a condition reads: a variable and the properties below it.
type path []string

func (p path) String() string { return strings.Join(p, ".") }

// ofRequest reports whether the value is part of the request and is not stored with the decision.
func (p path) ofRequest() bool {
	return p[0] == varContext || (p[0] == varResource && (len(p) == 1 || p[1] == "id"))
}

// analysis examines a checked condition for what the type checker does not: properties that may be missing, and strings that a
// value can never equal. It also collects what the condition reads.
type analysis struct {
	tree    *ast.AST
	objects map[string]*object
	reads   []path
	values  []path // of reads, those that are more than a test of presence
	counts  []Count
	most    map[Count]int // where each count can stop without changing the result
	plan    aggregate.Plan
	sizes   sizes
	// aggregates are the numbers computed from stored values, and limits say above which value each may be any number; nil for none.
	aggregates []Aggregate
	limits     map[Aggregate]*big.Rat
	adds       map[Aggregate]path // the amount of the request that the condition adds to a number
	lists      []UsedList
	asks       int // questions of lists
	faults     []Fault
	nevers     []Fault // parts of a time that never occur
}

// visit examines an expression. Present lists the properties whose presence a has() around it has established.
func (a *analysis) visit(e ast.Expr, present []string) {
	switch e.Kind() {
	case ast.SelectKind:
		a.selection(e, present)
	case ast.IdentKind:
		a.read(e)
	case ast.CallKind:
		a.call(e, present)
	case ast.ListKind:
		for _, item := range e.AsList().Elements() {
			a.visit(item, present)
		}
	case ast.MapKind:
		for _, entry := range e.AsMap().Entries() {
			a.visit(entry.AsMapEntry().Key(), present)
			a.visit(entry.AsMapEntry().Value(), present)
		}
	case ast.ComprehensionKind:
		c := e.AsComprehension()
		// What is known about the items of one list says nothing about those of another with the same variable.
		inside := slices.DeleteFunc(slices.Clone(present), func(p string) bool {
			return p == c.IterVar() || strings.HasPrefix(p, c.IterVar()+".")
		})
		a.visit(c.IterRange(), present)
		for _, part := range []ast.Expr{c.AccuInit(), c.LoopCondition(), c.LoopStep(), c.Result()} {
			a.visit(part, inside)
		}
	}
}

// selection examines a.b or has(a.b).
func (a *analysis) selection(e ast.Expr, present []string) {
	s := e.AsSelect()
	f := a.fieldOf(e)
	if f != nil && f.optional && !s.IsTestOnly() && !slices.Contains(present, textOf(e)) {
		name := textOf(e)
		if name == "" {
			name = s.FieldName()
		}
		a.fault(e.ID(), fmt.Sprintf("%s can be missing or null: list it in required of context_schema, or test it first, as in has(%s) && ...", name, name))
	}
	if p := pathOf(e); p != nil {
		a.add(p)
		if !s.IsTestOnly() {
			a.values = append(a.values, p)
		}
		// The steps above may be missing as well; they are part of the same read.
		a.above(s.Operand(), present)
		return
	}
	a.visit(s.Operand(), present)
}

// above examines the operands of a selection without counting them as values that are read.
func (a *analysis) above(e ast.Expr, present []string) {
	if e.Kind() != ast.SelectKind {
		return
	}
	if f := a.fieldOf(e); f != nil && f.optional && !slices.Contains(present, textOf(e)) {
		a.fault(e.ID(), fmt.Sprintf("%s can be missing or null: list it in required of context_schema, or test it first, as in has(%s) && ...", textOf(e), textOf(e)))
	}
	a.above(e.AsSelect().Operand(), present)
}

// call examines a call. has() on one side of && or ||, or in the condition of ?:, establishes presence for the other sides.
func (a *analysis) call(e ast.Expr, present []string) {
	c := e.AsCall()
	args := c.Args()
	switch c.FunctionName() {
	case operators.LogicalAnd:
		for i, arg := range args {
			a.visit(arg, append(slices.Clone(present), others(args, i, true)...))
		}
		return
	case operators.LogicalOr:
		for i, arg := range args {
			a.visit(arg, append(slices.Clone(present), others(args, i, false)...))
		}
		return
	case operators.Conditional:
		a.visit(args[0], present)
		a.visit(args[1], append(slices.Clone(present), established(args[0], true)...))
		a.visit(args[2], append(slices.Clone(present), established(args[0], false)...))
		return
	case operators.Index:
		if isCount(e) {
			a.count(e, MaxCounted)
			return
		}
	}
	if isAggregate(e) {
		a.aggregate(e, nil, present)
		return
	}
	a.comparison(e)
	a.occurs(e)
	a.zone(e)
	if a.limit(e, present) {
		return
	}
	if c.IsMemberFunction() {
		a.visit(c.Target(), present)
	}
	for _, arg := range args {
		a.visit(arg, present)
	}
}

// others returns what the operands before position i establish. Evaluation order does not matter to && and ||, which ignore
// the error of one side if the other decides, but a reader expects the test first.
func others(args []ast.Expr, i int, truth bool) []string {
	var out []string
	for _, arg := range args[:i] {
		out = append(out, established(arg, truth)...)
	}
	return out
}

// established returns the properties that are present if an expression has this truth value.
func established(e ast.Expr, truth bool) []string {
	switch e.Kind() {
	case ast.SelectKind:
		if truth && e.AsSelect().IsTestOnly() {
			return []string{textOf(e)}
		}
	case ast.CallKind:
		c := e.AsCall()
		switch {
		case c.FunctionName() == operators.LogicalNot:
			return established(c.Args()[0], !truth)
		case c.FunctionName() == operators.LogicalAnd && truth, c.FunctionName() == operators.LogicalOr && !truth:
			return others(c.Args(), len(c.Args()), truth)
		}
	}
	return nil
}

// comparison refuses a comparison of a value that has few possible strings with another string, and its ordering, which would be
// alphabetical.
func (a *analysis) comparison(e ast.Expr) {
	c := e.AsCall()
	args := c.Args()
	if len(args) != 2 {
		return
	}
	switch c.FunctionName() {
	case operators.Equals, operators.NotEquals:
		a.possible(args[0], args[1])
		a.possible(args[1], args[0])
	case operators.In:
		if args[1].Kind() == ast.ListKind {
			for _, item := range args[1].AsList().Elements() {
				a.possible(args[0], item)
			}
		}
	case operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals:
		for _, arg := range args {
			if f := a.fieldOf(arg); f != nil && len(f.enum) > 0 {
				a.fault(arg.ID(), fmt.Sprintf("%s is one of %s, which have no order: use == or in [...]", textOf(arg), strings.Join(f.enum, ", ")))
			}
		}
	}
}

// possible checks that a value can equal a literal.
func (a *analysis) possible(value, literal ast.Expr) {
	f := a.fieldOf(value)
	s, ok := stringLiteral(literal)
	if f == nil || !ok || len(f.enum) == 0 || slices.Contains(f.enum, s) {
		return
	}
	a.fault(literal.ID(), fmt.Sprintf("%s is never %q; it is one of %s", textOf(value), s, strings.Join(f.enum, ", ")))
}

// zone refuses a time zone that no timestamp can be converted to: the condition would fail in every evaluation.
func (a *analysis) zone(e ast.Expr) {
	c := e.AsCall()
	if !c.IsMemberFunction() || len(c.Args()) != 1 || a.tree.GetType(c.Target().ID()).Kind() != types.TimestampKind {
		return
	}
	name, ok := stringLiteral(c.Args()[0])
	if !ok {
		return
	}
	if types.IsError(partInZone(overloads.TimeGetHours)(types.Timestamp{}, types.String(name))) {
		a.fault(c.Args()[0].ID(), fmt.Sprintf("%q is not a time zone: name one of the IANA database, such as \"Europe/Berlin\", or an offset, such as \"+02:00\"", name))
	}
}

// fieldOf returns the declared field that an expression selects; nil if it selects none.
func (a *analysis) fieldOf(e ast.Expr) *field {
	if e.Kind() != ast.SelectKind {
		return nil
	}
	of := a.tree.GetType(e.AsSelect().Operand().ID())
	if of.Kind() != types.StructKind {
		return nil
	}
	o := a.objects[of.TypeName()]
	if o == nil {
		return nil
	}
	return o.fields[e.AsSelect().FieldName()]
}

// read records a variable that is read as a whole.
func (a *analysis) read(e ast.Expr) {
	if p := pathOf(e); p != nil {
		a.add(p)
		a.values = append(a.values, p)
	}
}

func (a *analysis) add(p path) {
	if !slices.ContainsFunc(a.reads, func(q path) bool { return slices.Equal(p, q) }) {
		a.reads = append(a.reads, p)
	}
}

func (a *analysis) fault(id int64, why string) {
	if len(a.faults) < maxFaults {
		line, column := place(a.tree, id)
		a.faults = append(a.faults, Fault{Line: line, Column: column, Why: plain(why)})
	}
}

// pathOf returns the variable and the properties that an expression selects; nil if it begins with anything else.
func pathOf(e ast.Expr) path {
	switch e.Kind() {
	case ast.IdentKind:
		if name := e.AsIdent(); name == varContext || name == varAudience || name == varNow || fixed[name] != nil {
			return path{name}
		}
	case ast.SelectKind:
		if above := pathOf(e.AsSelect().Operand()); above != nil {
			return append(above, e.AsSelect().FieldName())
		}
	}
	return nil
}

// textOf writes a selection, also one of the variable of a comprehension; empty for anything else.
func textOf(e ast.Expr) string {
	switch e.Kind() {
	case ast.IdentKind:
		return e.AsIdent()
	case ast.SelectKind:
		if above := textOf(e.AsSelect().Operand()); above != "" {
			return above + "." + e.AsSelect().FieldName()
		}
	}
	return ""
}
