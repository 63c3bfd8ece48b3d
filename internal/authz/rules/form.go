package rules

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"cel.dev/cel-go/common"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/parser"
)

// Form is a condition that a person can build without writing one: tests of which all, or any, must be true. The console's builder shows
// its JSON.
type Form struct {
	Any   bool   `json:"any"`
	Tests []Test `json:"tests"`
}

// Test compares a value with an operand.
type Test struct {
	Value    string `json:"value"`    // as a condition writes it, such as context.amount
	Operator string `json:"operator"` // one of the operators of its kind
	Operand  string `json:"operand"`  // without quotes; of "one of" and "none of" one on each line
}

// The operators of a test that are not those of CEL.
const (
	testOneOf   = "one of"
	testNoneOf  = "none of"
	testListed  = "in list"
	testUnlist  = "not in list"
	testTrue    = "is true"
	testFalse   = "is false"
	testGiven   = "is given"
	testMissing = "is missing"
)

// binary are the operators between a value and a literal, and members the functions of a text.
var (
	binary = map[string]string{
		operators.Equals: "==", operators.NotEquals: "!=", operators.Less: "<", operators.LessEquals: "<=", operators.Greater: ">",
		operators.GreaterEquals: ">=",
	}
	members = map[string]string{overloads.Contains: "contains", overloads.StartsWith: "starts with", overloads.EndsWith: "ends with"}
)

// Builder translates conditions to forms and back, for one context_schema.
type Builder struct {
	env    environment
	schema map[string]any
}

// NewBuilder returns the Builder of a context_schema.
func NewBuilder(schema map[string]any) (*Builder, error) {
	env, err := newEnvironment(shapeOf(schema), planOf(schema))
	return &Builder{env: env, schema: schema}, err
}

// source parses conditions as they are written: only has() is expanded, so that every other call stays what its author wrote.
var source = func() *parser.Parser {
	p, err := parser.NewParser(parser.Macros(parser.HasMacro), parser.EnableIdentEscapeSyntax(true),
		parser.ExpressionSizeCodePointLimit(MaxWhen), parser.MaxRecursionDepth(maxDepth), parser.MaxExpressionNodeCount(MaxWhen))
	if err != nil {
		panic(err) // the options are constant
	}
	return p
}()

func parse(when string) (ast.Expr, bool) {
	tree, issues := source.Parse(common.NewTextSource(when))
	if len(issues.GetErrors()) > 0 {
		return nil, false
	}
	return tree.Expr(), true
}

// written returns an expression as a condition writes it.
func written(e ast.Expr, how ...parser.UnparserOption) string {
	text, err := parser.Unparse(e, ast.NewSourceInfo(nil), append(how, parser.EscapeIdentifiers(true))...)
	if err != nil {
		return ""
	}
	return text
}

// Format returns a condition with a line for each operand of && and ||. One that has lines or comments of its own, or that cannot be
// parsed, is returned unchanged.
func Format(when string) string {
	e, ok := parse(when)
	if !ok || strings.ContainsAny(when, "\n\r") || strings.Contains(when, "//") {
		return when
	}
	if out := written(e, parser.WrapOnColumn(1), parser.WrapAfterColumnLimit(false)); out != "" {
		return out
	}
	return when
}

// Form returns the form of a condition; false if no form says the same.
func (b *Builder) Form(when string) (Form, bool) {
	form := Form{Tests: []Test{}}
	if strings.TrimSpace(when) == "" {
		return form, true
	}
	e, ok := parse(when)
	if !ok {
		return form, false
	}
	operands := operandsOf(e, operators.LogicalAnd)
	if form.Any = isCall(e, operators.LogicalOr); form.Any {
		operands = operandsOf(e, operators.LogicalOr)
	}
	for _, operand := range operands {
		if form.Any { // its own guards come first
			chain := operandsOf(operand, operators.LogicalAnd)
			operand = chain[len(chain)-1]
		}
		test, ok := testOf(operand)
		if !ok {
			return form, false
		}
		form.Tests = append(form.Tests, test)
	}
	if !form.Any {
		form.Tests = b.unguarded(form.Tests)
	}
	// The form is right if its condition is the same up to the order of the operands.
	made, err := b.Text(form)
	if err != nil {
		return form, false
	}
	again, ok := parse(made)
	return form, ok && normal(again) == normal(e)
}

// unguarded leaves out the tests of presence that other tests need anyway.
func (b *Builder) unguarded(tests []Test) []Test {
	var needed []string
	for _, t := range tests {
		if t.Operator != testGiven && t.Operator != testMissing {
			needed = append(needed, b.guards(t.Value)...)
		}
	}
	return slices.DeleteFunc(tests, func(t Test) bool { return t.Operator == testGiven && slices.Contains(needed, t.Value) })
}

// isCall reports whether an expression is a call of a function.
func isCall(e ast.Expr, function string) bool {
	return e.Kind() == ast.CallKind && e.AsCall().FunctionName() == function
}

// operandsOf returns the operands of a chain of one operator; an expression without it is its only one.
func operandsOf(e ast.Expr, operator string) []ast.Expr {
	if !isCall(e, operator) {
		return []ast.Expr{e}
	}
	var out []ast.Expr
	for _, arg := range e.AsCall().Args() {
		out = append(out, operandsOf(arg, operator)...)
	}
	return out
}

// normal is the text of an expression with the operands of && and || sorted.
func normal(e ast.Expr) string {
	for _, operator := range []string{operators.LogicalAnd, operators.LogicalOr} {
		if isCall(e, operator) {
			var parts []string
			for _, o := range operandsOf(e, operator) {
				parts = append(parts, normal(o))
			}
			slices.Sort(parts)
			return "(" + strings.Join(slices.Compact(parts), operator) + ")"
		}
	}
	return written(e)
}

// testOf returns the test that an expression without && and || is.
func testOf(e ast.Expr) (Test, bool) {
	if isCall(e, operators.LogicalNot) {
		t, ok := testOf(e.AsCall().Args()[0])
		opposite := map[string]string{testTrue: testFalse, testGiven: testMissing, testListed: testUnlist, testOneOf: testNoneOf}[t.Operator]
		return Test{t.Value, opposite, t.Operand}, ok && opposite != ""
	}
	if e.Kind() == ast.SelectKind && e.AsSelect().IsTestOnly() {
		return Test{Value: written(e.AsSelect().Operand()) + "." + e.AsSelect().FieldName(), Operator: testGiven}, true
	}
	if e.Kind() != ast.CallKind {
		return Test{Value: written(e), Operator: testTrue}, isValue(e)
	}
	c := e.AsCall()
	switch {
	case binary[c.FunctionName()] != "":
		operand, ok := operandOf(c.Args()[1])
		return Test{written(c.Args()[0]), binary[c.FunctionName()], operand}, ok && isValue(c.Args()[0])
	case c.FunctionName() == operators.In:
		return membership(c.Args()[0], c.Args()[1])
	case c.IsMemberFunction() && members[c.FunctionName()] != "" && len(c.Args()) == 1:
		text, ok := stringLiteral(c.Args()[0])
		return Test{written(c.Target()), members[c.FunctionName()], text}, ok && isValue(c.Target())
	default:
		return Test{Value: written(e), Operator: testTrue}, isValue(e)
	}
}

// membership returns the test of X in [...] or X in list("NAME").
func membership(value, in ast.Expr) (Test, bool) {
	t := Test{Value: written(value), Operator: testListed}
	if in.Kind() == ast.CallKind && in.AsCall().FunctionName() == "list" && len(in.AsCall().Args()) == 1 {
		var ok bool
		t.Operand, ok = stringLiteral(in.AsCall().Args()[0])
		return t, ok && isValue(value)
	}
	if in.Kind() != ast.ListKind {
		return t, false
	}
	var all []string
	for _, item := range in.AsList().Elements() {
		text, ok := operandOf(item)
		if !ok {
			return t, false
		}
		all = append(all, text)
	}
	t.Operator, t.Operand = testOneOf, strings.Join(all, "\n")
	return t, isValue(value)
}

// operandOf returns a literal without its quotes: a text, a number, a duration or a decimal.
func operandOf(e ast.Expr) (string, bool) {
	if text, ok := stringLiteral(e); ok {
		return text, true
	}
	switch e.Kind() {
	case ast.LiteralKind:
		switch n := e.AsLiteral().(type) {
		case types.Int:
			return strconv.FormatInt(int64(n), 10), true
		case types.Double: // with its point, so that it stays a double
			text := strconv.FormatFloat(float64(n), 'f', -1, 64)
			if !strings.Contains(text, ".") {
				text += ".0"
			}
			return text, true
		}
	case ast.CallKind:
		c := e.AsCall()
		if slices.Contains([]string{"decimal", overloads.TypeConvertDuration, overloads.TypeConvertTimestamp}, c.FunctionName()) && len(c.Args()) == 1 {
			return stringLiteral(c.Args()[0])
		}
	}
	return "", false
}

// isValue reports whether an expression is one value and not a test: a property, or a function or arithmetic of values.
func isValue(e ast.Expr) bool {
	switch e.Kind() {
	case ast.IdentKind:
		return true
	case ast.SelectKind:
		return !e.AsSelect().IsTestOnly() && isValue(e.AsSelect().Operand())
	case ast.CallKind:
		c := e.AsCall()
		logical := []string{operators.LogicalAnd, operators.LogicalOr, operators.LogicalNot, operators.Conditional, operators.In}
		if binary[c.FunctionName()] != "" || slices.Contains(logical, c.FunctionName()) || c.IsMemberFunction() && !isValue(c.Target()) {
			return false
		}
		return !slices.ContainsFunc(c.Args(), func(arg ast.Expr) bool { return arg.Kind() != ast.LiteralKind && !isFilter(arg) && !isValue(arg) })
	default:
		return false
	}
}

// isFilter reports whether an argument is a filter.
func isFilter(arg ast.Expr) bool {
	return arg.Kind() == ast.MapKind && !slices.ContainsFunc(arg.AsMap().Entries(), func(e ast.EntryExpr) bool {
		_, operand := operandText(e.AsMapEntry().Value())
		return !operand
	})
}

// guards returns the properties that a value reads and that can be missing, from the context down.
func (b *Builder) guards(value string) []string {
	e, ok := parse(value)
	if !ok {
		return nil
	}
	var out []string
	ast.PreOrderVisit(e, ast.NewExprVisitor(func(at ast.Expr) {
		p := pathOf(at)
		if len(p) < 2 {
			return
		}
		o := fixed[p[0]]
		if p[0] == varContext {
			o = b.env.sizes.context
		}
		for n := 1; n < len(p) && o != nil; n++ {
			f := o.fields[p[n]]
			if f == nil {
				return
			}
			if name := p[:n+1].String(); f.optional && !slices.Contains(out, name) {
				out = append(out, name)
			}
			o = f.object
		}
	}))
	slices.SortStableFunc(out, func(a, b string) int { return len(a) - len(b) })
	return out
}

// Text returns the condition that a form makes, with a line for each test. It tests the presence of what can be missing.
func (b *Builder) Text(f Form) (string, error) {
	var parts, known []string
	for _, t := range f.Tests {
		text, err := b.test(t)
		if err != nil {
			return "", err
		}
		var chain []string
		if t.Operator != testGiven && t.Operator != testMissing {
			for _, name := range b.guards(t.Value) {
				if !slices.Contains(known, name) {
					chain = append(chain, "has("+name+")")
					if !f.Any {
						known = append(known, name)
					}
				}
			}
		}
		if t.Operator == testMissing == f.Any {
			known = append(known, t.Value) // any: the other tests matter only if it is there
		}
		chain = append(chain, text)
		if f.Any && len(chain) > 1 {
			parts = append(parts, "("+strings.Join(chain, " && ")+")")
		} else {
			parts = append(parts, chain...)
		}
	}
	if f.Any {
		return strings.Join(parts, "\n|| "), nil
	}
	return strings.Join(parts, "\n&& "), nil
}

// test returns one test as a condition writes it.
func (b *Builder) test(t Test) (string, error) {
	e, ok := parse(t.Value)
	if !ok || !isValue(e) {
		return "", errors.New("choose the value that the test reads")
	}
	kind := b.kindOf(t.Value)
	switch t.Operator {
	case testTrue:
		return t.Value, nil
	case testFalse:
		return "!" + t.Value, nil
	case testGiven:
		return "has(" + t.Value + ")", nil
	case testMissing:
		return "!has(" + t.Value + ")", nil
	case testListed, testUnlist:
		if !ListName.MatchString(t.Operand) {
			return "", errors.New("name a list of the environment, such as trusted_payees")
		}
		return negated(t.Operator == testUnlist, t.Value+" in list("+strconv.Quote(t.Operand)+")"), nil
	case testOneOf, testNoneOf:
		var all []string
		for line := range strings.SplitSeq(t.Operand, "\n") {
			if strings.TrimSpace(line) == "" {
				continue
			}
			text, err := literal(kind, "==", line)
			if err != nil {
				return "", err
			}
			all = append(all, text)
		}
		return negated(t.Operator == testNoneOf, t.Value+" in ["+strings.Join(all, ", ")+"]"), nil
	}
	for function, operator := range members {
		if operator == t.Operator {
			return t.Value + "." + function + "(" + strconv.Quote(t.Operand) + ")", nil
		}
	}
	for _, operator := range binary {
		if operator == t.Operator {
			text, err := literal(kind, operator, t.Operand)
			return t.Value + " " + operator + " " + text, err
		}
	}
	return "", fmt.Errorf("%q is not an operator", t.Operator)
}

func negated(not bool, test string) string {
	if not {
		return "!(" + test + ")"
	}
	return test
}

// The kinds of values, which decide the operators that a builder offers.
const (
	KindText     = "text"
	KindNumber   = "number"
	KindDecimal  = "decimal"
	KindYesNo    = "yes or no"
	KindDuration = "duration"
	KindTime     = "time"
	KindOther    = "other"
)

// kindOf returns the kind of a value.
func (b *Builder) kindOf(value string) string {
	checked, issues := b.env.Compile(value)
	if issues.Err() != nil {
		return KindOther
	}
	switch t := checked.OutputType(); {
	case t.IsExactType(types.StringType):
		return KindText
	case t.IsExactType(types.IntType), t.IsExactType(types.DoubleType):
		return KindNumber
	case t.IsExactType(decimalType):
		return KindDecimal
	case t.IsExactType(types.BoolType):
		return KindYesNo
	case t.IsExactType(types.DurationType):
		return KindDuration
	case t.IsExactType(types.TimestampType):
		return KindTime
	default:
		return KindOther
	}
}

// literal returns an operand as a condition writes it beside a value of a kind.
func literal(kind, operator, operand string) (string, error) {
	equal := operator == "==" || operator == "!="
	_, notNumber := strconv.ParseFloat(operand, 64)
	switch kind {
	case KindText:
		return strconv.Quote(operand), nil
	case KindNumber, KindDecimal:
		if notNumber != nil || !decimalForm.MatchString(operand) {
			return "", fmt.Errorf("%q is not a number: write digits, such as 10000 or 99.50", operand)
		}
		if kind == KindDecimal && equal {
			return "decimal(" + strconv.Quote(operand) + ")", nil
		}
		return operand, nil
	case KindDuration:
		if _, err := time.ParseDuration(operand); err != nil {
			return "", fmt.Errorf("%q is not a span of time: write hours, minutes or seconds, such as 72h", operand)
		}
		return "duration(" + strconv.Quote(operand) + ")", nil
	case KindTime:
		if _, err := time.Parse(time.RFC3339, operand); err != nil {
			return "", fmt.Errorf("%q is not a time, such as 2026-11-21T09:30:00Z", operand)
		}
		return "timestamp(" + strconv.Quote(operand) + ")", nil
	default:
		if notNumber == nil {
			return operand, nil
		}
		return strconv.Quote(operand), nil
	}
}
