package reference

import (
	"maps"
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/problem"
)

type errorRow struct {
	Code    problem.Code
	Status  int
	Meaning string
	Remedy  string
}

// ruleRow is a rule that an item of a 422 names.
type ruleRow struct{ Rule, Anchor, Meaning string }

// errorCodes is the page of all codes and rules.
type errorCodes struct {
	Codes []errorRow
	Rules []ruleRow
}

// ruleAnchor is the id of a rule on the page, which a code may not have.
func ruleAnchor(rule string) string { return "rule-" + rule }

func ruleURL(rule string) string { return "/docs/errors#" + ruleAnchor(rule) }

func (s *section) errors(c *fiber.Ctx) error {
	catalogue := problem.Catalogue()
	var rows []errorRow
	var contents []link
	for _, code := range slices.Sorted(maps.Keys(catalogue)) {
		rows = append(rows, errorRow{code, catalogue[code].Status, catalogue[code].Title, problem.Remedy(code)})
		contents = append(contents, link{URL: "#" + string(code), Text: string(code)})
	}
	rules := problem.Rules()
	var named []ruleRow
	for _, rule := range slices.Sorted(maps.Keys(rules)) {
		named = append(named, ruleRow{rule, ruleAnchor(rule), rules[rule]})
	}
	contents = append(contents, link{URL: "#rules", Text: "Rules of a 422"})
	return s.show(c, "errors.html", "Error codes", contents, errorCodes{rows, named})
}

type eventRow struct {
	Type                         events.Type
	Description, Example, Schema string
}

// eventGroup are the events about one kind of record.
type eventGroup struct {
	Name string
	Rows []eventRow
}

func (s *section) events(c *fiber.Ctx) error {
	var groups []eventGroup
	var contents []link
	for _, d := range events.Catalogue() {
		example, err := pretty(d.MessageExample())
		if err != nil {
			return err
		}
		schema, err := pretty(d.MessageSchema())
		if err != nil {
			return err
		}
		name, _, _ := strings.Cut(string(d.Type), ".")
		if len(groups) == 0 || groups[len(groups)-1].Name != name {
			groups = append(groups, eventGroup{Name: name})
		}
		last := &groups[len(groups)-1]
		last.Rows = append(last.Rows, eventRow{d.Type, d.Description, example, schema})
		contents = append(contents, link{URL: "#" + string(d.Type), Text: string(d.Type)})
	}
	return s.show(c, "events.html", "Events", contents, groups)
}
