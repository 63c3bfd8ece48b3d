package rules

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"

	"github.com/countersign-dev/countersign/internal/authz/display"
	"github.com/countersign-dev/countersign/internal/authz/policy"
)

// WarnMissing is the code of the warning about a rule that a request can evade by leaving out a property.
const WarnMissing = "missing_skips_rule"

// Warnings returns the hints about a policy version: those of its resolved requirements, and those of its rules with their
// context_schema.
func Warnings(r policy.Requirements, schema map[string]any) []policy.Warning {
	out := append(policy.Warnings(r), titleWarnings(schema)...)
	set := CompileStored(r.Rules, schema)
	if set.Empty() {
		return out
	}
	for i, rule := range set.rules {
		for _, f := range rule.nevers {
			out = append(out, policy.Warning{Code: WarnNever, Message: plain(fmt.Sprintf("The rule %q compares with a part of a time that never occurs, at %s.", rule.Name, f.Error())), Loc: []string{"rules", strconv.Itoa(i), "when"}})
		}
		for _, name := range rule.evaded {
			why := fmt.Sprintf("A request without `%s` skips this rule, %q: list it in required of context_schema and let it not be null, or let the condition be true without it.",
				name, rule.Name)
			out = append(out, policy.Warning{Code: WarnMissing, Message: plain(why), Loc: []string{"rules", strconv.Itoa(i), "when"}})
		}
	}
	return out
}

// WarnTitle is the code of the warning about a schema that shows an amount without saying who is paid.
const WarnTitle = "title_missing"

// titleWarnings warns of a schema whose requests, or some of them, have no title: the button of a challenge then cannot name the payee.
func titleWarnings(schema map[string]any) []policy.Warning {
	text, err := json.Marshal(schema)
	if err != nil {
		return nil
	}
	plan, err := display.Parse(text)
	if err != nil {
		return nil
	}
	missing, path := plan.Untitled()
	why := "The schema shows an amount and no title, so the button of a challenge does not name the payee: mark the payee with \"title\": true in its x-countersign-display."
	if !missing {
		if len(path) == 0 || !optional(schema, path) {
			return nil
		}
		why = fmt.Sprintf("A request without `%s` has no title, so the button of its challenge does not name the payee: list it in required of context_schema.", strings.Join(path, "."))
	}
	return []policy.Warning{{Code: WarnTitle, Message: why, Loc: []string{"context_schema"}}}
}

// optional reports whether a request may leave out the property at a path.
func optional(schema map[string]any, path []string) bool {
	for _, name := range path {
		required, _ := schema["required"].([]any)
		if !slices.Contains(required, any(name)) {
			return true
		}
		properties, _ := schema["properties"].(map[string]any)
		schema, _ = properties[name].(map[string]any)
	}
	return false
}

// presence finds the properties of the context without which a condition can be false because they are missing.
type presence struct {
	*analysis
	skips  []string // tested where their absence can make the condition false
	caught []string // tested where their absence can make it true
}

// evaded returns the tested properties whose absence the condition nowhere counts as a match.
func (p *presence) evaded(e ast.Expr) []string {
	p.visit(e, true)
	return slices.DeleteFunc(p.skips, func(name string) bool { return slices.Contains(p.caught, name) })
}

// visit examines an expression that brings the condition closer to a match if it is true, or else if it is false.
func (p *presence) visit(e ast.Expr, truth bool) {
	switch e.Kind() {
	case ast.SelectKind:
		if s := e.AsSelect(); s.IsTestOnly() {
			p.tested(e, s.Operand(), s.FieldName(), truth)
		} else {
			p.visit(s.Operand(), true)
		}
	case ast.CallKind:
		p.call(e, truth)
	case ast.ListKind:
		for _, item := range e.AsList().Elements() {
			p.visit(item, true)
		}
	case ast.MapKind:
		for _, entry := range e.AsMap().Entries() {
			p.visit(entry.AsMapEntry().Key(), true)
			p.visit(entry.AsMapEntry().Value(), true)
		}
	case ast.ComprehensionKind:
		c := e.AsComprehension()
		p.visit(c.IterRange(), true)
		p.visit(c.LoopStep(), truth)
	}
}

// call examines a call. What is neither a logical operator nor a test counts as one that can make the condition false.
func (p *presence) call(e ast.Expr, truth bool) {
	c := e.AsCall()
	args := c.Args()
	switch c.FunctionName() {
	case operators.LogicalNot:
		p.visit(args[0], !truth)
		return
	case operators.LogicalAnd, operators.LogicalOr:
	case operators.Conditional:
		p.conditional(args, truth)
		return
	case operators.In:
		if key, ok := stringLiteral(args[0]); ok && p.tree.GetType(args[1].ID()).Kind() == types.MapKind {
			p.tested(e, args[1], key, truth)
			return
		}
		truth = true
	default:
		truth = true
	}
	if c.IsMemberFunction() {
		p.visit(c.Target(), true)
	}
	for _, arg := range args {
		p.visit(arg, truth)
	}
}

// conditional examines a ? b : c. With a literal c it is a && b or !a || b. With any other true or false c the author has
// stated a condition for a request without the property.
func (p *presence) conditional(args []ast.Expr, truth bool) {
	otherwise := args[2]
	switch {
	case p.tree.GetType(otherwise.ID()).Kind() != types.BoolKind:
		p.visit(args[0], true)
	case otherwise.Kind() == ast.LiteralKind:
		p.visit(args[0], truth != (otherwise.AsLiteral() == types.True))
	default:
		p.visit(args[0], true)
		p.visit(args[0], false)
	}
	p.visit(args[1], truth)
	p.visit(otherwise, truth)
}

// tested adds a property of the context whose presence the condition tests, unless each request has it.
func (p *presence) tested(e, of ast.Expr, property string, truth bool) {
	if f := p.fieldOf(e); f != nil && !f.optional || p.sizes.of(pathOf(of)).requires(property) {
		return
	}
	root, below, _ := strings.Cut(textOf(of), ".")
	if root == varAssurance {
		return
	}
	if root != varContext {
		below = strings.TrimSuffix(root+"."+below, ".")
	}
	name := strings.TrimPrefix(below+"."+property, ".")
	list := &p.skips
	if !truth {
		list = &p.caught
	}
	if !slices.Contains(*list, name) {
		*list = append(*list, name)
	}
}
