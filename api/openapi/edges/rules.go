package edges

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// ignored are keywords that ask nothing of a value, or that are dealt with elsewhere.
var ignored = []string{"description", "examples", "type", "properties", "required", "items", "title", "deprecated"}

func (w *walker) add(p place, keyword, text string, cases ...Case) {
	w.rules = append(w.rules, Rule{Operation: w.op, Status: w.status, Schema: p.schema, Field: p.field, Keyword: keyword, Text: text, Cases: cases})
}

func good(p place, value any) Case { return Case{Body: p.with(value).body, Good: true} }

func bad(p place, value any, typ string, more ...any) Case {
	return Case{Body: p.with(value).body, Loc: p.loc(more...), Type: typ}
}

func (p place) loc(more ...any) []any { return slices.Concat([]any{"body"}, p.steps, more) }

// presence: a required field must be there, another may be left out.
func (w *walker) presence(p place, required bool) {
	if required {
		w.add(p, "required", "required", Case{Body: p.without(), Loc: p.loc(), Type: "missing"})
		return
	}
	w.add(p, "optional", "may be left out", Case{Body: p.without(), Good: true})
}

// closed: a strict object refuses what it does not name. Answers are held to that without saying so.
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

// types: values of other types are refused, and null where the field may not be null.
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

// scalar adds what the other keywords ask.
func (w *walker) scalar(s node, p place) {
	for _, keyword := range slices.Sorted(maps.Keys(s)) {
		v := s[keyword]
		switch keyword {
		case "enum":
			w.enum(v.([]any), p)
		case "const":
			w.add(p, "const", fmt.Sprint(v), good(p, v), bad(p, "other", "literal_error"))
		case "minimum":
			w.number(s, p, "min", "at least ", v.(float64), -1, "greater_than_equal")
		case "maximum":
			w.number(s, p, "max", "at most ", v.(float64), 1, "less_than_equal")
		case "minLength":
			n, typ := int(v.(float64)), "string_too_short"
			if s["format"] == "uri" {
				typ = "url_parsing" // what is too short for a URL is none
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
				panic("edges: what does " + keyword + " of " + p.schema + "." + p.field + " ask?")
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
	another := strings.ToUpper(names[0])
	if another == names[0] {
		another = strings.ToLower(another)
	}
	cases = append(cases, bad(p, "none of them", "enum"), bad(p, another, "enum"))
	w.add(p, "enum", strings.Join(names, ", "), cases...)
}

func (w *walker) number(s node, p place, keyword, words string, edge, outwards float64, typ string) {
	cases := []Case{good(p, edge), bad(p, edge+outwards, typ)}
	if s["type"] == "number" {
		cases = append(cases, bad(p, edge+outwards*math.Max(1e-6, math.Abs(edge)*1e-9), typ))
	}
	w.add(p, keyword, words+strconv.FormatFloat(edge, 'f', -1, 64), cases...)
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

// items are n items; different ones, where they are texts of no pattern that says otherwise.
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
