package rules

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"

	"github.com/countersign-dev/countersign/internal/authz/aggregate"
	"github.com/countersign-dev/countersign/internal/authz/display"
	"github.com/countersign-dev/countersign/internal/authz/policy"
)

// Value is a value that conditions can test.
type Value struct {
	Text    string   `json:"text"` // as conditions write it
	Label   string   `json:"label"`
	Group   string   `json:"group"`
	Kind    string   `json:"kind"`
	Choices []string `json:"choices,omitempty"` // the values that it can have
}

// mostValues is how many properties of a context a builder offers.
const mostValues = 100

// fixedLabels are the values that every condition can read.
var fixedLabels = []struct{ group, text, label string }{
	{"Subject", "subject.id", "the subject's id"},
	{"Subject", "subject.enrollment", "the subject's enrollment"},
	{"Subject", "subject.age", "the age of the subject's account"},
	{"Subject", "subject.passkeys", "the number of the subject's passkeys"},
	{"Subject", "subject.recently_recovered", "the subject recovered recently"},
	{"Request", "resource.type", "the type of the resource"},
	{"Request", "resource.id", "the resource"},
	{"Request", "audience", "the audience"},
	{"Request", "action.mode", "the mode of the action"},
	{"Request", "environment.kind", "the environment"},
	{"Evidence", "assurance.coverage", "the coverage of the evidence"},
	{"Evidence", "assurance.freshness_ms", "the age of the evidence in milliseconds"},
	{"Evidence", "assurance.insufficient_evidence", "the evidence is insufficient"},
	{"Evidence", "assurance.claims.operator_continuity.status", "the same person as before"},
	{"Evidence", "assurance.claims.human_presence.status", "a human types"},
	{"Evidence", "assurance.claims.automation.status", "automation"},
	{"Evidence", "assurance.claims.evidence_replay.status", "replayed evidence"},
	{"Time", `now.getHours("UTC")`, "the hour of the day in UTC"},
	{"Time", `now.getDayOfWeek("UTC")`, "the day of the week in UTC, 0 for Sunday"},
}

// Values returns the values that conditions of an action can test, its own properties first.
func (b *Builder) Values(action string) []Value {
	out := b.properties(nil, b.env.sizes.context, varContext)
	add := func(group, text string) {
		if v := b.value(group, text); v.Kind != KindOther {
			out = append(out, v)
		}
	}
	for _, f := range fixedLabels {
		add(f.group, f.text)
	}
	for _, of := range []struct{ outcome, window string }{{"any", "1h"}, {"any", "24h"}, {"allow", "24h"}, {"allow", "7d"}, {"allow", "30d"}, {"deny", "24h"}} {
		add("Earlier decisions", Count{Action: action, Outcome: of.outcome, Window: of.window}.text())
		for _, name := range b.env.plan.Names(aggregate.Sum) {
			sum := Aggregate{Function: functionSum, Field: name, Action: action, Outcome: of.outcome, Window: of.window}
			add("Earlier decisions", sum.text())
			add("Earlier decisions", sum.text()+" + decimal(context."+name+")")
		}
		for _, name := range b.env.plan.Names(aggregate.Distinct) {
			add("Earlier decisions", Aggregate{Function: functionDistinct, Field: name, Action: action, Outcome: of.outcome, Window: of.window}.text())
		}
	}
	add("Earlier decisions", Count{Action: action, Outcome: string(policy.Allow), Window: "24h", Unapproved: true}.text())
	for _, name := range b.env.plan.Names(aggregate.Sum) {
		add("Earlier decisions", Aggregate{Function: functionSum, Field: name, Action: action, Outcome: string(policy.Allow), Window: "24h", Filter: filterOf([]Sought{{byPerson, "false"}})}.text())
	}
	for _, name := range b.env.plan.Names(aggregate.Distinct) {
		same := filterOf([]Sought{{name, "context." + name}})
		add("Earlier decisions", Aggregate{Function: functionDecisions, Action: action, Outcome: string(policy.Allow), Window: "24h", Filter: same}.text())
		for _, sum := range b.env.plan.Names(aggregate.Sum) {
			add("Earlier decisions", Aggregate{Function: functionSum, Field: sum, Action: action, Outcome: string(policy.Allow), Window: "24h", Filter: same}.text())
		}
		add("Earlier decisions", Aggregate{Function: functionSeen, Field: name, Value: "context." + name, Window: "30d"}.text())
	}
	return out
}

// properties appends the properties of an object of the context, from the top down. A text of digits is offered as the number that it is.
func (b *Builder) properties(out []Value, o *object, prefix string) []Value {
	for _, name := range slices.Sorted(maps.Keys(o.fields)) {
		text := prefix + "." + name
		f := o.fields[name]
		if len(out) >= mostValues {
			return out
		}
		if f.object != nil {
			out = b.properties(out, f.object, text)
			continue
		}
		v := b.value("Request", text)
		if v.Choices = f.enum; v.Kind == KindText && b.isAmount(strings.TrimPrefix(text, varContext+".")) {
			v = b.value("Request", "decimal("+text+")")
		}
		if e, ok := parse(v.Text); ok && v.Kind != KindOther && isValue(e) {
			out = append(out, v)
		}
	}
	return out
}

// isAmount reports whether a property is added up or shown as money.
func (b *Builder) isAmount(name string) bool {
	if slices.Contains(b.env.plan.Names(aggregate.Sum), name) {
		return true
	}
	shown, _ := b.property(strings.Split(name, "."))[display.Annotation].(map[string]any)
	return shown["format"] == string(display.Money) || shown["format"] == string(display.Number)
}

func (b *Builder) value(group, text string) Value {
	v := Value{Text: text, Group: group, Kind: b.kindOf(text), Label: text}
	if e, ok := parse(text); ok {
		v.Label = b.label(e)
		if p := pathOf(e); len(p) > 1 && p[0] != varContext && fixed[p[0]] != nil {
			v.Choices = choicesOf(fixed[p[0]], p[1:])
		}
	}
	return v
}

func choicesOf(o *object, steps []string) []string {
	f := o.fields[steps[0]]
	switch {
	case f == nil:
		return nil
	case len(steps) == 1:
		return f.enum
	default:
		return choicesOf(f.object, steps[1:])
	}
}

// Words returns a condition as the end of an English sentence, such as "amount is over 10,000"; false if it can only be shown as it is
// written.
func (b *Builder) Words(when string) (string, bool) {
	form, ok := b.Form(when)
	if !ok || len(form.Tests) == 0 {
		return "", false
	}
	parts := make([]string, len(form.Tests))
	for i, t := range form.Tests {
		parts[i] = b.words(t)
	}
	if form.Any {
		return strings.Join(parts, ", or "), true
	}
	return strings.Join(parts, " and "), true
}

// operatorWords stand for an operator in a sentence.
var operatorWords = map[string]string{
	"==": "is", "!=": "is not", "<": "is under", "<=": "is at most", ">": "is over", ">=": "is at least", testOneOf: "is one of",
	testNoneOf: "is none of", testListed: "is in the list", testUnlist: "is not in the list", testGiven: testGiven, testMissing: testMissing,
}

func (b *Builder) words(t Test) string {
	e, ok := parse(t.Value)
	if !ok {
		return t.Value
	}
	label := b.label(e)
	switch t.Operator {
	case testTrue:
		return label
	case testFalse:
		if isFunction(e, functionSeen) {
			return strings.Replace(label, "was allowed", "was not allowed", 1)
		}
		return "it is not so that " + label
	}
	operand := strings.Join(strings.Split(t.Operand, "\n"), ", ")
	if kind := b.kindOf(t.Value); kind == KindNumber || kind == KindDecimal {
		operand = display.Grouped(operand)
	}
	said := operatorWords[t.Operator]
	if said == "" {
		said = t.Operator
	}
	return strings.TrimSpace(label + " " + said + " " + operand)
}

func isFunction(e ast.Expr, name string) bool {
	return e.Kind() == ast.CallKind && e.AsCall().IsMemberFunction() && e.AsCall().FunctionName() == name
}

// label names a value in a sentence.
func (b *Builder) label(e ast.Expr) string {
	text := written(e)
	for _, f := range fixedLabels {
		if f.text == text {
			return f.label
		}
	}
	if p := pathOf(e); len(p) > 1 && p[0] == varContext {
		return b.propertyLabel(p[1:])
	}
	if e.Kind() != ast.CallKind {
		return text
	}
	c := e.AsCall()
	switch {
	case c.FunctionName() == "decimal" && len(c.Args()) == 1:
		return b.label(c.Args()[0])
	case c.FunctionName() == operators.Add && len(c.Args()) == 2:
		return b.label(c.Args()[0]) + " plus " + b.label(c.Args()[1])
	case c.IsMemberFunction():
		if said := b.functionLabel(c); said != "" {
			return said
		}
	}
	return text
}

// functionLabel names a count, a sum or a value of earlier decisions; empty for another function.
func (b *Builder) functionLabel(c ast.CallExpr) string {
	var args []string
	filter := ""
	for _, arg := range c.Args() {
		if isFilter(arg) {
			filter = b.filterWords(arg)
			continue
		}
		text, _ := stringLiteral(arg)
		args = append(args, text)
	}
	of := "the subject"
	if c.Target().Kind() == ast.IdentKind && c.Target().AsIdent() == varResource {
		of = "the resource"
	}
	during := func(outcome, window string) string {
		said := map[string]string{"allow": "allowed ", "deny": "denied ", "hold": "held ", "challenge": "challenged "}[outcome]
		return fmt.Sprintf("%sdecisions about %s%s in the last %s", said, of, filter, windowWords(window))
	}
	switch {
	case c.FunctionName() == functionDecisions && len(args) == 3:
		return "the number of " + during(args[1], args[2])
	case c.FunctionName() == "signals" && len(args) == 2:
		return fmt.Sprintf("the number of security events %q about the subject in the last %s", args[0], windowWords(args[1]))
	case c.FunctionName() == functionSum && len(args) == 4:
		return fmt.Sprintf("the sum of %s of %s", b.propertyLabel(strings.Split(args[0], ".")), during(args[2], args[3]))
	case c.FunctionName() == functionDistinct && len(args) == 4:
		return fmt.Sprintf("the number of different values of %s in %s", b.propertyLabel(strings.Split(args[0], ".")), during(args[2], args[3]))
	case c.FunctionName() == functionFirst && len(args) == 2:
		return fmt.Sprintf("the time at which the subject was first allowed this %s", b.propertyLabel(strings.Split(args[0], ".")))
	case c.FunctionName() == functionSeen && len(args) == 3:
		return fmt.Sprintf("the subject was allowed this %s in the last %s", b.propertyLabel(strings.Split(args[0], ".")), windowWords(args[2]))
	default:
		return ""
	}
}

// filterWords is a filter in a sentence, such as " with this payee that no person approved".
func (b *Builder) filterWords(filter ast.Expr) string {
	var with []string
	suffix := ""
	for _, e := range filter.AsMap().Entries() {
		name, _ := stringLiteral(e.AsMapEntry().Key())
		label := b.propertyLabel(strings.Split(name, "."))
		text, _ := operandText(e.AsMapEntry().Value())
		switch _, literal := (Sought{name, text}).Path(); {
		case name == byPerson:
			suffix = " that no person approved"
		case literal:
			with = append(with, label+" "+text)
		default:
			with = append(with, "this "+label)
		}
	}
	if len(with) > 0 {
		return " with " + strings.Join(with, " and ") + suffix
	}
	return suffix
}

// property returns the schema of a property of the context that "properties" alone leads to; nil for any other.
func (b *Builder) property(path []string) map[string]any {
	at := b.schema
	for _, name := range path {
		properties, _ := at["properties"].(map[string]any)
		at, _ = properties[name].(map[string]any)
	}
	return at
}

// propertyLabel names a property as its schema does for people, and otherwise by its own name.
func (b *Builder) propertyLabel(path []string) string {
	of := b.property(path)
	shown, _ := of[display.Annotation].(map[string]any)
	label, _ := shown["label"].(string)
	if label == "" {
		label, _ = of["title"].(string)
	}
	if label == "" {
		return strings.ReplaceAll(strings.Join(path, " "), "_", " ")
	}
	first, size := utf8.DecodeRuneInString(label)
	if next, _ := utf8.DecodeRuneInString(label[size:]); unicode.IsUpper(next) {
		return label
	}
	return string(unicode.ToLower(first)) + label[size:]
}
