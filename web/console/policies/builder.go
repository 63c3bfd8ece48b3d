package policies

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/authz/action"
	"github.com/countersign-dev/countersign/internal/authz/display"
	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/authz/rules"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/platform/reason"
	"github.com/countersign-dev/countersign/models"
	"github.com/countersign-dev/countersign/web"
	"github.com/countersign-dev/countersign/web/console/forms"
	"github.com/countersign-dev/countersign/web/console/shell"
)

// mostAsked is the maximum size of a question of the rule builder in bytes: a schema and a condition.
const mostAsked = 128 << 10

// matchedDecisions is how many of the newest decisions a rule is tried on while it is written.
const matchedDecisions = 500

// ruleAsk is a question of the rule builder: a condition, or the form of one.
type ruleAsk struct {
	When    string      `json:"when"`
	Form    *rules.Form `json:"form"`
	Schema  string      `json:"schema"`
	Reserve bool        `json:"reserve"`
	Values  bool        `json:"values"` // also answer with what conditions can test
}

// ruleReply is the condition with its form.
type ruleReply struct {
	When      string                    `json:"when"`
	Form      *rules.Form               `json:"form"` // null if the builder cannot show the condition
	Said      string                    `json:"said"` // in words; empty if there are none
	Faults    []string                  `json:"faults"`
	Values    []rules.Value             `json:"values,omitempty"`
	Operators map[string][]forms.Option `json:"operators,omitempty"` // by kind
	Functions []string                  `json:"functions,omitempty"`
	Examples  []example                 `json:"examples,omitempty"`
}

// example is a condition that the schema permits.
type example struct {
	Said string `json:"said"`
	When string `json:"when"`
}

// formOperators are the operators that a builder offers for a kind of value.
var formOperators = func() map[string][]forms.Option {
	presence := []forms.Option{{Value: "is given", Label: "is given"}, {Value: "is missing", Label: "is missing"}}
	order := []forms.Option{{Value: ">", Label: "is over"}, {Value: ">=", Label: "is at least"}, {Value: "<", Label: "is under"}, {Value: "<=", Label: "is at most"}}
	equal := []forms.Option{{Value: "==", Label: "is"}, {Value: "!=", Label: "is not"}}
	texts := []forms.Option{
		{Value: "one of", Label: "is one of"}, {Value: "none of", Label: "is none of"}, {Value: "in list", Label: "is in the list"}, {Value: "not in list", Label: "is not in the list"},
		{Value: "starts with", Label: "starts with"}, {Value: "contains", Label: "contains"}, {Value: "ends with", Label: "ends with"},
	}
	join := func(all ...[]forms.Option) (out []forms.Option) {
		for _, some := range all {
			out = append(out, some...)
		}
		return out
	}
	return map[string][]forms.Option{
		rules.KindText: join(equal, texts, presence), rules.KindNumber: join(order, equal, presence), rules.KindDecimal: join(order, equal),
		rules.KindYesNo: {{Value: "is true", Label: "is true"}, {Value: "is false", Label: "is false"}}, rules.KindDuration: order, rules.KindTime: order,
		rules.KindOther: join(equal, order, presence),
	}
}()

// functionNames are completed beside the values.
var functionNames = []string{
	"has(", "decimal(", "duration(\"72h\")", "in list(\"", "in [", "size(", ".startsWith(\"", ".contains(\"", ".endsWith(\"", ".exists(x, ", ".all(x, ",
	"subject.decisions(\"", "subject.sum(\"", "subject.distinct(\"", "subject.seen(\"", "resource.sum(\"", "resource.distinct(\"",
}

// ruleDraft is a question of the builder with its checked schema.
type ruleDraft struct {
	ruleAsk
	action  models.Action
	schema  map[string]any
	builder *rules.Builder
	fault   string // why the schema cannot be used
}

func (c *Pages) ruleDraft(v *shell.Visit) (ruleDraft, error) {
	var d ruleDraft
	var err error
	if d.ruleAsk, err = web.Bind[ruleAsk](v.Ctx, mostAsked); err != nil {
		return d, err
	}
	if d.action, err = c.Actions.Get(v.Context, v.Scope(), v.Param("action")); err != nil {
		return d, err
	}
	if strings.TrimSpace(d.Schema) == "" {
		d.Schema = "{}"
	}
	checked, err := action.NewDraft(policy.Requirements{}, json.RawMessage(d.Schema), policy.EnvironmentKind(v.Grant.Environment.Kind))
	if err == nil {
		d.schema = checked.ContextSchema
		d.builder, err = rules.NewBuilder(d.schema)
	}
	if err != nil {
		d.fault = "The schema of the context cannot be used yet: " + faultText(err)
	}
	return d, nil
}

// faultText returns what is wrong, without where.
func faultText(err error) string {
	p := problem.As(err)
	switch {
	case p == nil:
		return err.Error()
	case len(p.Fields) > 0:
		return p.Fields[0].Msg
	default:
		return p.Detail
	}
}

// rule returns the draft as a rule that holds.
func (d ruleDraft) rule() policy.Rule {
	return policy.Rule{Name: "rule", When: d.When, Reserve: d.Reserve, Reason: "rule", Requirements: policy.Stricter{HoldOn: []string{reason.RuleMatched}}}
}

// writeRule translates a condition to its form, or a form to its condition.
func (c *Pages) writeRule(v *shell.Visit) error {
	d, err := c.ruleDraft(v)
	if err != nil {
		return err
	}
	return c.Router.JSON(v.Ctx, fiber.StatusOK, d.reply())
}

func (d ruleDraft) reply() ruleReply {
	out := ruleReply{When: d.When, Faults: []string{}}
	if d.fault != "" {
		out.Faults = append(out.Faults, d.fault)
		return out
	}
	if d.Values {
		out.Values, out.Operators, out.Functions = d.builder.Values(d.action.Key), formOperators, functionNames
		out.Examples = d.examples(out.Values)
	}
	if d.Form != nil {
		made, err := d.builder.Text(*d.Form)
		if err != nil {
			out.Faults = append(out.Faults, err.Error()+".")
			return out
		}
		d.When, out.When = made, made
	}
	if form, ok := d.builder.Form(d.When); ok {
		out.Form = &form
	}
	if strings.TrimSpace(d.When) == "" {
		return out
	}
	out.Said, _ = d.builder.Words(d.When)
	_, faults := rules.Compile([]policy.Rule{d.rule()}, d.schema)
	for _, f := range faults {
		out.Faults = append(out.Faults, fmt.Sprintf("Line %d, column %d: %s.", f.Line, f.Column, f.Why))
	}
	return out
}

// examples returns conditions with values of the schema, one of each kind.
func (d ruleDraft) examples(values []rules.Value) []example {
	var out []example
	add := func(want func(rules.Value) bool, operator, operand string) {
		for _, v := range values {
			if !want(v) {
				continue
			}
			if len(v.Choices) > 0 && operand == "" {
				operand = v.Choices[0]
			}
			when, err := d.builder.Text(rules.Form{Tests: []rules.Test{{Value: v.Text, Operator: operator, Operand: operand}}})
			if said, ok := d.builder.Words(when); err == nil && ok {
				out = append(out, example{said, when})
			}
			return
		}
	}
	own := func(v rules.Value) bool { return strings.Contains(v.Text, "context.") }
	add(func(v rules.Value) bool { return own(v) && (v.Kind == rules.KindDecimal || v.Kind == rules.KindNumber) }, ">", "10000")
	add(func(v rules.Value) bool { return own(v) && v.Kind == rules.KindText && len(v.Choices) > 0 }, "one of", "")
	add(func(v rules.Value) bool { return own(v) && v.Kind == rules.KindText && len(v.Choices) == 0 }, "not in list", "trusted_payees")
	add(func(v rules.Value) bool { return strings.HasPrefix(v.Text, "subject.sum(") && own(v) }, ">", "20000")
	add(func(v rules.Value) bool { return strings.HasPrefix(v.Text, "subject.seen(") }, "is false", "")
	add(func(v rules.Value) bool { return strings.HasPrefix(v.Text, "subject.decisions(") }, ">=", "3")
	add(func(v rules.Value) bool { return v.Text == "subject.age" }, "<", "72h")
	return out
}

// ruleMatches says how many of the newest stored decisions a condition matches.
func (c *Pages) ruleMatches(v *shell.Visit) error {
	d, err := c.ruleDraft(v)
	if err != nil {
		return err
	}
	if d.fault != "" {
		return problem.New(problem.Unprocessable, d.fault)
	}
	if _, faults := rules.Compile([]policy.Rule{d.rule()}, d.schema); len(faults) > 0 {
		return problem.New(problem.Unprocessable, "The condition has faults.")
	}
	kind := policy.EnvironmentKind(v.Grant.Environment.Kind)
	requirements, err := json.Marshal(policy.Requirements{Rules: []policy.Rule{d.rule()}}.Resolve(kind))
	if err != nil {
		return err
	}
	version := models.PolicyVersion{ActionID: d.action.ID, Requirements: requirements, ContextSchema: models.JSON(d.Schema)}
	found, err := c.Authorizations.Matches(v.Context, v.Scope(), version, kind, matchedDecisions)
	if err != nil {
		return err
	}
	return c.Router.JSON(v.Ctx, fiber.StatusOK, map[string]any{"said": matchWords(found.Decisions, found.Matches, found.Undecided, found.Unknown), "undecided": found.Undecided})
}

// matchWords says how many decisions a condition matches, and what is to be kept for those of which that is not known.
func matchWords(decisions, matches, undecided int, unknown []string) string {
	if decisions == 0 {
		return "No decisions of this action are stored yet."
	}
	number := func(n int) string { return display.Grouped(strconv.Itoa(n)) }
	out := fmt.Sprintf("Matches %s of the last %s stored decisions.", number(matches), number(decisions))
	if undecided == 0 {
		return out
	}
	names := strings.Join(unknown, ", ")
	return out + fmt.Sprintf(" %s more are unknown: they depend on %s, which is not stored. To know it from now on, choose “Keep the values that rules read” below.",
		number(undecided), names)
}
