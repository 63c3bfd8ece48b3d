package edges

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// ignored lists keywords that have no rule or are handled elsewhere.
var ignored = []string{"description", "examples", "type", "properties", "required", "items", "title", "deprecated"}

func (w *walker) add(p place, keyword, text string, cases ...Case) {
	w.rules = append(w.rules, Rule{Operation: w.op, Status: w.status, Schema: p.schema, Field: p.field, Keyword: keyword, Text: text, Cases: cases})
}

func good(p place, value any) Case { return Case{Body: p.with(value).body, Good: true} }

func bad(p place, value any, typ string, more ...any) Case {
	return Case{Body: p.with(value).body, Loc: p.loc(more...), Type: typ}
}

func (p place) loc(more ...any) []any { return slices.Concat([]any{"body"}, p.steps, more) }

// presence: a required field must be present, others can be omitted.
func (w *walker) presence(p place, required bool) {
	if required {
		w.add(p, "required", "required", Case{Body: p.without(), Loc: p.loc(), Type: "missing"})
		return
	}
	w.add(p, "optional", "may be left out", Case{Body: p.without(), Good: true})
}

// closed: a strict object refuses unknown properties. ValidateResponse treats all objects of responses as strict.
func (w *walker) closed(s node, p place) {
	object, _ := clone(p.at()).(map[string]any)
	if object == nil {
		object = map[string]any{}
	}
	const name = "not_of_the_contract"
	object[name] = 1.0
	switch {
	case s["additionalProperties"] == true && w.status != 0:
	case s["additionalProperties"] == false || w.status != 0:
		w.add(p, "strict", "no other property", bad(p, object, "extra_forbidden", name))
	default:
		w.add(p, "open", "other properties are passed over", good(p, object))
	}
}

var wrong = map[string][]any{
	"string": {7.0, true, []any{}, map[string]any{}}, "integer": {"1", true, []any{}}, "number": {"1", false, map[string]any{}},
	"boolean": {"true", 0.0}, "array": {map[string]any{}, "a"}, "object": {[]any{}, "a"}, "null": {"a", 0.0, false},
}

var wrongType = map[string]string{
	"string": "string_type", "integer": "int_type", "number": "float_type", "boolean": "bool_type", "array": "list_type",
	"object": "dict_type", "null": "none_required",
}

// types: values of other types are refused, and null unless the field is nullable.
func (w *walker) types(s node, nullable bool, p place) {
	kind, _ := s["type"].(string)
	if kind == "" {
		return
	}
	var cases []Case
	for _, v := range wrong[kind] {
		cases = append(cases, bad(p, v, wrongType[kind]))
	}
	if kind == "integer" {
		cases = append(cases, bad(p, 1.5, "int_from_float"))
	}
	words := kind
	switch {
	case nullable:
		words += " or null"
		cases = append(cases, good(p, nil))
	case kind == "null":
		cases = append(cases, good(p, nil))
	default:
		cases = append(cases, bad(p, nil, wrongType[kind]))
	}
	w.add(p, "type", words, cases...)
}

// scalar adds the rules of the other keywords.
func (w *walker) scalar(s node, p place) {
	for _, keyword := range slices.Sorted(maps.Keys(s)) {
		v := s[keyword]
		switch keyword {
		case "enum":
			w.enum(v.([]any), p)
		case "const":
			w.add(p, "const", fmt.Sprint(v), good(p, v), bad(p, "other", "literal_error"))
		case "minimum":
			w.number(s, p, v.(float64), minimum)
		case "maximum":
			w.number(s, p, v.(float64), maximum)
		case "minLength":
			n, typ := int(v.(float64)), "string_too_short"
			if s["format"] == "uri" {
				typ = "url_parsing" // a text that is too short is not a URL either
			}
			w.add(p, "min_length", fmt.Sprintf("at least %d characters", n), good(p, text(s, n)), bad(p, strings.Repeat("a", n-1), typ))
		case "maxLength":
			n := int(v.(float64))
			w.add(p, "max_length", fmt.Sprintf("at most %d characters", n), good(p, text(s, n)), bad(p, text(s, n)+"a", "string_too_long"))
		case "pattern":
			w.add(p, "pattern", "`"+v.(string)+"`", good(p, text(s, length(s, "minLength", 1))), bad(p, "é \n", "string_pattern_mismatch"))
		case "format":
			w.format(v.(string), s, p)
		case "minItems", "maxItems", "uniqueItems", "maxProperties":
			w.size(keyword, s, p)
		case "default":
			w.add(p, "default", fmt.Sprintf("default `%v`", v))
		case "additionalProperties":
			if v == true {
				w.add(p, "open", "any properties", good(p, map[string]any{"anything": []any{1.0, "a", nil}}))
			}
		default:
			if !slices.Contains(ignored, keyword) && !strings.HasPrefix(keyword, "x-") {
				panic("edges: unsupported keyword " + keyword + " of " + p.schema + "." + p.field)
			}
		}
	}
}

func (w *walker) enum(values []any, p place) {
	var cases []Case
	var names []string
	for _, v := range values {
		cases = append(cases, good(p, v))
		if v != nil {
			names = append(names, fmt.Sprint(v))
		}
	}
	miscased := strings.ToUpper(names[0])
	if miscased == names[0] {
		miscased = strings.ToLower(miscased)
	}
	cases = append(cases, bad(p, "none of them", "enum"), bad(p, miscased, "enum"))
	w.add(p, "enum", strings.Join(names, ", "), cases...)
}

// bound is a minimum or a maximum of a number.
type bound struct {
	keyword, words, violation string
	outwards                  float64 // direction of the invalid values
}

var (
	minimum = bound{"min", "at least ", "greater_than_equal", -1}
	maximum = bound{"max", "at most ", "less_than_equal", 1}
)

func (w *walker) number(s node, p place, edge float64, b bound) {
	cases := []Case{good(p, edge), bad(p, edge+b.outwards, b.violation)}
	if s["type"] == "number" {
		cases = append(cases, bad(p, edge+b.outwards*math.Max(1e-6, math.Abs(edge)*1e-9), b.violation))
	}
	w.add(p, b.keyword, b.words+strconv.FormatFloat(edge, 'f', -1, 64), cases...)
}

func (w *walker) format(format string, s node, p place) {
	typ := map[string]string{"date-time": "datetime_parsing", "uri": "url_parsing"}[format]
	w.add(p, "format", format, good(p, text(s, 1)), bad(p, "tomorrow", typ), bad(p, "", typ))
}

func (w *walker) size(keyword string, s node, p place) {
	switch keyword {
	case "minItems":
		n := int(s[keyword].(float64))
		w.add(p, "min_items", fmt.Sprintf("at least %d items", n), good(p, w.items(s, n)), bad(p, w.items(s, n-1), "too_short"))
	case "maxItems":
		n := int(s[keyword].(float64))
		w.add(p, "max_items", fmt.Sprintf("at most %d items", n), good(p, w.items(s, n)), bad(p, w.items(s, n+1), "too_long"))
	case "uniqueItems":
		item := w.doc.sample(s["items"].(node))
		w.add(p, "unique", "no item twice", good(p, []any{item}), bad(p, []any{item, item}, "duplicate_items"))
	case "maxProperties":
		n := int(s[keyword].(float64))
		w.add(p, "max_properties", fmt.Sprintf("at most %d properties", n), good(p, members(n)), bad(p, members(n+1), "too_long"))
	}
}

// items returns n items; distinct ones if the list requires it.
func (w *walker) items(s node, n int) []any {
	_, item := w.doc.resolve(s["items"].(node))
	out := make([]any, n)
	names, _ := item["enum"].([]any)
	for i := range out {
		out[i] = w.doc.sample(item)
		if i < len(names) {
			out[i] = names[i]
		} else if s["uniqueItems"] == true {
			out[i] = "a" + strings.Map(func(r rune) rune { return r - '0' + 'a' }, strconv.Itoa(i)) + ".b"
		}
	}
	return out
}

func members(n int) map[string]any {
	out := map[string]any{}
	for i := range n {
		out["k"+strconv.Itoa(i)] = 1.0
	}
	return out
}
