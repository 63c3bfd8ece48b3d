package rules_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/authz/rules"
)

// payment is the context_schema of the tests.
const payment = `{"type": "object", "required": ["amount", "currency", "lines"], "properties": {
	"amount": {"type": "number"}, "exact": {"type": "string", "maxLength": 40}, "currency": {"type": "string", "enum": ["EUR", "USD", "JPY"]},
	"count": {"type": "integer"}, "urgent": {"type": "boolean"}, "note": {"type": ["string", "null"], "maxLength": 100},
	"payee": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string", "maxLength": 70}, "country": {"$ref": "#/$defs/country"}}},
	"lines": {"type": "array", "maxItems": 20, "items": {"type": "object", "required": ["sum"], "properties": {"sum": {"type": "number"}, "tag": {"type": "string", "maxLength": 10}}}},
	"labels": {"type": "object", "maxProperties": 5, "additionalProperties": {"type": "string", "maxLength": 10}},
	"free": {}, "many": {"type": "array", "items": {"type": "string"}}, "pay-ee": {"type": "string"}
	}, "$defs": {"country": {"type": "string", "maxLength": 2}}}`

func schema(t require.TestingT, text string) map[string]any {
	var out map[string]any
	require.NoError(t, json.Unmarshal([]byte(text), &out))
	return out
}

func rule(when string) policy.Rule { return policy.Rule{Name: "r", When: when} }

func compile(t require.TestingT, when ...string) *rules.Set {
	list := make([]policy.Rule, len(when))
	for i, w := range when {
		list[i] = policy.Rule{Name: fmt.Sprintf("r%d", i), When: w}
	}
	set, faults := rules.Compile(list, schema(t, payment))
	require.Empty(t, faults)
	return set
}

var now = time.Date(2026, 11, 20, 14, 30, 0, 0, time.UTC)

func ms(v int64) *int64 { return &v }

// vars are those of a payment; context completes the required properties.
func vars(context string) rules.Vars {
	sent := `{"amount": 250.5, "currency": "EUR", "lines": []`
	if context != "" {
		sent += ", " + context
	}
	return rules.Vars{
		Context: []byte(sent + "}"), Resource: rules.Resource{Type: "account", ID: "DE89370400440532013000"},
		Action: rules.Action{Key: "payments.transfer", Mode: "enforce", RiskClass: "high"}, Audience: "payments-api", Environment: policy.Live,
		Assurance: policy.Assurance{
			Coverage: policy.CoveragePartial, FreshnessMS: ms(900),
			Claims: []policy.Claim{{Name: policy.HumanPresence, Status: policy.Likely, Coverage: policy.CoveragePartial, FreshnessMS: ms(1200)}},
		},
		Subject: rules.Subject{ID: "user_1", Enrollment: "enrolled", CreatedAt: now.Add(-30 * time.Hour), Passkeys: 1, RecentlyRecovered: true},
		Counts:  map[rules.Count]int{{Action: "payments.transfer", Outcome: "allow", Window: "24h"}: 3},
		Now:     now,
	}
}

func TestMatch(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		when, context string
		want          bool
	}{
		"number above":                      {`context.amount > 250.0`, "", true},
		"number above an integer":           {`context.amount > 250`, "", true},
		"number not above":                  {`context.amount > 250.5`, "", false},
		"text":                              {`context.currency == "EUR"`, "", true},
		"one of a list":                     {`context.currency in ["USD", "JPY"]`, "", false},
		"missing is not present":            {`has(context.exact)`, "", false},
		"null is not present":               {`has(context.note)`, `"note": null`, false},
		"guarded and missing":               {`has(context.exact) && decimal(context.exact) > 10`, "", false},
		"guarded and present":               {`has(context.exact) && decimal(context.exact) > 10`, `"exact": "10.01"`, true},
		"guarded by or":                     {`!has(context.exact) || decimal(context.exact) > 10`, "", true},
		"guarded by a condition":            {`has(context.exact) ? decimal(context.exact) > 10 : context.amount > 10`, "", true},
		"exact decimals":                    {`has(context.exact) && decimal(context.exact) > decimal("0.3")`, `"exact": "0.30000000000000000001"`, true},
		"decimals are equal by value":       {`has(context.exact) && decimal(context.exact) == decimal("10")`, `"exact": "10.00"`, true},
		"decimal of a number":               {`decimal(context.amount) + decimal("0.1") == decimal("250.6")`, "", true},
		"decimal against a number":          {`decimal(context.amount) >= 250.5 && decimal(context.amount) < 251`, "", true},
		"integer":                           {`has(context.count) && context.count % 2 == 1`, `"count": 3`, true},
		"integer written with a point":      {`has(context.count) && context.count == 3`, `"count": 3.0`, true},
		"boolean":                           {`has(context.urgent) && context.urgent`, `"urgent": true`, true},
		"nested":                            {`has(context.payee) && context.payee.name.startsWith("Acme")`, `"payee": {"name": "Acme Ltd"}`, true},
		"nested and optional":               {`has(context.payee) && has(context.payee.country) && context.payee.country != "DE"`, `"payee": {"name": "A", "country": "FR"}`, true},
		"items of a list":                   {`context.lines.exists(l, l.sum > 100.0)`, "", false},
		"optional property of an item":      {`context.lines.all(l, has(l.tag) && l.tag == "x")`, "", true},
		"equal numbers of items":            {`context.lines.all(l, context.lines.all(m, l.sum == m.sum || decimal(l.sum) != decimal(m.sum)))`, "", true},
		"size of a list":                    {`size(context.lines) > 0`, "", false},
		"map":                               {`has(context.labels) && "vip" in context.labels && context.labels["vip"] == "no"`, `"labels": {"vip": "no"}`, true},
		"dynamic":                           {`has(context.free) && context.free == "x"`, `"free": "x"`, true},
		"dynamic of another type":           {`has(context.free) && context.free == "x"`, `"free": 5`, false},
		"a name that is no identifier":      {"has(context.`pay-ee`) && context.`pay-ee` == \"x\"", `"pay-ee": "x"`, true},
		"resource":                          {`resource.type == "account" && resource.id.startsWith("DE")`, "", true},
		"action":                            {`action.key == "payments.transfer" && action.mode == "enforce" && action.risk_class == "high"`, "", true},
		"audience":                          {`audience == "other"`, "", false},
		"environment":                       {`environment.kind == "live"`, "", true},
		"coverage":                          {`assurance.coverage in ["partial", "sufficient"] && !assurance.insufficient_evidence`, "", true},
		"freshness":                         {`has(assurance.freshness_ms) && assurance.freshness_ms < 1000`, "", true},
		"claim":                             {`assurance.claims.human_presence.status == "likely"`, "", true},
		"claim that the profile lacks":      {`assurance.claims.operator_continuity.status == "insufficient_evidence"`, "", true},
		"claim without evidence":            {`has(assurance.claims.operator_continuity.freshness_ms)`, "", false},
		"enrollment":                        {`subject.enrollment != "enrolled"`, "", false},
		"age":                               {`subject.age < duration("48h")`, "", true},
		"passkeys":                          {`subject.passkeys == 0`, "", false},
		"recovery":                          {`subject.recently_recovered`, "", true},
		"time":                              {`now.getHours() >= 22 || now.getHours() < 6`, "", false},
		"time in a zone":                    {`now.getHours("Asia/Tokyo") == 23`, "", true},
		"day in a zone after midnight":      {`timestamp("2024-02-29T23:30:00Z").getDate("Europe/Berlin") == 1`, "", true},
		"count reached":                     {`subject.decisions("payments.transfer", "allow", "24h") >= 3`, "", true},
		"count not reached":                 {`subject.decisions("payments.transfer", "allow", "24h") >= 4`, "", false},
		"error that the other side decides": {`has(context.exact) && (context.amount > 1 || decimal(context.exact) > 1)`, `"exact": "x"`, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found := compile(t, c.when).Match(t.Context(), vars(c.context))
			require.Equal(t, c.want, len(found) == 1, "%+v", found)
			for _, m := range found {
				require.False(t, m.Failed, m.Found)
			}
		})
	}
}

// A call in a zone is one unit of a rule's cost: it must not read the zone's file each time. Not in parallel: the allocations of the whole
// process are counted.
func TestZonesAreReadOnce(t *testing.T) {
	v := vars(`"count": 1`)
	allocations := func(when string) float64 {
		set := compile(t, when)
		return testing.AllocsPerRun(100, func() { set.Match(t.Context(), v) })
	}
	require.LessOrEqual(t, allocations(`now.getHours("America/St_Johns") == 24`), allocations(`now.getHours() == 24`)+2)
}

// The image of a release has no file of a time zone, and a rule that cannot be evaluated applies to every request.
func TestTimeZonesArePartOfTheBinary(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	require.NoError(t, err)
	require.True(t, slices.Contains(strings.Fields(string(out)), "time/tzdata"), "the package must import time/tzdata")
}

// A rule that cannot be evaluated applies, and says why without repeating a value.
func TestMatchFailsStrict(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		when, context, why string
		change             func(*rules.Vars)
	}{
		"no decimal":            {when: `has(context.exact) && decimal(context.exact) > 10`, context: `"exact": "1,5secret"`, why: "decimal() reads digits"},
		"an integer too large":  {when: `has(context.count) && context.count > 1`, context: `"count": 100000000000000000000`, why: "more than 64 bits"},
		"an index":              {when: `context.lines[0].sum > 1.0`, why: "fewer items"},
		"a key":                 {when: `has(context.labels) && context.labels["a"] == "b"`, context: `"labels": {}`, why: "missing"},
		"division by zero":      {when: `has(context.count) && 1 / context.count > 1`, context: `"count": 0`, why: "no result"},
		"a type":                {when: `has(context.free) && context.free > 5`, context: `"free": "secret"`, why: "a type that it cannot use"},
		"a value of other type": {when: `context.amount > 5`, change: func(v *rules.Vars) { v.Context = []byte(`{"amount": "secret"}`) }, why: "a different type"},
		"no JSON":               {when: `context.amount > 5`, change: func(v *rules.Vars) { v.Context = []byte(`secret`) }, why: "a different type"},
		"a missing count":       {when: `subject.decisions("a", "deny", "1h") > 5`, change: func(v *rules.Vars) { v.Counts = nil }, why: "missing"},
		"a text that is no time": {
			when: `has(context.exact) && timestamp(context.exact) < now`, context: `"exact": "secret"`, why: "a form that it cannot use",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := vars(c.context)
			if c.change != nil {
				c.change(&v)
			}
			found := compile(t, c.when).Match(t.Context(), v)
			require.Len(t, found, 1)
			require.True(t, found[0].Failed)
			require.Contains(t, found[0].Found, c.why)
			require.NotContains(t, found[0].Found, "secret")
		})
	}
	t.Run("an ended context", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		v := vars("")
		v.Context = []byte(`{"amount": 1, "currency": "EUR", "lines": [` + strings.TrimSuffix(strings.Repeat(`{"sum": 1},`, 20), ",") + `]}`)
		found := compile(t, `context.lines.all(l, context.lines.all(m, l.sum <= m.sum))`).Match(ctx, v)
		require.Len(t, found, 1)
		require.Contains(t, found[0].Found, "the request ended first")
	})
}

func TestCompileRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		when         string
		line, column int
		why          string
	}{
		"syntax":                         {`context.amount >`, 1, 17, "Syntax error"},
		"unknown variable":               {`amount > 1`, 1, 1, `"amount" is not known; the variables are context`},
		"unknown property":               {`context.amuont > 1.0`, 1, 8, `there is no property "amuont" here; the declared ones are amount, count`},
		"unknown property in line 2":     {"context.amount > 1.0 &&\n  context.payee.nme == \"x\"", 2, 16, `no property "nme" here; the declared ones are country, name`},
		"unknown function":               {`context.currency.matches("a")`, 1, 25, `"matches" is not known`},
		"no dyn":                         {`dyn(context.amount) == "x"`, 1, 4, `"dyn" is not known`},
		"text and number":                {`context.currency > 1`, 1, 18, "> cannot be applied to (string, int); write decimal(x)"},
		"equality of number kinds":       {`context.amount == 1`, 1, 16, "write the number with a point"},
		"equality with a decimal":        {`decimal(context.amount) == 1`, 1, 25, `compare decimals with decimal("100.00")`},
		"not a bool":                     {`context.amount + 1.0`, 1, 1, "must be true or false; this one has the type double"},
		"not known to be a bool":         {`has(context.free) ? context.free : context.free`, 1, 1, "must be true or false"},
		"may be missing":                 {`decimal(context.exact) > 1`, 1, 16, "context.exact can be missing or null: list it in required of context_schema, or test it first, as in has(context.exact) && ..."},
		"may be missing on one side":     {`has(context.exact) || context.exact == "x"`, 1, 30, "can be missing"},
		"tested afterwards":              {`context.exact == "x" && has(context.exact)`, 1, 8, "can be missing"},
		"the object may be missing":      {`context.payee.name == "x"`, 1, 8, "context.payee can be missing"},
		"unknown time zone":              {`now.getHours("Europe/Berlim") >= 22`, 1, 14, `"Europe/Berlim" is not a time zone`},
		"the server's time zone":         {`now.getHours("Local") >= 22`, 1, 14, `"Local" is not a time zone`},
		"a file of the server":           {`now.getHours("localtime") >= 22`, 1, 14, `"localtime" is not a time zone`},
		"a zone with leap seconds":       {`now.getHours("right/Europe/Berlin") >= 22`, 1, 14, `"right/Europe/Berlin" is not a time zone`},
		"no time zone":                   {`now.getHours("") >= 22`, 1, 14, `"" is not a time zone`},
		"a path":                         {`now.getHours("Europe/../Berlin") >= 22`, 1, 14, `"Europe/../Berlin" is not a time zone`},
		"offset out of range":            {`now.getHours("+24:00") >= 22`, 1, 14, `"+24:00" is not a time zone`},
		"has of a missing object":        {`has(context.payee.country)`, 1, 12, "context.payee can be missing"},
		"an item's may be missing":       {`context.lines.exists(l, l.tag == "x")`, 1, 26, "l.tag can be missing"},
		"tested of another list":         {`context.lines.exists(l, has(l.tag)) && context.lines.exists(l, l.tag == "x")`, 1, 65, "l.tag can be missing"},
		"nullable":                       {`context.note == "x"`, 1, 8, "context.note can be missing or null"},
		"freshness":                      {`assurance.freshness_ms > 5`, 1, 10, "assurance.freshness_ms can be missing"},
		"never equal":                    {`context.currency == "EURO"`, 1, 21, `context.currency is never "EURO"; it is one of EUR, USD, JPY`},
		"never in":                       {`context.currency in ["EUR", "GBP"]`, 1, 29, `never "GBP"`},
		"no such coverage":               {`assurance.coverage != "full"`, 1, 23, `never "full"; it is one of none, sparse`},
		"no such status":                 {`assurance.claims.automation.status == "likely"`, 1, 39, `never "likely"`},
		"no order":                       {`assurance.coverage >= "partial"`, 1, 10, "which have no order"},
		"unknown claim":                  {`assurance.claims.voice.status == "likely"`, 1, 17, `no property "voice"`},
		"count of a variable":            {`subject.decisions(action.key, "allow", "24h") > 1`, 1, 25, "are literal strings"},
		"count of no key":                {`subject.decisions("Payments", "allow", "24h") > 1`, 1, 19, "an action's key such as"},
		"count of no outcome":            {`subject.decisions("a", "allowed", "24h") > 1`, 1, 24, "one of allow, challenge, hold, deny, any"},
		"count of no window":             {`subject.decisions("a", "allow", "2w") > 1`, 1, 33, "a number of minutes, hours or days up to 30 days"},
		"count of something else":        {`context.decisions("a", "allow", "1h") > 1`, 1, 1, "a function of subject"},
		"a literal that is no time":      {`now > timestamp("today")`, 1, 1, ""},
		"too expensive":                  {`has(context.many) && context.many.exists(a, context.many.exists(b, a == b))`, 1, 1, "state maxItems and maxLength"},
		"too long":                       {strings.Repeat("true && ", 300) + "true", 1, 1, "at most 2000 characters"},
		"too deep":                       {strings.Repeat("(", 100) + "true" + strings.Repeat(")", 100), 1, 1, ""},
		"an object cannot be made":       {`context == @context{}`, 1, 12, "Syntax error"},
		"the hidden variable":            {`@counts["a"] > 1`, 1, 1, "Syntax error"},
		"a whole object in place of one": {`context == 1`, 1, 9, "== cannot be applied to (object, int)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set, faults := rules.Compile([]policy.Rule{rule("true"), {Name: "bad", When: c.when}}, schema(t, payment))
			require.Nil(t, set)
			require.NotEmpty(t, faults)
			f := faults[0]
			require.Equal(t, 1, f.Rule)
			require.Equal(t, "bad", f.Name)
			require.Contains(t, f.Why, c.why)
			require.NotContains(t, f.Why, "@object")
			require.Equal(t, [2]int{c.line, c.column}, [2]int{f.Line, f.Column}, f.Why)
			require.True(t, strings.HasPrefix(f.Error(), fmt.Sprintf("line %d column %d: ", c.line, c.column)))
		})
	}
}

func TestCompileRefusesTooManyCounts(t *testing.T) {
	t.Parallel()
	list := make([]policy.Rule, rules.MaxCounts+1)
	for i := range list {
		list[i] = rule(fmt.Sprintf(`subject.decisions("a%d", "allow", "24h") > 1`, i))
	}
	_, faults := rules.Compile(list, schema(t, `{}`))
	require.Len(t, faults, 1)
	require.Contains(t, faults[0].Why, "at most 16 different counts")
	_, faults = rules.Compile(list[1:], schema(t, `{}`))
	require.Empty(t, faults)
}

func TestCompileOfASchemaWithoutProperties(t *testing.T) {
	t.Parallel()
	_, faults := rules.Compile([]policy.Rule{rule(`context.amount > 1.0`)}, schema(t, `{}`))
	require.Len(t, faults, 1)
	require.Contains(t, faults[0].Why, "none: add them to properties in context_schema")
}

// A recursive schema has a finite shape: what is behind the recursion is dynamic.
func TestCompileOfARecursiveSchema(t *testing.T) {
	t.Parallel()
	tree := `{"required": ["tree"], "properties": {"tree": {"$ref": "#/$defs/tree"}}, "$defs": {"tree": {"type": "object", "required": ["size"], "properties": {
		"size": {"type": "integer"}, "left": {"$ref": "#/$defs/tree"}, "right": {"$ref": "#/$defs/tree"}}}}}`
	set, faults := rules.Compile([]policy.Rule{rule(`context.tree.size > 1 && has(context.tree.left) && context.tree.left.size > 2`)}, schema(t, tree))
	require.Empty(t, faults)
	v := vars("")
	v.Context = []byte(`{"tree": {"size": 5, "left": {"size": 3}}}`)
	require.Len(t, set.Match(t.Context(), v), 1)
}

func TestMatchNamesWhatItRead(t *testing.T) {
	t.Parallel()
	set := compile(t, `context.amount > 100.0 && resource.id != "" && subject.passkeys < 2 && has(assurance.freshness_ms) &&
		subject.decisions("payments.transfer", "allow", "24h") >= 3 && subject.age < duration("48h")`)
	found := set.Match(t.Context(), vars(""))
	require.Len(t, found, 1)
	require.Equal(t, "matched: context.amount, resource.id, subject.passkeys = 1, assurance.freshness_ms = 900, subject.age = 30h0m0s, "+
		`subject.decisions("payments.transfer", "allow", "24h") = 3`, found[0].Found)
	require.Equal(t, [][]string{{"amount"}}, found[0].Context)
	require.True(t, found[0].ResourceID)
}

func TestMatchSaysThatMoreWereNotCounted(t *testing.T) {
	t.Parallel()
	v := vars("")
	v.Counts = map[rules.Count]int{{Action: "a", Outcome: "allow", Window: "1h"}: 70}
	found := compile(t, `subject.decisions("a", "allow", "1h") >= 3`).Match(t.Context(), v)
	require.Equal(t, `matched: subject.decisions("a", "allow", "1h") >= 4`, found[0].Found)
}

func TestSetNeeds(t *testing.T) {
	t.Parallel()
	set := compile(t, `context.amount > 1.0 && subject.decisions("a", "deny", "1h") > 1`, `subject.decisions("b", "any", "7d") > 1`, `resource.id == "x"`, `true`,
		`has(context.payee) && context.payee.name == "x"`)
	require.Equal(t, []rules.Count{{Action: "a", Outcome: "deny", Window: "1h"}, {Action: "b", Outcome: "any", Window: "7d"}}, set.Counts())
	require.Equal(t, []rules.Count{{Action: "b", Outcome: "any", Window: "7d"}}, set.AgainCounts())
	require.Equal(t, [][]string{{"amount"}, {"payee"}, {"payee", "name"}}, set.ReadsContext())
	require.Equal(t, []string{"allow", "challenge", "hold", "deny"}, set.Counts()[1].Outcomes())
	at := time.Date(2026, 3, 8, 0, 0, 0, 0, time.UTC)
	require.Equal(t, at.Add(-7*24*time.Hour), set.Counts()[1].Since(at))

	none, faults := rules.Compile(nil, nil)
	require.Empty(t, faults)
	require.True(t, none.Empty())
	require.Empty(t, none.Match(t.Context(), rules.Vars{}))
	require.Empty(t, none.Counts())
}

// A follow-up decision keeps every rule that applied to the request and adds those that apply by now without it.
func TestMatchAgain(t *testing.T) {
	t.Parallel()
	set := compile(t, `context.amount > 100.0`, `context.amount > 1000.0`, `subject.passkeys == 0`, `subject.decisions("payments.transfer", "allow", "24h") >= 3`,
		`subject.enrollment == "none"`)
	v := vars("")
	first := set.Match(t.Context(), v)
	require.Len(t, first, 2)

	v.Context, v.Subject.Passkeys, v.Counts = nil, 0, nil
	v.Counts = map[rules.Count]int{{Action: "payments.transfer", Outcome: "allow", Window: "24h"}: 0}
	again := set.MatchAgain(t.Context(), v, []rules.Earlier{{Name: "r0"}, {Name: "r3", Failed: true}, {Name: "unknown"}})
	require.Len(t, again, 3)
	require.Equal(t, "r0", again[0].Rule.Name, "kept: its context is not stored")
	require.Equal(t, "matched when it was requested: context.amount", again[0].Found)
	require.Equal(t, "r2", again[1].Rule.Name, "applies by now")
	require.Equal(t, "r3", again[2].Rule.Name, "kept, although its count is lower now")
	require.True(t, again[2].Failed)
}

func TestEvaluationIsConcurrent(t *testing.T) {
	t.Parallel()
	set := compile(t, `context.lines.exists(l, l.sum > context.amount)`)
	for range 8 {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			for range 200 {
				require.Empty(t, set.Match(t.Context(), vars("")))
			}
		})
	}
}

func BenchmarkMatch(b *testing.B) {
	set := compile(b, `decimal(context.amount) > 10000 || subject.decisions("payments.transfer", "allow", "24h") >= 30`)
	v := vars("")
	for b.Loop() {
		set.Match(b.Context(), v)
	}
}

func BenchmarkCompile(b *testing.B) {
	parsed := schema(b, payment)
	list := []policy.Rule{rule(`decimal(context.amount) > 10000 || subject.decisions("payments.transfer", "allow", "24h") >= 30`)}
	for b.Loop() {
		rules.Compile(list, parsed)
	}
}

// No condition breaks the compiler, and one that is refused has a place and a reason.
func FuzzCondition(f *testing.F) {
	for _, seed := range []string{
		`context.amount > 1.0`, `decimal(context.amount) + decimal("1e9") > 10`, `subject.decisions("a", "allow", "1d@Europe/Berlin") > 3`, `context.lines.all(l, l.sum > 1)`,
		`now.getHours("Europe/Berlin") < 8`, `now.getMonth() == 12`, `"a".matches("(a+)+$")`, `subject.first_seen("payee", context.payee)`, `has(context.x) ? 1 : "a"`, `in list("x")`, "\x00", "((((((((", `[1,2,3].map(x, x)`,
		`resource.sum("amount", "a", "allow", "30d") > 1`, `context.payee in list("trusted")`, `timestamp("0000-01-01T00:00:00Z") < now`,
	} {
		f.Add(seed)
	}
	parsed := schema(f, payment)
	f.Fuzz(func(t *testing.T, when string) {
		if len(when) > 2000 {
			return
		}
		set, faults := rules.Compile([]policy.Rule{rule(when)}, parsed)
		for _, fault := range faults {
			require.NotEmpty(t, fault.Error())
		}
		if len(faults) == 0 {
			set.Match(t.Context(), vars(""))
		}
	})
}
