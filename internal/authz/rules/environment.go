package rules

import (
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/env"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/types"

	"github.com/countersign-dev/countersign/internal/authz/aggregate"
	"github.com/countersign-dev/countersign/internal/authz/policy"
)

// functions are the standard functions that conditions may use, beside timeParts. Left out are regular expressions, whose cost is hard to bound,
// conversions to dyn, which would evade the type check, and conversions that conditions do not need.
var functions = []string{
	operators.Conditional, operators.LogicalAnd, operators.LogicalOr, operators.LogicalNot, operators.NotStrictlyFalse,
	operators.Equals, operators.NotEquals, operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals,
	operators.Add, operators.Subtract, operators.Multiply, operators.Divide, operators.Modulo, operators.Negate,
	operators.In, operators.Index, overloads.Size, overloads.Contains, overloads.StartsWith, overloads.EndsWith,
	overloads.TypeConvertInt, overloads.TypeConvertDouble, overloads.TypeConvertTimestamp, overloads.TypeConvertDuration,
}

// base is the environment that all sets extend: the functions, and the variables that do not depend on a context.
var base = sync.OnceValues(func() (*cel.Env, error) {
	subset := env.NewLibrarySubset()
	for _, f := range functions {
		subset.AddIncludedFunctions(env.NewFunction(f))
	}
	var unzoned []*env.Overload
	for _, id := range withoutZone {
		unzoned = append(unzoned, env.NewOverload(id, nil, nil))
	}
	for f := range timeParts {
		subset.AddIncludedFunctions(env.NewFunction(f, unzoned...))
	}
	options := []cel.EnvOption{
		cel.StdLib(cel.StdLibSubset(subset)), cel.CrossTypeNumericComparisons(true), cel.DefaultUTCTimeZone(true), cel.EnableIdentifierEscapeSyntax(),
		cel.ParserExpressionSizeLimit(MaxWhen), cel.ParserRecursionLimit(maxDepth), cel.ParserErrorRecoveryLimit(4), cel.ExpressionNodeLimit(MaxWhen),
		cel.Variable(varAudience, types.StringType), cel.Variable(varNow, types.TimestampType),
		cel.Variable(varCounts, types.NewMapType(types.StringType, types.IntType)), countsMacro(), signalsMacro(),
	}
	for name, o := range fixed {
		options = append(options, cel.Variable(name, types.NewObjectType(o.name)))
	}
	return cel.NewCustomEnv(slices.Concat(options, zoneFunctions(), decimalFunctions(), listFunctions(), aggregateVariables())...)
})

// environment compiles the conditions of one context.
type environment struct {
	*cel.Env
	reserving *cel.Env // of rules that reserve
	plan      aggregate.Plan
	types     *provider
	sizes     sizes
	replay    bool // plan conditions so that values can be unknown
}

func newEnvironment(context *object, plan aggregate.Plan) (environment, error) {
	shared, err := base()
	if err != nil {
		return environment{}, err
	}
	p := newProvider(shared.CELTypeProvider(), context)
	extend := func(reserve bool) (*cel.Env, error) {
		return shared.Extend(cel.CustomTypeProvider(p), cel.Variable(varContext, types.NewObjectType(context.name)), aggregateMacros(plan, reserve))
	}
	out := environment{plan: plan, types: p, sizes: sizes{context: context}}
	if out.Env, err = extend(false); err != nil {
		return environment{}, err
	}
	out.reserving, err = extend(true)
	return out, err
}

func (e environment) compile(rule policy.Rule) (compiled, []Fault) {
	out := compiled{Rule: rule}
	if n := utf8.RuneCountInString(rule.When); n > MaxWhen {
		return out, []Fault{{Line: 1, Column: 1, Why: fmt.Sprintf("a condition has at most %d characters; this one has %d", MaxWhen, n)}}
	}
	if rule.Reserve {
		e.Env = e.reserving
	}
	checked, issues := e.Compile(rule.When)
	if err := issues.Err(); err != nil {
		return out, e.faultsOf(issues)
	}
	tree := checked.NativeRep()
	if checked.OutputType() != types.BoolType {
		return out, []Fault{{Line: 1, Column: 1, Why: "a condition must be true or false; this one has the type " + typeText(checked.OutputType().String())}}
	}
	a := &analysis{tree: tree, objects: e.types.objects, most: map[Count]int{}, plan: e.plan, sizes: e.sizes, limits: map[Aggregate]*big.Rat{}, adds: map[Aggregate]path{}}
	a.visit(tree.Expr(), nil)
	a.listed(tree.Expr())
	if rule.Reserve && !slices.ContainsFunc(a.aggregates, func(g Aggregate) bool { return g.Reserved }) {
		a.fault(tree.Expr().ID(), "a rule that reserves reads a sum or a number of distinct values that it limits")
	}
	if len(a.faults) > 0 {
		slices.SortFunc(a.faults, compareFaults)
		return out, a.faults
	}
	out.reads, out.values, out.counts, out.most = a.reads, a.values, a.counts, a.most
	out.aggregates, out.limits, out.adds, out.lists, out.nevers = a.aggregates, a.limits, a.adds, a.lists, a.nevers
	// The numbers are those of the request's currency and resource, and do not contain the request itself. What a list had then stays decided.
	out.request = len(a.aggregates)+len(a.lists) > 0 || slices.ContainsFunc(a.reads, path.ofRequest)
	out.evaded = (&presence{analysis: a}).evaded(tree.Expr())
	if fault, bad := e.expensive(checked); bad {
		return out, []Fault{fault}
	}
	var err error
	if out.program, err = e.program(checked); err != nil {
		return out, []Fault{{Line: 1, Column: 1, Why: plain(err.Error())}}
	}
	return out, nil
}

// program plans the evaluation with its limit. The optimizer also refuses literals that no evaluation could use, such as
// timestamp("today").
func (e environment) program(checked *cel.Ast) (cel.Program, error) {
	how := cel.EvalOptions(cel.OptOptimize)
	if e.replay {
		how = cel.EvalOptions(cel.OptOptimize, cel.OptPartialEval)
	}
	return e.Program(checked, how, cel.CostTracking(nil), cel.CostLimit(MaxCost), cel.InterruptCheckFrequency(interruptEvery))
}

// interruptEvery is after how many iterations of a comprehension an ended context is noticed.
const interruptEvery = 100

// expensive checks the estimated cost.
func (e environment) expensive(checked *cel.Ast) (Fault, bool) {
	estimate, err := e.EstimateCost(checked, e.sizes)
	if err != nil {
		return Fault{Line: 1, Column: 1, Why: plain(err.Error())}, true
	}
	if estimate.Max <= MaxCost {
		return Fault{}, false
	}
	why := fmt.Sprintf("this condition could cost %d units to evaluate, and at most %d are allowed: state maxItems and maxLength in context_schema, or test fewer items",
		estimate.Max, MaxCost)
	return Fault{Line: 1, Column: 1, Why: why}, true
}

// maxFaults is the maximum number of faults that are reported of one rule.
const maxFaults = 5

// faultsOf converts the errors of the parser and the type checker.
func (e environment) faultsOf(issues *cel.Issues) []Fault {
	var out []Fault
	for _, err := range issues.Errors() {
		if len(out) == maxFaults {
			break
		}
		out = append(out, Fault{Line: max(err.Location.Line(), 1), Column: max(err.Location.Column()+1, 1), Why: e.explain(err)})
	}
	return out
}

var (
	undeclared = regexp.MustCompile(`undeclared reference to '([^']*)'`)
	noOverload = regexp.MustCompile(`found no matching overload for '([^']*)' applied to '([^']*)'`)
)

// explain rewrites an error of the checker in the words of a policy.
func (e environment) explain(err *common.Error) string {
	switch {
	case strings.HasPrefix(err.Message, "undefined field") && e.types.missing != "":
		return e.types.missing
	case undeclared.MatchString(err.Message):
		name := undeclared.FindStringSubmatch(err.Message)[1]
		return fmt.Sprintf("%q is not known; the variables are context, resource, action, audience, environment, assurance, subject and now", functionText(name))
	case noOverload.MatchString(err.Message):
		found := noOverload.FindStringSubmatch(err.Message)
		return hinted(functionText(found[1]), typeText(found[2]))
	default:
		return plain(err.Message)
	}
}

// hinted is the message about operands that do not fit, with the usual remedy.
func hinted(function, operands string) string {
	out := fmt.Sprintf("%s cannot be applied to %s", function, operands)
	switch {
	case !slices.Contains(comparisons, function):
		return out
	case strings.Contains(operands, listType.String()):
		return out + "; check a list for a string with X in list(\"NAME\")"
	case strings.Contains(operands, "decimal"):
		return out + "; compare decimals with decimal(\"100.00\"), or by < and > with a number"
	case strings.Contains(operands, "string") && (strings.Contains(operands, "int") || strings.Contains(operands, "double")):
		return out + "; write decimal(x) to compare a string of digits with a number"
	case strings.Contains(operands, "int") && strings.Contains(operands, "double"):
		return out + "; write the number with a point, such as 100.0, or convert by double()"
	default:
		return out
	}
}

// comparisons are the operators whose faults have a remedy.
var comparisons = []string{"==", "!=", "<", "<=", ">", ">=", "in"}

// objectName matches the names of the types of objects, which no author of a policy knows.
var objectName = regexp.MustCompile(`@[a-z_0-9]+`)

func typeText(s string) string { return objectName.ReplaceAllString(s, "object") }

// functionText returns an operator as it is written.
func functionText(name string) string {
	if name == operators.Conditional {
		return "?:"
	}
	if op, ok := operators.FindReverse(name); ok && op != "" {
		return op
	}
	return name
}

// plain is the first line of a message of the library, within its bounds.
func plain(message string) string {
	line, _, _ := strings.Cut(message, "\n")
	const most = 300
	if runes := []rune(line); len(runes) > most {
		line = string(runes[:most]) + "..."
	}
	return typeText(line)
}

// place returns the line and the column of a node of a checked condition.
func place(tree *ast.AST, id int64) (line, column int) {
	at := tree.SourceInfo().GetStartLocation(id)
	return max(at.Line(), 1), max(at.Column()+1, 1)
}
