package policies

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/authz/rules"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/platform/reason"
	"github.com/countersign-dev/countersign/internal/platform/strictjson"
	"github.com/countersign-dev/countersign/web/console/forms"
	"github.com/countersign-dev/countersign/web/console/shell"
)

// ruleRow is one rule of a form. More is JSON: the requirements that have no control of their own.
type ruleRow struct {
	Prefix                                                 string // of the names of the controls
	ID                                                     string // prefix of their ids
	Name, When, Then, Approvals, Team, Reason, More, Label string
	Reserve, Removed, New, Open                            bool
	Faults                                                 map[string][]string
}

// The choices of what a rule does.
var effects = []forms.Option{
	{Value: "hold", Label: "hold the request for review"}, {Value: "deny", Label: "deny the request"}, {Value: "passkey", Label: "ask for a passkey"}, {Value: "", Label: "only what is stated under More"},
}

// Effects returns the choices for the template.
func (r ruleRow) Effects() []forms.Option { return effects }

func (r *ruleRow) named(name string, n int) {
	r.Prefix = name + "." + strconv.Itoa(n) + "."
	r.ID = forms.Field{Name: name}.Control() + "-" + strconv.Itoa(n) + "-"
	r.Label = "New rule"
	if !r.New {
		r.Label = "Rule " + r.Name
	}
}

// ruleSet is the part of a form with rules.
type ruleSet struct {
	Name string // of the field
	Rows []ruleRow
}

// rulesPart returns the part with rules, and an empty one.
func rulesPart(name string, list []policy.Rule) *ruleSet {
	out := make([]ruleRow, 0, len(list)+1)
	for _, r := range list {
		out = append(out, ruleRowOf(r))
	}
	return &ruleSet{name, withBlank(name, out, false)}
}

// withBlank appends an empty rule, which is open if the user wants one.
func withBlank(name string, rows []ruleRow, wanted bool) []ruleRow {
	if len(rows) < policy.MaxRules {
		rows = append(rows, ruleRow{Then: "hold", New: true, Open: wanted})
	}
	for i := range rows {
		rows[i].named(name, i)
	}
	return rows
}

func ruleRowOf(r policy.Rule) ruleRow {
	out := ruleRow{Name: r.Name, When: rules.Format(r.When), Reason: r.Reason, Reserve: r.Reserve}
	rest := r.Requirements
	alone := []string{reason.RuleMatched}
	switch {
	case slices.Equal(rest.DenyOn, alone):
		out.Then, rest.DenyOn = "deny", nil
	case slices.Equal(rest.HoldOn, alone):
		out.Then, rest.HoldOn = "hold", nil
	case rest.ExplicitApprovalRequired:
		out.Then, rest.ExplicitApprovalRequired = "passkey", false
	}
	if rest.ApprovalsRequired > 0 {
		out.Approvals, rest.ApprovalsRequired = strconv.Itoa(rest.ApprovalsRequired), 0
	}
	if team, ok := rest.Review.OneOf(); ok {
		out.Team, rest.Review = team, nil
	}
	if more := jsonOf(rest, false); more != "{}" {
		out.More = more
	}
	return out
}

// Read fills in the rules that the user submitted.
func (f *ruleSet) Read(v *shell.Visit) {
	var rows []ruleRow
	for n := 0; n <= policy.MaxRules; n++ {
		prefix := f.Name + "." + strconv.Itoa(n) + "."
		if len(v.All(prefix+"name")) == 0 {
			break
		}
		get := func(name string) string { return strings.ReplaceAll(v.Form(prefix+name), "\r\n", "\n") }
		r := ruleRow{
			Name: strings.TrimSpace(get("name")), When: strings.TrimSpace(get("when")), Then: get("then"), Approvals: strings.TrimSpace(get("approvals")),
			Team: strings.TrimSpace(get("team")), Reason: strings.TrimSpace(get("reason")), More: strings.TrimSpace(get("more")),
			Reserve: get("reserve") == "true", Removed: get("remove") == "true",
		}
		if !r.Removed && r.Name+r.When+r.Reason+r.More != "" {
			rows = append(rows, r)
		}
	}
	f.Rows = withBlank(f.Name, rows, v.Form("more") != "")
}

// Values returns the submitted rules as the body has them, with the values that no body can have.
func (f *ruleSet) Values() (any, []problem.Field) {
	out := []any{}
	var faults []problem.Field
	for _, r := range f.Rows {
		if r.New {
			continue
		}
		at := append(forms.Loc(f.Name), len(out))
		requires := map[string]any{}
		if r.More != "" {
			more, err := strictjson.Decode([]byte(r.More), strictjson.Limits{})
			given, ok := more.(map[string]any)
			switch {
			case err != nil:
				faults = append(faults, problem.Field{Loc: append(at, "more"), Msg: "More is not valid JSON: " + err.Error(), Type: "value_error"})
			case !ok:
				faults = append(faults, problem.Field{Loc: append(at, "more"), Msg: `More is a JSON object such as {"coverage_min": "partial"}.`, Type: "value_error"})
			}
			maps.Copy(requires, given)
		}
		if fault := r.require(requires); fault != "" {
			faults = append(faults, problem.Field{Loc: append(at, "approvals"), Msg: fault, Type: "value_error"})
		}
		body := map[string]any{"name": r.Name, "when": r.When, "requirements": requires, "reason": r.Reason}
		if r.Reserve {
			body["reserve"] = true
		}
		out = append(out, body)
	}
	return out, faults
}

// require adds what the controls of a rule require. It returns why they cannot; empty if they can.
func (r ruleRow) require(to map[string]any) string {
	alone := []any{reason.RuleMatched}
	switch r.Then {
	case "deny":
		to["deny_on"] = alone
	case "hold":
		to["hold_on"] = alone
	case "passkey":
		to["explicit_approval_required"] = true
	}
	if r.Approvals != "" {
		n, err := strconv.Atoi(r.Approvals)
		if err != nil {
			return "Approvals must be a number, such as 2."
		}
		to["approvals_required"] = json.Number(strconv.Itoa(n))
	}
	if r.Team != "" {
		to["review"] = []any{map[string]any{"group": r.Team, "approvals": 1}}
	}
	return ""
}

// Blame shows a refusal at the control of the rule that it names.
func (f *ruleSet) Blame(fault problem.Field) bool {
	n, control := -1, "name"
	for _, part := range fault.Loc {
		switch part := part.(type) {
		case int:
			if n < 0 {
				n = part
			}
		case string:
			if n < 0 {
				continue
			}
			switch part {
			case "name", "when", "reason", "more", "approvals", "reserve":
				control = part
			case "requirements":
				control = "more"
			case "approvals_required":
				control = "approvals"
			case "review", "group":
				control = "team"
			}
		}
	}
	if n < 0 || n >= len(f.Rows) || f.Rows[n].New {
		return false
	}
	r := &f.Rows[n]
	if r.Faults == nil {
		r.Faults = map[string][]string{}
	}
	of := forms.Field{Name: strings.Join(forms.NamesOf(fault.Loc), "."), Label: ruleLabels[control], Hint: ruleHints[control]}
	r.Faults[control] = append(r.Faults[control], of.InWords(fault))
	return true
}

func (f *ruleSet) Wrongs() []forms.Wrong {
	var out []forms.Wrong
	for _, r := range f.Rows {
		out = append(out, r.wrongs()...)
	}
	return out
}

// ruleLabels and ruleHints are the texts of the controls of a rule.
var (
	ruleLabels = map[string]string{
		"name": "Name", "when": "Condition", "then": "Then", "approvals": "Approvals", "team": "Team", "reason": "Reason", "more": "More",
		"reserve": "Reserve",
	}
	ruleHints = map[string]string{
		"name": "Lower case with underscores, such as large_payment.", "reason": "One sentence for reviewers and explanations.",
		"approvals": "1 to 5; empty for those of the policy.", "team": "The key of a team that gives one of the approvals.",
		"more":    `Further requirements as JSON, such as {"coverage_min": "partial"}.`,
		"reserve": "The limit also holds for requests that are decided at the same time.",
	}
)

// ruleLine is a control of a rule for the template.
type ruleLine struct {
	ID, Name, Label, Hint, Value, Described string
	Faults                                  []string
}

// Line returns a control of the rule.
func (r ruleRow) Line(control string) ruleLine {
	out := ruleLine{
		ID: r.ID + control, Name: r.Prefix + control, Label: ruleLabels[control], Hint: ruleHints[control], Faults: r.Faults[control],
		Value: map[string]string{"name": r.Name, "when": r.When, "approvals": r.Approvals, "team": r.Team, "reason": r.Reason, "more": r.More}[control],
	}
	var by []string
	if out.Hint != "" {
		by = append(by, out.ID+"-hint")
	}
	if len(out.Faults) > 0 {
		by = append(by, out.ID+"-fault")
	}
	out.Described = strings.Join(by, " ")
	return out
}

// wrongs returns the faults of the rule in the order of its controls.
func (r ruleRow) wrongs() []forms.Wrong {
	var out []forms.Wrong
	for _, control := range []string{"name", "when", "then", "approvals", "team", "reason", "reserve", "more"} {
		for _, text := range r.Faults[control] {
			out = append(out, forms.Wrong{URL: "#" + r.ID + control, Text: fmt.Sprintf("%s: %s", r.Label, text)})
		}
	}
	return out
}
