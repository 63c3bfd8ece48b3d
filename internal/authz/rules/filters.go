package rules

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/parser"

	"github.com/countersign-dev/countersign/internal/authz/aggregate"
	"github.com/countersign-dev/countersign/internal/authz/annotation"
	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/platform/canonical"
)

// byPerson is the name by which a filter selects what no person approved: what was allowed without a challenge, a hold or a standing
// approval. A property of this name cannot be filtered by.
const byPerson = "approved_by_person"

// Sought is a value that a number seeks, or by which it is filtered: a property of the context, or a literal.
type Sought struct {
	Field string
	Value string // the path of a property from the context on, or the literal: a text in quotes, a number, true or false
}

// Path returns the property of the context with the value, or that it is a literal.
func (s Sought) Path() (path []string, literal bool) {
	p := strings.Split(s.Value, ".")
	return p[1:], p[0] != varContext
}

// In returns the value for a decoded context; false if the context does not have it.
func (s Sought) In(context map[string]any) (value any, given bool) {
	path, literal := s.Path()
	if !literal {
		value, given = annotation.Lookup(context, path)
		return value, given && value != nil
	}
	if text, err := strconv.Unquote(s.Value); err == nil {
		return text, true
	}
	if s.Value == "true" || s.Value == "false" {
		return s.Value == "true", true
	}
	return json.Number(s.Value), true
}

// Filter says what the requests that a number counts have in common. It is empty for all requests.
type Filter string

// filterOf returns the filter of values that differ in their fields.
func filterOf(by []Sought) Filter {
	if len(by) == 0 {
		return ""
	}
	by = slices.SortedFunc(slices.Values(by), func(a, b Sought) int { return strings.Compare(a.Field, b.Field) })
	text, _ := json.Marshal(by) // of texts
	return Filter(text)
}

func (f Filter) parts() []Sought {
	var out []Sought
	if f != "" {
		_ = json.Unmarshal([]byte(f), &out) // made by filterOf
	}
	return out
}

// By returns the values by which requests are selected, without Unapproved.
func (f Filter) By() []Sought {
	return slices.DeleteFunc(f.parts(), func(s Sought) bool { return s.Field == byPerson })
}

// Unapproved reports whether only what no person approved is counted.
func (f Filter) Unapproved() bool {
	return slices.ContainsFunc(f.parts(), func(s Sought) bool { return s.Field == byPerson })
}

// text is the filter as a further argument of a function; empty if there is none.
func (f Filter) text() string {
	if f == "" {
		return ""
	}
	var parts []string
	for _, s := range f.parts() {
		parts = append(parts, fmt.Sprintf("%q: %s", s.Field, s.Value))
	}
	return ", {" + strings.Join(parts, ", ") + "}"
}

// words is the filter for a person, such as ", same payee, approved by no person".
func (f Filter) words(plan aggregate.Plan) string {
	var out strings.Builder
	for _, s := range f.By() {
		field, _ := plan.Field(s.Field)
		label := field.Label
		if label == "" {
			label = strings.NewReplacer(".", " ", "_", " ").Replace(s.Field)
		}
		if _, literal := s.Path(); literal {
			out.WriteString(", " + label + " " + s.Value)
		} else {
			out.WriteString(", same " + label)
		}
	}
	if f.Unapproved() {
		out.WriteString(", approved by no person")
	}
	return out.String()
}

// filtered is the hidden function around a number with a filter: the number itself. Its second argument are the values of the filter, so that
// they are checked like any other.
const filtered = "@filtered"

func filterFunction() cel.EnvOption {
	values := types.NewListType(types.DynType)
	number := cel.BinaryBinding(func(n, _ ref.Val) ref.Val { return n })
	return cel.Function(filtered, cel.Overload("filtered_sum", []*types.Type{decimalType, values}, decimalType, number),
		cel.Overload("filtered_number", []*types.Type{types.IntType, values}, types.IntType, number))
}

// filter parses the last argument of a function, and returns the values in it besides.
func (m macros) filter(eh parser.ExprHelper, function string, args []ast.Expr) (Filter, []ast.Expr, *cel.Error) {
	last := args[len(args)-1]
	form := fmt.Sprintf(`argument %d of %s() is a filter, such as {"payee": context.payee}`, len(args), function)
	if last.Kind() != ast.MapKind || last.AsMap().Size() == 0 {
		return "", nil, eh.NewError(last.ID(), form)
	}
	var by []Sought
	var values []ast.Expr
	for _, e := range last.AsMap().Entries() {
		entry := e.AsMapEntry()
		name, ok := stringLiteral(entry.Key())
		switch {
		case !ok || entry.IsOptional():
			return "", nil, eh.NewError(entry.Key().ID(), form)
		case slices.ContainsFunc(by, func(s Sought) bool { return s.Field == name }):
			return "", nil, eh.NewError(entry.Key().ID(), fmt.Sprintf("the filter names %q twice", name))
		}
		s := Sought{Field: name}
		if s.Value, ok = operandText(entry.Value()); name == byPerson {
			if s.Value != "false" {
				return "", nil, eh.NewError(entry.Value().ID(), `"`+byPerson+`" of a filter is false, which selects what no person approved`)
			}
			by = append(by, s)
			continue
		}
		if why := m.undeclared(name, aggregate.Distinct); why != "" {
			return "", nil, eh.NewError(entry.Key().ID(), why)
		}
		if !ok {
			return "", nil, eh.NewError(entry.Value().ID(), fmt.Sprintf("the filter compares %q with a property of the context or a literal", name))
		}
		by, values = append(by, s), append(values, entry.Value())
	}
	return filterOf(by), values, nil
}

// operandText returns a property of the context or a literal as Sought writes it.
func operandText(e ast.Expr) (string, bool) {
	if p := pathOf(e); len(p) > 1 && p[0] == varContext {
		return p.String(), true
	}
	if e.Kind() != ast.LiteralKind {
		return "", false
	}
	switch v := e.AsLiteral().(type) {
	case types.String:
		return strconv.Quote(string(v)), true
	case types.Bool:
		return strconv.FormatBool(bool(v)), true
	case types.Int:
		return strconv.FormatInt(int64(v), 10), true
	case types.Double:
		return strconv.FormatFloat(float64(v), 'f', -1, 64), true
	default:
		return "", false
	}
}

// decisions expands decisions() with a filter.
func (m macros) decisions(eh parser.ExprHelper, target ast.Expr, args []ast.Expr) (ast.Expr, *cel.Error) {
	if target.Kind() != ast.IdentKind || target.AsIdent() != varSubject {
		return nil, eh.NewError(target.ID(), decisionsForm)
	}
	texts, fault := literals(eh, functionDecisions, args, 0, 1, 2)
	if fault != nil {
		return nil, fault
	}
	c := Count{Action: texts[0], Outcome: texts[1], Window: texts[2]}
	if at, why := c.fault(); why != "" {
		return nil, eh.NewError(args[at].ID(), fmt.Sprintf("argument %d of subject.decisions() is %s", at+1, why))
	}
	filter, values, fault := m.filter(eh, functionDecisions, args)
	if fault != nil {
		return nil, fault
	}
	if fault := unapprovedFault(eh, filter, c.Outcome, args[1]); fault != nil {
		return nil, fault
	}
	if by := filter.By(); len(by) > 0 {
		g := Aggregate{Function: functionDecisions, Field: by[0].Field, Action: c.Action, Outcome: c.Outcome, Window: c.Window, Filter: filter}
		return filteredEntry(eh, g, values), nil
	}
	c.Unapproved = true
	return eh.NewCall(operators.Index, eh.NewIdent(varCounts), eh.NewLiteral(types.String(c.key()))), nil
}

// unapprovedFault refuses a filter by approvals of what was not allowed.
func unapprovedFault(eh parser.ExprHelper, f Filter, outcome string, at ast.Expr) *cel.Error {
	if f.Unapproved() && outcome != string(policy.Allow) {
		return eh.NewError(at.ID(), `a filter with "`+byPerson+`" selects among what was allowed: the outcome is "allow"`)
	}
	return nil
}

// filteredEntry returns the entry of a number in its hidden variable, with the values of its filter.
func filteredEntry(eh parser.ExprHelper, g Aggregate, values []ast.Expr) ast.Expr {
	entry := entryOf(eh, g)
	if len(values) == 0 {
		return entry
	}
	return eh.NewCall(filtered, entry, eh.NewList(values...))
}

// aggregateOf returns the number that an expression is, and the values of its filter.
func aggregateOf(e ast.Expr) (g Aggregate, values []ast.Expr, ok bool) {
	if isCall(e, filtered) {
		values = e.AsCall().Args()[1].AsList().Elements()
		e = e.AsCall().Args()[0]
	}
	if !isEntryOf(e, varSums) && !isEntryOf(e, varNumbers) {
		return g, nil, false
	}
	key, _ := stringLiteral(e.AsCall().Args()[1])
	return aggregateFrom(key), values, true
}

// equalable refuses a value of a filter that the property never has.
func (a *analysis) equalable(by []Sought, values []ast.Expr) {
	for _, e := range values {
		text, _ := operandText(e)
		for _, s := range by {
			if s.Value != text {
				continue
			}
			of := a.sizes.of(append([]string{varContext}, strings.Split(s.Field, ".")...))
			if of == nil {
				continue
			}
			own, other := of.typ.Kind(), a.tree.GetType(e.ID()).Kind()
			if comparedKind(own) != comparedKind(other) && own != types.DynKind && other != types.DynKind {
				a.fault(e.ID(), fmt.Sprintf("the filter compares %q, of the type %s, with a value of the type %s", s.Field, typeText(of.typ.String()), typeText(a.tree.GetType(e.ID()).String())))
			} else if literal, is := stringLiteral(e); is && len(of.enum) > 0 && !slices.ContainsFunc(of.enum, func(v string) bool { return canonical.Normal(v) == canonical.Normal(literal) }) {
				a.fault(e.ID(), fmt.Sprintf("%s is never %q; it is one of %s", s.Field, literal, strings.Join(of.enum, ", ")))
			}
		}
	}
}

// comparedKind is the kind of a value as it is compared: numbers are compared with each other.
func comparedKind(k types.Kind) types.Kind {
	if k == types.IntKind {
		return types.DoubleKind
	}
	return k
}
