package openapi

import (
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// describe returns the message and the rule name of a failed keyword. The rule names are those of FastAPI's validation errors,
// which many API clients know.
func describe(k jsonschema.ErrorKind, nullable bool) (msg, typ string) {
	switch k := k.(type) {
	case *kind.Type:
		return describeType(k, nullable)
	case *kind.MinLength:
		return "must have at least " + count(k.Want, "character"), "string_too_short"
	case *kind.MaxLength:
		return "must have at most " + count(k.Want, "character"), "string_too_long"
	case *kind.Pattern:
		return "must match " + k.Want, "string_pattern_mismatch"
	case *kind.Enum:
		return "must be one of " + choices(k.Want), "enum"
	case *kind.Const:
		return fmt.Sprintf("must be %v", k.Want), "literal_error"
	case *kind.Minimum:
		return "must be at least " + decimal(k.Want), "greater_than_equal"
	case *kind.Maximum:
		return "must be at most " + decimal(k.Want), "less_than_equal"
	case *kind.MinItems:
		return "must have at least " + count(k.Want, "item"), "too_short"
	case *kind.MaxItems:
		return "must have at most " + count(k.Want, "item"), "too_long"
	case *kind.MaxProperties:
		return "must have at most " + count(k.Want, "propert"), "too_long"
	case *kind.UniqueItems:
		return fmt.Sprintf("must not repeat an item: %d and %d are equal", k.Duplicates[0], k.Duplicates[1]), "duplicate_items"
	case *kind.Format:
		return describeFormat(k.Want)
	}
	return "is not valid", "value_error"
}

var typeNames = map[string]struct{ article, code string }{
	"string":  {"a string", "string_type"},
	"integer": {"an integer", "int_type"},
	"number":  {"a number", "float_type"},
	"boolean": {"true or false", "bool_type"},
	"array":   {"a list", "list_type"},
	"object":  {"an object", "dict_type"},
	"null":    {"null", "none_required"},
}

func describeType(k *kind.Type, nullable bool) (msg, typ string) {
	names := []string{}
	for _, w := range k.Want {
		if w == "null" && len(k.Want) > 1 {
			nullable = true
			continue
		}
		names = append(names, typeNames[w].article)
		if typ == "" {
			typ = typeNames[w].code
		}
	}
	if nullable {
		names = append(names, "null")
	}
	msg = "must be " + strings.Join(names, " or ")
	switch {
	case k.Got == "null":
		msg += ", not null"
	case k.Got == "number" && typ == "int_type":
		return msg + ", not a fraction", "int_from_float"
	}
	return msg, typ
}

func describeFormat(name string) (msg, typ string) {
	switch name {
	case "date-time":
		return "must be a time as RFC 3339 has it, e.g. 2026-11-21T09:30:00.000Z", "datetime_parsing"
	case "uri":
		return "must be a URL", "url_parsing"
	}
	return "must be a valid " + name, "value_error"
}

func choices(want []any) string {
	names := make([]string, 0, len(want))
	for _, w := range want {
		if w == nil {
			names = append(names, "null")
			continue
		}
		names = append(names, fmt.Sprint(w))
	}
	names = slices.Compact(names)
	return strings.Join(names, ", ")
}

func count(n int, what string) string {
	switch {
	case what == "propert" && n == 1:
		return "1 property"
	case what == "propert":
		return fmt.Sprintf("%d properties", n)
	case n == 1:
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func decimal(r *big.Rat) string {
	if r.IsInt() {
		return r.Num().String()
	}
	return strings.TrimRight(r.FloatString(6), "0")
}
