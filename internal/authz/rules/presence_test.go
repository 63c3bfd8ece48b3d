package rules_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/authz/rules"
)

// A schema that shows an amount and not surely who is paid leaves the payee off the button that signs.
func TestWarningsOfMissingTitles(t *testing.T) {
	t.Parallel()
	const amount = `"amount":{"type":"number","x-countersign-display":{"label":"Amount","format":"money","currency":"EUR"}}`
	for name, c := range map[string]struct {
		schema string
		want   int
	}{
		"no amount":       {`{"properties":{"note":{"x-countersign-display":{"label":"Note","format":"text"}}}}`, 0},
		"no title":        {`{"properties":{` + amount + `,"web":{"x-countersign-display":{"label":"Channel","format":"text"}}}}`, 1},
		"may be left out": {`{"properties":{` + amount + `,"payee":{"x-countersign-display":{"label":"Payee","format":"text","title":true}}}}`, 1},
		"declared":        {`{"required":["payee"],"properties":{` + amount + `,"payee":{"x-countersign-display":{"label":"Payee","format":"text","title":true}}}}`, 0},
		"the resource":    {`{"x-countersign-display":{"label":"To","format":"account","title":true},"properties":{` + amount + `}}`, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var schema map[string]any
			require.NoError(t, json.Unmarshal([]byte(c.schema), &schema))
			got := slices.DeleteFunc(rules.Warnings(policy.Requirements{}, schema), func(w policy.Warning) bool { return w.Code != rules.WarnTitle })
			require.Len(t, got, c.want)
		})
	}
}

func TestWarningsOfMissingProperties(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		when string
		want []string
	}{
		"required":                           {`context.amount > 10.0`, nil},
		"a test of what is required":         {`has(context.amount) && context.amount > 10.0`, nil},
		"guarded":                            {`has(context.count) && context.count > 10`, []string{"count"}},
		"tested alone":                       {`has(context.exact)`, []string{"exact"}},
		"tested last":                        {`context.amount > 10.0 && has(context.count)`, []string{"count"}},
		"required, but may be null":          {`has(context.note) && context.note == "x"`, []string{"note"}},
		"of any type":                        {`has(context.free) && context.free == "x"`, []string{"free"}},
		"a name that is no identifier":       {"has(context.`pay-ee`) && context.`pay-ee` == \"x\"", []string{"pay-ee"}},
		"each property once":                 {`has(context.payee) && has(context.payee.country) && (context.payee.country == "FR" || has(context.payee) && context.payee.name == "x")`, []string{"payee", "payee.country"}},
		"one of several alternatives":        {`context.amount > 10.0 || has(context.count) && context.count > 5`, []string{"count"}},
		"matches without it":                 {`!has(context.count) || context.count > 10`, nil},
		"a match without it, among others":   {`context.amount > 1.0 && (!has(context.count) || context.count > 10)`, nil},
		"denied as a whole":                  {`!(has(context.count) && context.count <= 10)`, nil},
		"denied twice":                       {`!(!has(context.count) || context.count <= 10)`, []string{"count"}},
		"decided by another value":           {`has(context.count) ? context.count > 10 : context.amount > 10.0`, nil},
		"decided by another value, with or":  {`has(context.count) && context.count > 10 || !has(context.count) && context.amount > 1.0`, nil},
		"otherwise true":                     {`has(context.count) ? context.count > 10 : true`, nil},
		"otherwise false":                    {`has(context.count) ? context.count > 10 : false`, []string{"count"}},
		"otherwise true, and denied":         {`!(has(context.count) ? context.count <= 10 : true)`, []string{"count"}},
		"otherwise false, and denied":        {`!(has(context.count) ? context.count <= 10 : false)`, nil},
		"nothing counts as zero":             {`(has(context.count) ? context.count : 0) > 10`, []string{"count"}},
		"compared with true":                 {`has(context.count) == true`, []string{"count"}},
		"of each item":                       {`context.lines.all(l, has(l.tag) && l.tag == "x")`, []string{"l.tag"}},
		"of some item":                       {`context.lines.exists(l, has(l.tag) && l.tag == "x")`, []string{"l.tag"}},
		"of some item, or without it":        {`context.lines.exists(l, !has(l.tag) || l.tag == "x")`, nil},
		"of no item":                         {`!context.lines.exists(l, has(l.tag) && l.tag == "x")`, nil},
		"of the counted items":               {`context.lines.filter(l, has(l.tag) && l.tag == "x").size() > 2`, []string{"l.tag"}},
		"of one item":                        {`context.lines.exists_one(l, has(l.tag) && l.tag == "x")`, []string{"l.tag"}},
		"a key of a map":                     {`context.open.size() > 0 && "vip" in context.open && context.open["vip"] == "no"`, []string{"open.vip"}},
		"a key of a map that is required":    {`"id" in context.open && has(context.open.id)`, nil},
		"a key of a map that matches absent": {`!("vip" in context.open)`, nil},
		"an item of a list":                  {`context.currency in ["EUR"]`, nil},
		"of the service":                     {`has(assurance.freshness_ms) && assurance.freshness_ms > 5 && subject.passkeys == 0`, nil},
		"below a value of any type":          {`has(context.free) && has(context.free.deep)`, []string{"free", "free.deep"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			open := schema(t, payment)
			open["properties"].(map[string]any)["open"] = schema(t, `{"type": "object", "required": ["id"], "maxProperties": 5, "additionalProperties": {"type": "string", "maxLength": 10}}`)
			open["required"] = append(open["required"].([]any), "open", "note", "free")
			list := []policy.Rule{{Name: "first", When: "true"}, {Name: "second", When: c.when}}
			_, faults := rules.Compile(list, open)
			require.Empty(t, faults)
			var want []policy.Warning
			for _, property := range c.want {
				want = append(want, policy.Warning{Code: rules.WarnMissing, Loc: []string{"rules", "1", "when"}, Message: "A request without `" + property +
					"` skips this rule, \"second\": list it in required of context_schema and let it not be null, or let the condition be true without it."})
			}
			require.Equal(t, want, rules.Warnings(policy.Requirements{CoverageMin: policy.CoverageNone, Rules: list}, open))
		})
	}
}
