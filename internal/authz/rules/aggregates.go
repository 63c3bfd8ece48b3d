package rules

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/parser"

	"github.com/countersign-dev/countersign/internal/authz/aggregate"
	"github.com/countersign-dev/countersign/internal/authz/annotation"
	"github.com/countersign-dev/countersign/internal/authz/display"
	"github.com/countersign-dev/countersign/internal/authz/policy"
)

// The functions of an aggregate.
const (
	functionSum       = "sum"
	functionDistinct  = "distinct"
	functionDecisions = "decisions" // with a filter by properties; Count is a number of decisions without
	functionSeen      = "seen"
	functionFirst     = "first_seen"
)

// SubjectField is the field of resource.distinct("subject", ...): no property of a context has this name.
const SubjectField = "@subject"

// Aggregate is a number computed from stored values of requests: about the subject or the resource, of one action with one outcome,
// up to now. Outcome and Action are empty for seen, which is 1 or 0, and for first_seen, which is how many microseconds ago a value was allowed first
// in the window; 0 for never.
type Aggregate struct {
	Resource bool
	Function string // sum, distinct, decisions, seen or first_seen
	Field    string
	Action   string
	Outcome  string
	Window   string // see isWindow
	// Value is sought by seen and first_seen: the path of a property, or a text in quotes.
	Value string
	// Filter selects the requests of sum, distinct and decisions.
	Filter Filter
	// Reserved counts what is allowed or may still be, for a rule that reserves.
	Reserved bool
}

// Since returns when the window began that ends at a time.
func (g Aggregate) Since(at time.Time) time.Time { return sinceOf(g.Window, at) }

// Decision returns the decision that is counted. It is empty if a request counts once, whatever the decisions about it were.
func (g Aggregate) Decision() string {
	if g.Outcome == anyOutcome {
		return ""
	}
	return g.Outcome
}

// IsSum reports whether the number is a sum of amounts, and not one of values.
func (g Aggregate) IsSum() bool { return g.Function == functionSum }

// IsSeen reports whether the number says if, or when, a value was seen.
func (g Aggregate) IsSeen() bool { return g.Function == functionSeen || g.IsFirst() }

// IsFirst reports whether the number says how long ago a value was seen first.
func (g Aggregate) IsFirst() bool { return g.Function == functionFirst }

// CountsRequests reports whether the number counts requests and does not depend on their values.
func (g Aggregate) CountsRequests() bool { return g.Function == functionDecisions }

// Sought returns the values of a request that must be known for the number: what seen looks for, or those of the filter.
func (g Aggregate) Sought() []Sought {
	if g.IsSeen() {
		return []Sought{{g.Field, g.Value}}
	}
	return g.Filter.By()
}

// key is the name of the number in the hidden variables.
func (g Aggregate) key() string {
	return strings.Join([]string{strconv.FormatBool(g.Resource), g.Function, g.Field, g.Action, g.Outcome, g.Window, strconv.FormatBool(g.Reserved), g.Value + string(g.Filter)}, " ")
}

// aggregateFrom parses a key. Only the value or the filter, which is last, can contain spaces.
func aggregateFrom(key string) Aggregate {
	p := strings.SplitN(key, " ", 8)
	g := Aggregate{Resource: p[0] == "true", Function: p[1], Field: p[2], Action: p[3], Outcome: p[4], Window: p[5], Reserved: p[6] == "true"}
	if g.IsSeen() {
		g.Value = p[7]
	} else {
		g.Filter = Filter(p[7])
	}
	return g
}

// text is the aggregate as a condition writes it.
func (g Aggregate) text() string {
	of := varSubject
	if g.Resource {
		of = varResource
	}
	if g.Function == functionSeen {
		return fmt.Sprintf("%s.seen(%q, %s, %q)", of, g.Field, g.Value, g.Window)
	}
	if g.IsFirst() {
		return fmt.Sprintf("%s.%s(%q, %s)", of, functionFirst, g.Field, g.Value)
	}
	if g.CountsRequests() {
		return fmt.Sprintf("%s.%s(%q, %q, %q%s)", of, g.Function, g.Action, g.Outcome, g.Window, g.Filter.text())
	}
	return fmt.Sprintf("%s.%s(%q, %q, %q, %q%s)", of, g.Function, strings.TrimPrefix(g.Field, "@"), g.Action, g.Outcome, g.Window, g.Filter.text())
}

// The hidden variables with the sums and the other numbers, and the function that makes a number true or false. No condition can name
// them.
const (
	varSums    = "@sums"
	varNumbers = "@numbers"
	isSeen     = "@seen"
	firstSeen  = "@first_seen"
)

// aggregateVariables declares what the macros of aggregates expand to. The second argument of isSeen is the value that is sought, so that
// it is checked like any other.
func aggregateVariables() []cel.EnvOption {
	return []cel.EnvOption{
		cel.Variable(varSums, types.NewMapType(types.StringType, decimalType)), cel.Variable(varNumbers, types.NewMapType(types.StringType, types.IntType)),
		filterFunction(),
		cel.Function(isSeen, cel.Overload("seen_value", []*types.Type{types.IntType, types.DynType}, types.BoolType, cel.BinaryBinding(func(n, _ ref.Val) ref.Val {
			return types.Bool(n.Equal(types.Int(0)) != types.True)
		}))),
		cel.Function(firstSeen, cel.Overload("first_seen_value", []*types.Type{types.IntType, types.DynType, types.TimestampType}, types.TimestampType,
			cel.FunctionBinding(func(args ...ref.Val) ref.Val {
				ago, known := args[0].(types.Int)
				now, timed := args[2].(types.Timestamp)
				if !known || !timed {
					return types.NewErr("a time of %s is not known", functionFirst)
				}
				return types.Timestamp{Time: now.Time.Add(-time.Duration(ago) * time.Microsecond)}
			}))),
	}
}

// aggregateMacros replaces the functions of a rule by entries of the hidden variables. Their arguments are literals, so that what a policy
// needs is known before any request.
func aggregateMacros(plan aggregate.Plan, reserve bool) cel.EnvOption {
	m := macros{plan, reserve}
	return cel.Macros(
		cel.ReceiverMacro(functionSum, 4, m.number(functionSum, aggregate.Sum)),
		cel.ReceiverMacro(functionSum, 5, m.number(functionSum, aggregate.Sum)),
		cel.ReceiverMacro(functionDistinct, 4, m.number(functionDistinct, aggregate.Distinct)),
		cel.ReceiverMacro(functionDistinct, 5, m.number(functionDistinct, aggregate.Distinct)),
		cel.ReceiverMacro(functionDecisions, 4, m.decisions),
		cel.ReceiverMacro(functionSeen, 3, m.seen),
		cel.ReceiverMacro(functionFirst, 2, m.first),
	)
}

// macros expands aggregates of the fields of a plan.
type macros struct {
	plan    aggregate.Plan
	reserve bool
}

// literals returns the literal strings among the arguments at some positions.
func literals(eh parser.ExprHelper, function string, args []ast.Expr, at ...int) ([]string, *cel.Error) {
	out := make([]string, len(at))
	for i, position := range at {
		text, ok := stringLiteral(args[position])
		if !ok {
			return nil, eh.NewError(args[position].ID(), fmt.Sprintf("argument %d of %s() is a literal string", position+1, function))
		}
		out[i] = text
	}
	return out, nil
}

func of(eh parser.ExprHelper, function string, target ast.Expr) (resource bool, err *cel.Error) {
	if target.Kind() == ast.IdentKind && (target.AsIdent() == varSubject || target.AsIdent() == varResource && function != functionSeen && function != functionFirst) {
		return target.AsIdent() == varResource, nil
	}
	if function == functionSeen {
		return false, eh.NewError(target.ID(), `seen() is a function of subject: subject.seen("payee", context.payee, "30d")`)
	}
	if function == functionFirst {
		return false, eh.NewError(target.ID(), `first_seen() is a function of subject: subject.first_seen("payee", context.payee)`)
	}
	return false, eh.NewError(target.ID(), fmt.Sprintf(`%s() is a function of subject and resource: subject.%s("amount", "payments.transfer", "allow", "24h")`, function, function))
}

// number returns the expander of sum() or distinct().
func (m macros) number(function string, kind aggregate.Kind) cel.MacroFactory {
	return func(eh parser.ExprHelper, target ast.Expr, args []ast.Expr) (ast.Expr, *cel.Error) {
		resource, fault := of(eh, function, target)
		if fault != nil {
			return nil, fault
		}
		texts, fault := literals(eh, function, args, 0, 1, 2, 3)
		if fault != nil {
			return nil, fault
		}
		g := Aggregate{Resource: resource, Function: function, Field: texts[0], Action: texts[1], Outcome: texts[2], Window: texts[3], Reserved: m.reserve}
		if resource && kind == aggregate.Distinct && g.Field == varSubject {
			g.Field = SubjectField
		} else if why := m.undeclared(g.Field, kind); why != "" {
			return nil, eh.NewError(args[0].ID(), why)
		}
		if at, why := (Count{Action: g.Action, Outcome: g.Outcome, Window: g.Window}).fault(); why != "" {
			return nil, eh.NewError(args[at+1].ID(), fmt.Sprintf("argument %d of %s() is %s", at+2, function, why))
		}
		if m.reserve && g.Outcome != string(policy.Allow) {
			return nil, eh.NewError(args[2].ID(), `a rule that reserves counts what is allowed and what may still be: its outcome is "allow"`)
		}
		var values []ast.Expr
		if len(args) > 4 {
			if g.Filter, values, fault = m.filter(eh, function, args); fault == nil {
				fault = unapprovedFault(eh, g.Filter, g.Outcome, args[2])
			}
		}
		return filteredEntry(eh, g, values), fault
	}
}

// seen expands seen().
func (m macros) seen(eh parser.ExprHelper, target ast.Expr, args []ast.Expr) (ast.Expr, *cel.Error) {
	if _, fault := of(eh, functionSeen, target); fault != nil {
		return nil, fault
	}
	texts, fault := literals(eh, functionSeen, args, 0, 2)
	if fault != nil {
		return nil, fault
	}
	g, fault := m.sought(eh, Aggregate{Function: functionSeen, Field: texts[0], Window: texts[1]}, args)
	if fault != nil {
		return nil, fault
	}
	if !isWindow(g.Window) {
		return nil, eh.NewError(args[2].ID(), "argument 3 of seen() is "+windowForm)
	}
	return eh.NewCall(isSeen, entryOf(eh, g), args[1]), nil
}

// firstWindow is how long values are stored, so that one which was seen before and not since is new.
const firstWindow = "30d"

// first expands first_seen(): the time of the decision for a value that was never seen.
func (m macros) first(eh parser.ExprHelper, target ast.Expr, args []ast.Expr) (ast.Expr, *cel.Error) {
	if _, fault := of(eh, functionFirst, target); fault != nil {
		return nil, fault
	}
	texts, fault := literals(eh, functionFirst, args, 0)
	if fault != nil {
		return nil, fault
	}
	g, fault := m.sought(eh, Aggregate{Function: functionFirst, Field: texts[0], Window: firstWindow}, args)
	if fault != nil {
		return nil, fault
	}
	return eh.NewCall(firstSeen, entryOf(eh, g), args[1], eh.NewIdent(varNow)), nil
}

// entryOf returns the entry of a number in its hidden variable.
func entryOf(eh parser.ExprHelper, g Aggregate) ast.Expr {
	return eh.NewCall(operators.Index, eh.NewIdent(g.variable()), eh.NewLiteral(types.String(g.key())))
}

// variable is the hidden variable with the number.
func (g Aggregate) variable() string {
	if g.IsSum() {
		return varSums
	}
	return varNumbers
}

// sought adds the value that an aggregate seeks, which is the second argument.
func (m macros) sought(eh parser.ExprHelper, g Aggregate, args []ast.Expr) (Aggregate, *cel.Error) {
	if why := m.undeclared(g.Field, aggregate.Distinct); why != "" {
		return g, eh.NewError(args[0].ID(), why)
	}
	text, ok := operandText(args[1])
	if _, isString := stringLiteral(args[1]); !ok || args[1].Kind() == ast.LiteralKind && !isString {
		return g, eh.NewError(args[1].ID(), "argument 2 of "+g.Function+"() is a property of the context or a literal string")
	}
	g.Value = text
	return g, nil
}

// undeclared returns why a field cannot be counted by; empty if it can.
func (m macros) undeclared(name string, kind aggregate.Kind) string {
	if f, declared := m.plan.Field(name); declared && f.Kind == kind {
		return ""
	}
	why := fmt.Sprintf("%q is not stored for this: mark the property of context_schema with %q: %q", name, aggregate.Annotation, kind)
	if names := m.plan.Names(kind); len(names) > 0 {
		why += "; marked are " + strings.Join(names, ", ")
	}
	return why
}

// Aggregates returns the aggregates that the rules read.
func (s *Set) Aggregates() []Aggregate {
	if s == nil {
		return nil
	}
	return s.aggregates
}

// Above returns the limit of an aggregate: no rule has another result for any number above it. It is nil if the exact number is needed.
func (s *Set) Above(g Aggregate) *big.Rat { return s.limits[g] }

// AggregatesFor returns the aggregates on which the rules still depend when the request is known, as CountsFor does.
func (s *Set) AggregatesFor(ctx context.Context, v Vars) []Aggregate {
	if s == nil || len(s.aggregates) == 0 {
		return nil
	}
	bound, _ := s.bound(v, s.asked)
	var out []Aggregate
	for _, r := range s.rules {
		if len(r.aggregates) > 0 && !r.isFalse(ctx, bound) {
			out = union(out, r.aggregates)
		}
	}
	return out
}

// union returns a with the items of b that it lacks.
func union[T comparable](a, b []T) []T {
	for _, item := range b {
		if !slices.Contains(a, item) {
			a = append(a, item)
		}
	}
	return a
}

// bindAggregates adds the hidden variables. A rule whose number is not known cannot be evaluated.
func (s *Set) bindAggregates(bound map[string]any, known map[Aggregate]string) {
	sums, numbers := map[string]decimal{}, map[string]int64{}
	for g, text := range known {
		exact, ok := new(big.Rat).SetString(text)
		switch {
		case !ok:
		case g.IsSum():
			sums[g.key()] = decimal{exact}
		default:
			numbers[g.key()] = exact.Num().Int64()
		}
	}
	bound[varSums], bound[varNumbers] = sums, numbers
}

// aggregate records that the condition reads a number, and that its result is the same for every one above a limit; nil is no limit.
func (a *analysis) aggregate(e ast.Expr, above *big.Rat, present []string) {
	g, values, _ := aggregateOf(e)
	for _, v := range values {
		a.visit(v, present)
	}
	a.equalable(g.Filter.By(), values)
	if !slices.Contains(a.aggregates, g) {
		a.aggregates, a.limits[g] = append(a.aggregates, g), above
		return
	}
	a.limits[g] = higher(a.limits[g], above)
}

// higher returns the higher of two limits; nil is no limit.
func higher(a, b *big.Rat) *big.Rat {
	if a == nil || b == nil {
		return nil
	}
	if a.Cmp(b) < 0 {
		return b
	}
	return a
}

// isAggregate reports whether an expression is a number computed from stored values.
func isAggregate(e ast.Expr) bool {
	_, _, ok := aggregateOf(e)
	return ok
}

// addedTo returns the aggregate to which an expression adds at most an amount of the request, which is never less than 0: a number above
// a limit then stays above it.
func (a *analysis) addedTo(e ast.Expr) (ast.Expr, bool) {
	if isAggregate(e) {
		return e, true
	}
	if e.Kind() != ast.CallKind || e.AsCall().FunctionName() != operators.Add {
		return nil, false
	}
	args := e.AsCall().Args()
	for i, arg := range args {
		if isAggregate(arg) && a.isAmount(args[1-i]) {
			return arg, true
		}
	}
	return nil, false
}

// visitAmount examines what an expression adds to an aggregate.
func (a *analysis) visitAmount(e ast.Expr, present []string) {
	if isAggregate(e) {
		return
	}
	var of Aggregate
	for _, arg := range e.AsCall().Args() {
		if g, _, is := aggregateOf(arg); is {
			of = g
		}
	}
	for _, arg := range e.AsCall().Args() {
		if !isAggregate(arg) {
			a.adds[of] = pathOf(arg.AsCall().Args()[0])
			a.visit(arg, present)
		}
	}
}

// isAmount reports whether an expression is decimal() of a property that is added up.
func (a *analysis) isAmount(e ast.Expr) bool {
	if e.Kind() != ast.CallKind || e.AsCall().FunctionName() != "decimal" || len(e.AsCall().Args()) != 1 {
		return false
	}
	p := pathOf(e.AsCall().Args()[0])
	if len(p) < 2 || p[0] != varContext {
		return false
	}
	f, declared := a.plan.Field(p[1:].String())
	return declared && f.Kind == aggregate.Sum
}

// numberLiteral returns the value of a literal number, or of decimal() of a literal.
func numberLiteral(e ast.Expr) (*big.Rat, bool) {
	if e.Kind() == ast.CallKind && e.AsCall().FunctionName() == "decimal" && len(e.AsCall().Args()) == 1 {
		e = e.AsCall().Args()[0]
	}
	if e.Kind() != ast.LiteralKind {
		return nil, false
	}
	d, ok := newDecimal(e.AsLiteral()).(decimal)
	return d.r, ok
}

// totals returns the sums that a rule read, with the limits that it compares them with, of the amounts that are shown.
func (s *Set) totals(r compiled, v Vars) []policy.ShownValue {
	var out []policy.ShownValue
	for _, g := range r.aggregates {
		f, _ := s.plan.Field(g.Field)
		sum, known := new(big.Rat).SetString(v.Aggregates[g])
		if !g.IsSum() || f.Label == "" || !known {
			continue
		}
		var context map[string]any
		decoder := json.NewDecoder(bytes.NewReader(v.Context))
		decoder.UseNumber()
		_ = decoder.Decode(&context) // of a request that fits its schema
		currency, _ := s.plan.CurrencyOf(g.Field, context)
		value := display.Amount(sum, currency)
		if own, added := amountAt(context, r.adds[g]); added {
			value += " + " + display.Amount(own, currency)
		}
		if limit := r.limits[g]; limit != nil && sum.Cmp(limit) > 0 {
			value = "more than " + display.Amount(limit, currency) // it may not have been added up to the end
		} else if limit != nil {
			value += " of " + display.Amount(limit, currency)
		}
		out = append(out, policy.ShownValue{Label: g.label(f.Label, v.Action.Key) + g.Filter.words(s.plan), Value: value})
	}
	return out
}

// amountAt returns the amount of a request at a path of a condition.
func amountAt(context map[string]any, p path) (*big.Rat, bool) {
	if len(p) < 2 {
		return nil, false
	}
	value, given := annotation.Lookup(context, p[1:])
	if !given || value == nil {
		return nil, false
	}
	return new(big.Rat).SetString(fmt.Sprint(value))
}

// label names a sum for a person, such as "Amount in 24 hours".
func (g Aggregate) label(field, own string) string {
	if g.Resource {
		field += " to this resource"
	}
	field += " in " + windowWords(g.Window)
	if g.Action != own {
		field += " by " + g.Action
	}
	if g.Outcome != string(policy.Allow) {
		field += ", " + g.Outcome
	}
	return field
}

// describeAggregates lists the numbers that a rule read. Amounts of requests could be derived from a sum: it is named with its limit and
// without its value.
func (r compiled) describeAggregates(bound map[string]any) []string {
	var parts []string
	numbers, _ := bound[varNumbers].(map[string]int64)
	sums, _ := bound[varSums].(map[string]decimal)
	for _, g := range r.aggregates {
		text := g.text()
		if sum, known := sums[g.key()]; known && r.limits[g] != nil {
			sign := "<="
			if sum.r.Cmp(r.limits[g]) > 0 {
				sign = ">"
			}
			digits, _ := r.limits[g].FloatPrec()
			text = fmt.Sprintf("%s %s %s", text, sign, r.limits[g].FloatString(digits))
		} else if n, known := numbers[g.key()]; known && !g.IsSeen() {
			sign := "="
			if above := r.limits[g]; above != nil && above.Cmp(new(big.Rat).SetInt64(n)) < 0 {
				sign, n = ">", above.Num().Int64()
			}
			text = fmt.Sprintf("%s %s %d", text, sign, n)
		} else if known && g.IsFirst() && n > 0 {
			text = fmt.Sprintf("%s = %s ago", text, (time.Duration(n) * time.Microsecond).Round(time.Second))
		} else if known && g.IsFirst() {
			text += " = never before"
		} else if known {
			text = fmt.Sprintf("%s = %t", text, n > 0)
		}
		parts = append(parts, text)
	}
	return parts
}
