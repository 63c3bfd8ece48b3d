package policies

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/internal/authz/action"
	"github.com/countersign-dev/countersign/internal/authz/aggregate"
	"github.com/countersign-dev/countersign/internal/authz/display"
	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/authz/rules"
	"github.com/countersign-dev/countersign/internal/authz/storedvalues"
	"github.com/countersign-dev/countersign/internal/platform/reason"
	"github.com/countersign-dev/countersign/models"
	"github.com/countersign-dev/countersign/web/console/show"
)

// Contents shows the content of a version to people.
type Contents struct {
	Does     []statement
	Rules    []ruleContents
	Schema   []schemaRow
	Raw      []string // the lines of the schema
	Settings []Difference
}

// statement says a part of what a policy does. Code is a condition that no words are known for.
type statement struct {
	Text string
	Code []string
}

type ruleContents struct {
	Name, Reason   string
	When, Requires []string // lines
}

// schemaRow is one property of the context.
type schemaRow struct {
	Name, Type, Limits string
	Required           bool
	Uses               []string
}

// ContentsOf returns what a policy version says, for its page.
func ContentsOf(p models.PolicyVersion) (Contents, error) {
	var out Contents
	contract, err := action.Contract(p)
	if err != nil {
		return out, err
	}
	if out.Does, err = sentencesOf(contract); err != nil {
		return out, err
	}
	for _, r := range contract.Requirements.Rules {
		c := ruleContents{Name: r.Name, Reason: r.Reason, When: strings.Split(rules.Format(r.When), "\n"), Requires: requiredLines(r.Requirements)}
		if r.Reserve {
			c.Requires = append(c.Requires, "reserve")
		}
		out.Rules = append(out.Rules, c)
	}
	out.Schema = schemaRows(nil, "", contract.ContextSchema)
	out.Raw = strings.Split(show.Indented(json.RawMessage(p.ContextSchema)), "\n")
	all, err := linesOf(p)
	maps.DeleteFunc(all, func(name string, _ []string) bool {
		return strings.HasPrefix(name, "rule ") || name == "context" || strings.HasPrefix(name, "context.")
	})
	out.Settings = compared(all, all)
	return out, err
}

// sentencesOf says what a policy does, the severest first.
func sentencesOf(c policy.Contract) ([]statement, error) {
	b, err := rules.NewBuilder(c.ContextSchema)
	if err != nil {
		return nil, err
	}
	var out []statement
	say := func(text string) { out = append(out, statement{Text: text}) }
	r := c.Requirements
	if len(r.DenyOn) > 0 {
		say("Denies a request for: " + show.CodeWords(r.DenyOn) + ".")
	}
	if len(r.HoldOn) > 0 {
		say("Holds a request for " + approvalWords(r.Approvals(), r.Review) + " for: " + show.CodeWords(r.HoldOn) + ".")
	}
	for _, rule := range r.Rules {
		out = append(out, ruleSentence(b, rule))
	}
	for _, text := range evidenceSentences(r) {
		say(text)
	}
	switch {
	case r.ExplicitApprovalRequired:
		say("Asks for a passkey for every request, and allows what is confirmed by it.")
	case len(out) == 0:
		say("Allows every request.")
	default:
		say("Otherwise allows.")
	}
	return out, nil
}

// effectWords are the beginnings of sentences about what happens.
var effectWords = map[policy.Effect]string{
	policy.Challenge: "Asks for a passkey", policy.Hold: "Holds a request for review", policy.Deny: "Denies a request",
}

// claimWords name what claims say about the evidence.
var claimWords = map[string]string{
	policy.OperatorContinuity: "that the same person acts as before", policy.HumanPresence: "that a human types", policy.Automation: "automation",
	policy.EvidenceReplay: "replayed evidence", policy.OperatorChange: "another person taking over",
}

func evidenceSentences(r policy.Requirements) []string {
	if !r.ReliesOnEvidence() {
		return nil
	}
	age := show.Span(time.Duration(r.FreshnessMaxMS) * time.Millisecond)
	out := []string{fmt.Sprintf("%s when the evidence is insufficient, less than %s, or older than %s.", effectWords[r.InsufficientEvidence], r.CoverageMin, age)}
	var sure, absent []string
	for _, claim := range slices.Sorted(maps.Keys(r.Claims)) {
		name := claimWords[claim]
		if name == "" {
			name = show.Plain(claim)
		}
		if r.Claims[claim] == policy.NotDetected {
			absent = append(absent, name)
		} else {
			sure = append(sure, fmt.Sprintf("it is %s %s", likelyWords[r.Claims[claim]], name))
		}
	}
	if len(sure) > 0 {
		out = append(out, effectWords[policy.Challenge]+" unless "+strings.Join(sure, " and ")+".")
	}
	if len(absent) > 0 {
		out = append(out, effectWords[policy.Hold]+" unless the evidence is free of "+strings.Join(absent, " and ")+".")
	}
	return out
}

// likelyWords are the minimums of claims.
var likelyWords = map[policy.Status]string{policy.Confirmed: "confirmed", policy.Likely: "likely", policy.Uncertain: "at least possible", policy.NotConfirmed: "assessed"}

// ruleSentence says what a rule does, such as "Holds a request for 2 approvals if amount is over 10,000."
func ruleSentence(b *rules.Builder, r policy.Rule) statement {
	then := strings.Join(ruleEffects(r.Requirements), " and ")
	out := statement{Text: strings.ToUpper(then[:1]) + then[1:]}
	if said, ok := b.Words(r.When); ok {
		out.Text += " if " + said + "."
	} else {
		out.Text, out.Code = out.Text+" if this is true:", strings.Split(rules.Format(r.When), "\n")
	}
	if r.Reserve {
		out.Text += " Requests that are decided at the same time count too."
	}
	return out
}

// ruleEffects returns what a rule adds to a policy. There is at least one.
func ruleEffects(s policy.Stricter) []string {
	r := policy.Requirements(s)
	var out []string
	said := []string{}
	if slices.Contains(r.DenyOn, reason.RuleMatched) {
		out, said = append(out, "denies a request"), append(said, "deny_on")
	}
	if slices.Contains(r.HoldOn, reason.RuleMatched) {
		out, said = append(out, "holds a request for "+approvalWords(r.Approvals(), r.Review)), append(said, "hold_on", "approvals_required", "review")
	} else if r.ApprovalsRequired > 0 || len(r.Review) > 0 {
		out, said = append(out, "requires "+approvalWords(r.Approvals(), r.Review)+" of what is held"), append(said, "approvals_required", "review")
	}
	if r.ExplicitApprovalRequired {
		out, said = append(out, "asks for a passkey"), append(said, "explicit_approval_required")
	}
	for _, line := range requiredLines(s) {
		if name, value, _ := strings.Cut(line, ": "); !slices.Contains(said, name) {
			out = append(out, "requires "+show.Plain(name)+" "+value)
		}
	}
	return out
}

// approvalWords says how many approvals a hold needs, and of which teams.
func approvalWords(n int, review policy.Review) string {
	out := strconv.Itoa(n) + " approvals"
	if n == 1 {
		out = "one approval"
	}
	if review.Stepped() {
		return out + " in steps (" + review.String() + ")"
	}
	var teams []policy.ReviewEntry
	for _, s := range review {
		teams = s.Entries
	}
	if len(teams) == 1 && teams[0].Approvals == n && teams[0].Escalate == nil {
		return out + " of team " + teams[0].Group
	}
	for i, t := range teams {
		if i == 0 {
			out += ", among them "
		} else {
			out += " and "
		}
		out += t.String()
	}
	return out
}

// schemaRows lists the properties of a schema from the top down.
func schemaRows(to []schemaRow, prefix string, schema map[string]any) []schemaRow {
	must, _ := schema["required"].([]any)
	properties, _ := schema["properties"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		below, _ := properties[name].(map[string]any)
		row := schemaRow{Name: prefix + name, Type: strings.Join(valueLines(below["type"]), " or "), Required: slices.Contains(must, any(name))}
		var limits []string
		for _, keyword := range []string{"enum", "const", "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "pattern", "format"} {
			if value, given := below[keyword]; given {
				limits = append(limits, keyword+" "+strings.Join(valueLines(value), ", "))
			}
		}
		row.Limits = strings.Join(limits, "; ")
		if shown, ok := below[display.Annotation].(map[string]any); ok {
			row.Uses = append(row.Uses, "shown as "+show.Text(shown["label"]))
		}
		if below[storedvalues.Annotation] == true {
			row.Uses = append(row.Uses, "kept")
		}
		if by, ok := below[aggregate.Annotation].(string); ok {
			row.Uses = append(row.Uses, map[string]string{string(aggregate.Sum): "added up"}[by]+map[string]string{string(aggregate.Distinct): "counted"}[by])
		}
		if row.Type == "null" || below["type"] == nil {
			row.Type = "any"
		}
		to = schemaRows(append(to, row), prefix+name+".", below)
	}
	return to
}
