package edges

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Param is a rule of a path or query parameter with boundary values.
type Param struct {
	Operation   string
	In, Param   string
	Keyword     string
	Text        string
	Good, Bad   []string
	BadWithType string
}

// Name returns the name of the rule's subtest.
func (p Param) Name() string { return p.In + "/" + p.Param + "/" + p.Operation + "/" + p.Keyword }

// Params returns the rules of all parameters, each with the first operation that has it. Query parameters with the same name
// can be different components with rules of their own.
func (d *Document) Params() []Param {
	var out []Param
	seen := map[string]bool{}
	for _, op := range d.Operations() {
		list, _ := op.node["parameters"].([]any)
		for _, ref := range list {
			pointer := ref.(node)["$ref"].(string)
			name := pointer[strings.LastIndexByte(pointer, '/')+1:]
			p := d.root["components"].(node)["parameters"].(node)[name].(node)
			if seen[name] || p["in"] == "header" {
				continue
			}
			seen[name] = true
			_, s := d.resolve(p["schema"].(node))
			out = append(out, paramRules(op.ID, p["in"].(string), p["name"].(string), s)...)
		}
	}
	return out
}

func paramRules(op, in, name string, s node) []Param {
	var out []Param
	add := func(keyword, words string, good, bad []string, typ string) {
		out = append(out, Param{Operation: op, In: in, Param: name, Keyword: keyword, Text: words, Good: good, Bad: bad, BadWithType: typ})
	}
	whole := func(v any) int { return int(v.(float64)) }
	for _, keyword := range slices.Sorted(maps.Keys(s)) {
		v := s[keyword]
		switch keyword {
		case "type":
			if v == "integer" {
				add("type", "integer", nil, []string{"x", "1.5", "1e1", "99999999999999999999"}, "int_parsing")
			}
		case "enum":
			good := []string{}
			for _, e := range v.([]any) {
				if e != nil {
					good = append(good, e.(string))
				}
			}
			add("enum", strings.Join(good, ", "), good, []string{"none-of-them", strings.ToUpper(good[0])}, "enum")
		case "minimum":
			add("min", "at least "+strconv.Itoa(whole(v)), []string{strconv.Itoa(whole(v))}, []string{strconv.Itoa(whole(v) - 1)}, "greater_than_equal")
		case "maximum":
			add("max", "at most "+strconv.Itoa(whole(v)), []string{strconv.Itoa(whole(v))}, []string{strconv.Itoa(whole(v) + 1)}, "less_than_equal")
		case "maxLength":
			add("max_length", "at most "+strconv.Itoa(whole(v))+" characters", []string{text(s, whole(v))}, []string{text(s, whole(v)) + "a"}, "string_too_long")
		case "minLength":
			if in == "query" { // an empty path segment is a different path
				add("min_length", "at least "+strconv.Itoa(whole(v))+" characters", nil, []string{strings.Repeat("a", whole(v)-1)}, "string_too_short")
			}
		case "pattern":
			add("pattern", "`"+v.(string)+"`", []string{text(s, 1)}, []string{"é è"}, "string_pattern_mismatch")
		case "format":
			add("format", v.(string), []string{text(s, 1)}, []string{"tomorrow"}, "datetime_parsing")
		case "default":
			add("default", "default `"+strings.Trim(strconv.Quote(toText(v)), `"`)+"`", nil, nil, "")
		}
	}
	return out
}

func toText(v any) string {
	if f, ok := v.(float64); ok {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	s, _ := v.(string)
	return s
}
