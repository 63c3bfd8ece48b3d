package rules_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/authz/rules"
)

// generatedSchema is the context_schema of generated conditions.
const generatedSchema = `{"type": "object", "required": ["amount", "total", "text", "flag", "at", "lines", "words", "labels"], "properties": {
	"amount": {"type": "number"}, "total": {"type": "integer"}, "text": {"type": "string", "maxLength": 20}, "flag": {"type": "boolean"},
	"at": {"type": "string", "maxLength": 30},
	"lines": {"type": "array", "maxItems": 3, "items": {"type": "object", "required": ["sum"], "properties": {
		"sum": {"type": "number"}, "tag": {"type": "string", "maxLength": 10}}}},
	"words": {"type": "array", "maxItems": 3, "items": {"type": "string", "maxLength": 10}},
	"labels": {"type": "object", "maxProperties": 3, "additionalProperties": {"type": "string", "maxLength": 10}},
	"fee": {"type": "number"}, "quantity": {"type": "integer"}, "note": {"type": ["string", "null"], "maxLength": 20}}}`

// Values at the borders of their types, and others that are often equal to each other. The least integer is left out: its remainder
// by -1 is an error in cel-go, as its quotient is in both, and 0 in @bufbuild/cel.
var (
	someInts    = []int64{0, 1, 2, 3, -1, -7, 100, 1 << 53, 1<<53 + 1, 1<<63 - 1, -1<<63 + 1}
	someDoubles = []float64{0, 1, 2, 3, -1, 0.1, 0.5, 2.5, -7.25, 100, 1e3, 1 << 53, 1e19, -1e300}
	someTexts   = []string{"", "a", "b", "ab", "DE", "DE89", "de", "3", "-7", "2.5", "vip", "Ähre", "\uff5e", "😀", "a😀b", `"`, "\\", "\n"}
	someTimes   = []string{"2026-11-20T14:30:00Z", "2026-11-20T14:30:00.5Z", "2024-02-29T23:59:59Z", "2026-12-31T23:30:00-03:30", "2027-01-01T00:00:00+01:00", "1969-07-20T20:17:40Z"}
	someSpans   = []string{"0s", "1s", "90s", "1h30m", "-5m", "30h", "48h", "1.5s"}
	someOffsets = []string{"UTC", "-03:30", "05:45", "+14:00"}
	someZones   = append([]string{"Asia/Tokyo", "Europe/Berlin", "America/St_Johns"}, someOffsets...)
	someActions = []string{"payments.transfer", "login"}
	someEnds    = []string{"allow", "challenge", "hold", "deny", "any"}
	someWindows = []string{"1h", "24h", "7d"}
)

// Types of expressions.
type kind int

const (
	aBool kind = iota
	anInt
	aDouble
	aText
	aTime
	aSpan
	texts
)

// generator writes conditions that are well typed, from a seed.
type generator struct {
	*rand.Rand
	texts, lines []string // variables of the comprehensions around the expression
	made         int      // variables
}

func pick[T any](g *generator, from []T) T { return from[g.IntN(len(from))] }

// of writes an expression of a type that is at most depth deep.
func (g *generator) of(k kind, depth int) string {
	if depth == 0 || g.IntN(6) == 0 {
		return g.leaf(k)
	}
	depth--
	if g.IntN(10) == 0 {
		return fmt.Sprintf("(%s ? %s : %s)", g.of(aBool, depth), g.of(k, depth), g.of(k, depth))
	}
	switch k {
	case aBool:
		return g.bool(depth)
	case anInt:
		return g.int(depth)
	case aDouble:
		return g.double(depth)
	case aText:
		return g.text(depth)
	case aTime:
		return fmt.Sprintf("(%s %s %s)", g.of(aTime, depth), pick(g, []string{"+", "-"}), g.of(aSpan, depth))
	case aSpan:
		return g.span(depth)
	default:
		return g.list(depth)
	}
}

// leaf writes a literal or a variable. What can be missing is tested first, as conditions have to.
func (g *generator) leaf(k kind) string {
	switch k {
	case aBool:
		return pick(g, []string{
			"true", "false", "context.flag", "has(context.fee)", "has(context.quantity)", "has(context.note)", "subject.recently_recovered",
			"assurance.insufficient_evidence", "has(assurance.freshness_ms)", "has(assurance.claims.automation.freshness_ms)",
		})
	case anInt:
		count := fmt.Sprintf("subject.decisions(%q, %q, %q)", pick(g, someActions), pick(g, someEnds), pick(g, someWindows))
		return pick(g, []string{
			strconv.FormatInt(pick(g, someInts), 10), "context.total", "(has(context.quantity) ? context.quantity : 5)", "subject.passkeys", count,
			"(has(assurance.freshness_ms) ? assurance.freshness_ms : 1)",
		})
	case aDouble:
		own := []string{doubleLiteral(pick(g, someDoubles)), "context.amount", "(has(context.fee) ? context.fee : 0.5)"}
		for _, line := range g.lines {
			own = append(own, line+".sum")
		}
		return pick(g, own)
	case aText:
		own := []string{
			strconv.Quote(pick(g, someTexts)), "context.text", "(has(context.note) ? context.note : \"b\")", "resource.id", "action.key", "audience",
			"subject.id", "assurance.coverage", "subject.enrollment", "assurance.claims.human_presence.status", "environment.kind",
		}
		for _, line := range g.lines {
			own = append(own, fmt.Sprintf("(has(%s.tag) ? %s.tag : \"a\")", line, line))
		}
		return pick(g, append(own, g.texts...))
	case aTime:
		return pick(g, []string{"now", fmt.Sprintf("timestamp(%q)", pick(g, someTimes)), "timestamp(context.at)"})
	case aSpan:
		return pick(g, []string{"subject.age", fmt.Sprintf("duration(%q)", pick(g, someSpans))})
	default:
		return pick(g, []string{"context.words", fmt.Sprintf("[%q, %q]", pick(g, someTexts), pick(g, someTexts))})
	}
}

func (g *generator) bool(depth int) string {
	switch g.IntN(8) {
	case 0:
		return "!" + g.of(aBool, depth)
	case 1, 2:
		return fmt.Sprintf("(%s %s %s)", g.of(aBool, depth), pick(g, []string{"&&", "||"}), g.of(aBool, depth))
	case 3:
		return fmt.Sprintf("%s.%s(%s)", g.of(aText, depth), pick(g, []string{"contains", "startsWith", "endsWith"}), g.of(aText, depth))
	case 4:
		return g.member(depth)
	case 5:
		return g.quantified(depth)
	case 6: // only an order compares an int with a double
		return fmt.Sprintf("(%s %s %s)", g.of(anInt, depth), pick(g, orders), g.of(aDouble, depth))
	default:
		return g.comparison(depth)
	}
}

var orders = []string{"<", "<=", ">", ">="}

func (g *generator) comparison(depth int) string {
	k := pick(g, []kind{aBool, anInt, aDouble, aText, aTime, aSpan, texts})
	operators := append([]string{"==", "!="}, orders...)
	left, right := g.of(k, depth), g.of(k, depth)
	if k == texts {
		operators = operators[:2] // lists have no order
	}
	if k == aText { // those with an enum have no order either, and equal only their own values
		left, right = left+" + \"\"", "\"\" + "+right
	}
	return fmt.Sprintf("(%s %s %s)", left, pick(g, operators), right)
}

func (g *generator) member(depth int) string {
	if g.IntN(3) == 0 {
		return fmt.Sprintf("(%s in [%s, %s])", g.of(anInt, depth), g.of(anInt, depth), g.of(anInt, depth))
	}
	within := "context.labels"
	if g.IntN(2) == 0 {
		within = g.of(texts, depth)
	}
	return fmt.Sprintf("(\"\" + %s in %s)", g.of(aText, depth), within)
}

// quantified writes a macro over a list or the keys of a map.
func (g *generator) quantified(depth int) string {
	macro := pick(g, []string{"all", "exists", "exists_one"})
	if g.IntN(2) == 0 {
		return g.over("context.lines", macro, &g.lines, aBool, depth)
	}
	return g.over(pick(g, []string{"context.labels", "context.words"}), macro, &g.texts, aBool, depth)
}

// over writes a macro with a variable that its body can read.
func (g *generator) over(list, macro string, scope *[]string, body kind, depth int) string {
	g.made++
	v, outside := fmt.Sprintf("v%d", g.made), *scope
	*scope = append(outside[:len(outside):len(outside)], v)
	defer func() { *scope = outside }()
	return fmt.Sprintf("%s.%s(%s, %s)", list, macro, v, g.of(body, depth))
}

func (g *generator) int(depth int) string {
	switch g.IntN(6) {
	case 0:
		return "size(" + g.of(aText, depth) + ")"
	case 1:
		return pick(g, []string{g.of(texts, depth) + ".size()", "size(context.lines)", "size(context.labels)"})
	case 2:
		// The sum is no literal: that of a double too large for an int is refused when the condition is compiled.
		return pick(g, []string{"int(" + g.of(aTime, depth) + ")", "int(0.0 + " + g.of(aDouble, depth) + ")"})
	case 3:
		return g.part(depth)
	default:
		return fmt.Sprintf("(%s %s %s)", g.of(anInt, depth), pick(g, []string{"+", "-", "*", "/", "%"}), g.of(anInt, depth))
	}
}

// part writes a part of a timestamp. In a zone with a name, @bufbuild/cel 0.6.1 is a day ahead in the hour after midnight (its
// Intl.DateTimeFormat calls that hour 24), so that days are compared in UTC and at offsets only.
func (g *generator) part(depth int) string {
	part, zones := pick(g, []string{"getHours", "getMinutes", "getSeconds"}), someZones
	if g.IntN(2) == 0 {
		part, zones = pick(g, []string{"getFullYear", "getMonth", "getDate", "getDayOfMonth", "getDayOfWeek", "getDayOfYear"}), someOffsets
	}
	return fmt.Sprintf("%s.%s(%s)", g.of(aTime, depth), part, pick(g, []string{"", strconv.Quote(pick(g, zones))}))
}

func (g *generator) double(depth int) string {
	switch g.IntN(4) {
	case 0:
		return "double(" + g.of(anInt, depth) + ")"
	case 1:
		return fmt.Sprintf("context.lines[%d].sum", g.IntN(3))
	default:
		return fmt.Sprintf("(%s %s %s)", g.of(aDouble, depth), pick(g, []string{"+", "-", "*", "/"}), g.of(aDouble, depth))
	}
}

func (g *generator) text(depth int) string {
	switch g.IntN(3) {
	case 0:
		return fmt.Sprintf("context.labels[%s]", g.of(aText, depth))
	case 1:
		return fmt.Sprintf("%s[%d]", g.of(texts, 0), g.IntN(3))
	default:
		return fmt.Sprintf("(%s + %s)", g.of(aText, depth), g.of(aText, depth))
	}
}

func (g *generator) span(depth int) string {
	if g.IntN(2) == 0 {
		return fmt.Sprintf("(%s - %s)", g.of(aTime, depth), g.of(aTime, depth))
	}
	return fmt.Sprintf("(%s %s %s)", g.of(aSpan, depth), pick(g, []string{"+", "-"}), g.of(aSpan, depth))
}

func (g *generator) list(depth int) string {
	if g.IntN(2) == 0 {
		return g.over("context.words", "filter", &g.texts, aBool, depth)
	}
	return g.over("context.lines", "map", &g.lines, aText, depth)
}

// doubleLiteral writes a number with a point, which makes it a double.
func doubleLiteral(f float64) string {
	s := strconv.FormatFloat(f, 'g', -1, 64)
	if !strings.ContainsAny(s, ".e") {
		s += ".0"
	}
	return s
}

// decision makes the variables of a decision, and the same as values with their types for the other implementation, to which a
// property that is null does not exist.
func (g *generator) decision() (v rules.Vars, typed map[string]any) {
	sent := map[string]any{
		"amount": pick(g, someDoubles), "total": pick(g, someInts), "text": pick(g, someTexts), "flag": g.IntN(2) == 0, "at": pick(g, append([]string{"then"}, someTimes...)),
		"lines": some(g, func() any {
			line := map[string]any{"sum": pick(g, someDoubles)}
			if g.IntN(2) == 0 {
				line["tag"] = pick(g, someTexts)
			}
			return line
		}),
		"words": some(g, func() any { return pick(g, someTexts) }),
	}
	labels := map[string]any{}
	for range g.IntN(4) {
		labels[pick(g, someTexts)] = pick(g, someTexts)
	}
	sent["labels"] = labels
	for name, of := range map[string]any{"fee": 0.5, "quantity": int64(3), "note": pick(g, []any{"DE", nil})} {
		if sent[name] = of; len(labels) == 0 {
			delete(sent, name)
		}
	}
	v = vars("")
	v.Context, _ = json.Marshal(sent)
	v.Subject.Passkeys, v.Subject.RecentlyRecovered = g.IntN(3), g.IntN(2) == 0
	v.Subject.CreatedAt = now.Add(-time.Duration(g.IntN(200)) * time.Hour)
	v.Assurance.InsufficientEvidence = g.IntN(2) == 0
	v.Counts = map[rules.Count]int{}
	decisions := map[string]any{}
	for _, action := range someActions {
		for _, end := range someEnds {
			for _, window := range someWindows {
				n := g.IntN(5)
				v.Counts[rules.Count{Action: action, Outcome: end, Window: window}] = n
				decisions[action+" "+end+" "+window] = int64(n)
			}
		}
	}
	return v, typedVars(v, sent, decisions)
}

// some makes a list of at most three items.
func some(g *generator, item func() any) []any {
	out := make([]any, g.IntN(4))
	for i := range out {
		out[i] = item()
	}
	return out
}

// typedVars is written by hand, so that a mistake in how the rules bind their variables shows as well.
func typedVars(v rules.Vars, sent, decisions map[string]any) map[string]any {
	claims := map[string]any{}
	for _, name := range policy.ClaimNames() {
		claims[name] = map[string]any{"status": "insufficient_evidence", "coverage": "none"}
	}
	claims["human_presence"] = map[string]any{"status": "likely", "coverage": "partial", "freshness_ms": int64(1200)}
	all := map[string]any{
		"context": sent, "audience": v.Audience, "now": v.Now, "resource": map[string]any{"type": v.Resource.Type, "id": v.Resource.ID},
		"action":      map[string]any{"key": v.Action.Key, "mode": v.Action.Mode, "risk_class": v.Action.RiskClass},
		"environment": map[string]any{"kind": "live"},
		"assurance": map[string]any{
			"coverage": "partial", "freshness_ms": int64(900), "insufficient_evidence": v.Assurance.InsufficientEvidence, "claims": claims,
		},
		"subject": map[string]any{
			"id": v.Subject.ID, "enrollment": v.Subject.Enrollment, "age": v.Now.Sub(v.Subject.CreatedAt), "passkeys": int64(v.Subject.Passkeys),
			"recently_recovered": v.Subject.RecentlyRecovered, "decisions": decisions,
		},
	}
	out := map[string]any{}
	for name, of := range all {
		out[name] = tagged(of)
	}
	return out
}

// tagged writes a value with the name of its type, because JSON has one kind of number.
func tagged(v any) any {
	switch v := v.(type) {
	case int64:
		return map[string]any{"int": strconv.FormatInt(v, 10)}
	case float64:
		return map[string]any{"double": v}
	case string:
		return map[string]any{"string": v}
	case bool:
		return map[string]any{"bool": v}
	case time.Time:
		return map[string]any{"timestamp": v.Format(time.RFC3339Nano)}
	case time.Duration:
		return map[string]any{"duration": fmt.Sprintf("%ds", int64(v.Seconds()))}
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = tagged(item)
		}
		return map[string]any{"list": list}
	case map[string]any:
		fields := map[string]any{}
		for name, of := range v {
			if of != nil {
				fields[name] = tagged(of)
			}
		}
		return map[string]any{"map": fields}
	default:
		panic(fmt.Sprintf("a value of type %T", v))
	}
}
