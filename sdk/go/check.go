package countersign

import (
	"bytes"
	_ "embed" // for the rules
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// contractText holds the schemas of the responses.
//
//go:embed contract.gen.json
var contractText []byte

// contract holds the rules that responses are checked against.
var contract = sync.OnceValue(func() (c struct {
	Responses map[string]map[string]*rule // by operation and status; nil is no body
	Schemas   map[string]*rule
}) {
	if err := json.Unmarshal(contractText, &c); err != nil {
		panic("countersign: contract.gen.json: " + err.Error()) // generated with this package
	}
	return c
})

// rule is the part of a JSON Schema that responses are checked against. Fields that it does not name are accepted,
// because a later version of the service may add some.
type rule struct {
	Ref        string
	Type       []string
	Format     string
	Enum       []any
	Minimum    *float64
	Maximum    *float64
	Required   []string
	Properties map[string]*rule
	Items      *rule
	AnyOf      []*rule `json:"any_of"`
	Additional *rule
}

// breach is how a response breaks its rule. It quotes nothing of the response but names of fields that the contract has.
type breach struct {
	at   string
	what string
}

func (b *breach) in(place string) *breach {
	return &breach{place + b.at, b.what}
}

func breaks(format string, args ...any) *breach { return &breach{what: fmt.Sprintf(format, args...)} }

// check holds a JSON text against a rule. It is stricter than encoding/json, which takes the last of two fields with one name,
// matches names in any case, leaves missing fields zero, and replaces what is not UTF-8.
func check(r *rule, text []byte) *breach {
	if !utf8.Valid(text) || !json.Valid(text) {
		return breaks("the body is not JSON")
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return (&checker{d}).value(r)
}

type checker struct{ d *json.Decoder }

var anything = &rule{}

func (c *checker) value(r *rule) *breach {
	for r != nil && r.Ref != "" {
		r = contract().Schemas[r.Ref]
	}
	if r == nil {
		r = anything
	}
	if len(r.AnyOf) > 0 {
		return c.alternatives(r)
	}
	t, err := c.d.Token()
	if err != nil {
		return breaks("the body is not JSON")
	}
	if len(r.Type) > 0 && !slices.ContainsFunc(r.Type, func(kind string) bool { return isKind(kind, t) }) {
		return breaks("is not of type %s", strings.Join(r.Type, " or "))
	}
	if len(r.Enum) > 0 && !slices.ContainsFunc(r.Enum, func(v any) bool { return same(v, t) }) {
		return breaks("is none of the values of the contract")
	}
	switch v := t.(type) {
	case string:
		if _, err := time.Parse(time.RFC3339, v); r.Format == "date-time" && err != nil {
			return breaks("is not an RFC 3339 time")
		}
	case json.Number:
		return inRange(r, v)
	case json.Delim:
		if v == '[' {
			return c.list(r)
		}
		return c.object(r)
	}
	return nil
}

func (c *checker) alternatives(r *rule) *breach {
	var raw json.RawMessage
	if err := c.d.Decode(&raw); err != nil {
		return breaks("the body is not JSON")
	}
	var last *breach
	for _, alternative := range r.AnyOf {
		b := check(alternative, raw)
		if b == nil {
			return nil
		}
		if last == nil || b.at != "" {
			last = b
		}
	}
	return last
}

func (c *checker) list(r *rule) *breach {
	for i := 0; c.d.More(); i++ {
		if b := c.value(r.Items); b != nil {
			return b.in("[" + strconv.Itoa(i) + "]")
		}
	}
	_, _ = c.d.Token() // the closing bracket of a text that is JSON
	return nil
}

func (c *checker) object(r *rule) *breach {
	seen := map[string]bool{}
	for c.d.More() {
		t, err := c.d.Token()
		name, ok := t.(string)
		if err != nil || !ok {
			return breaks("the body is not JSON")
		}
		if seen[name] {
			return breaks("has a field twice")
		}
		seen[name] = true
		property, known := r.Properties[name]
		switch {
		case known:
		case respelled(r, name):
			return breaks("has a field whose name is spelled otherwise")
		default:
			property, name = r.Additional, "*"
		}
		if b := c.value(property); b != nil {
			return b.in("." + name)
		}
	}
	_, _ = c.d.Token()
	for _, name := range r.Required {
		if !seen[name] {
			return (&breach{what: "is missing"}).in("." + name)
		}
	}
	return nil
}

// respelled reports whether encoding/json would take name for a property, though it is another name.
func respelled(r *rule, name string) bool {
	for property := range r.Properties {
		if strings.EqualFold(property, name) {
			return true
		}
	}
	return false
}

func isKind(kind string, t json.Token) bool {
	switch v := t.(type) {
	case nil:
		return kind == "null"
	case string:
		return kind == "string"
	case bool:
		return kind == "boolean"
	case json.Number:
		if _, err := v.Int64(); kind == "integer" {
			return err == nil
		}
		_, err := v.Float64()
		return kind == "number" && err == nil
	default:
		return kind == map[json.Delim]string{'{': "object", '[': "array"}[t.(json.Delim)]
	}
}

func same(wanted any, t json.Token) bool {
	if n, ok := t.(json.Number); ok {
		f, err := n.Float64()
		return err == nil && wanted == f
	}
	return wanted == t
}

func inRange(r *rule, n json.Number) *breach {
	f, err := n.Float64()
	if err != nil || (r.Minimum != nil && f < *r.Minimum) || (r.Maximum != nil && f > *r.Maximum) {
		return breaks("is out of range")
	}
	return nil
}
