package mcp

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/countersign-dev/countersign/gate/internal/rpc"
)

// Headers that repeat what a message says (revision 2026-07-28).
const (
	headerVersion = "Mcp-Protocol-Version"
	headerMethod  = "Mcp-Method"
	headerName    = "Mcp-Name"
	headerParam   = "Mcp-Param-"
	headerSession = "Mcp-Session-Id"
)

// mirror is an argument that clients repeat in a header.
type mirror struct {
	header string
	path   []string // names of properties
}

var tokenForm = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")

// mirrors reads the annotations x-mcp-header of a tool's schema. It is an error if one breaks the rules of the revision.
func mirrors(schema any) ([]mirror, error) {
	var found []mirror
	var visit func(schema any, path []string) error
	visit = func(schema any, path []string) error {
		members, _ := schema.(map[string]any)
		properties, _ := members["properties"].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(properties)) {
			property, _ := properties[name].(map[string]any)
			here := append(slices.Clone(path), name)
			if annotation, has := property["x-mcp-header"]; has {
				header, _ := annotation.(string)
				primitive := slices.Contains([]any{"integer", "string", "boolean"}, property["type"])
				twice := slices.ContainsFunc(found, func(m mirror) bool { return strings.EqualFold(m.header, headerParam+header) })
				if !tokenForm.MatchString(header) || !primitive || twice {
					return fmt.Errorf("x-mcp-header of %s must be a distinct name of a header, at an integer, a text or a boolean", strings.Join(here, "."))
				}
				found = append(found, mirror{headerParam + header, here})
			}
			if err := visit(property, here); err != nil {
				return err
			}
		}
		return nil
	}
	return found, visit(schema, nil)
}

// value returns the text of the argument in the header; false if the call does not have it.
func (m mirror) value(arguments json.RawMessage) (string, bool) {
	for _, name := range m.path {
		arguments = rpc.Members(arguments)[name]
	}
	var value any
	if len(arguments) == 0 || json.Unmarshal(arguments, &value) != nil {
		return "", false
	}
	switch v := value.(type) {
	case string:
		return v, true
	case bool:
		return strconv.FormatBool(v), true
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), true
	}
	return "", false
}

const (
	sentinelBegin = "=?base64?"
	sentinelEnd   = "?="
)

// encoded returns a text as the value of a header.
func encoded(text string) string {
	plain := strings.TrimSpace(text) == text && !strings.HasPrefix(text, sentinelBegin)
	for i := range len(text) {
		plain = plain && (text[i] == '\t' || text[i] >= ' ' && text[i] < 0x7f)
	}
	if plain {
		return text
	}
	return sentinelBegin + base64.StdEncoding.EncodeToString([]byte(text)) + sentinelEnd
}

func decoded(value string) (string, error) {
	inner, begins := strings.CutPrefix(value, sentinelBegin)
	inner, ends := strings.CutSuffix(inner, sentinelEnd)
	if !begins || !ends {
		for i := range len(value) {
			if value[i] != '\t' && (value[i] < ' ' || value[i] >= 0x7f) {
				return "", errors.New("has characters that must be encoded")
			}
		}
		return value, nil
	}
	text, err := base64.StdEncoding.Strict().DecodeString(inner)
	return string(text), err
}

// named are the methods whose subject is in Mcp-Name.
var named = map[string]string{"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}

// compare refuses a request whose headers differ from its body. The body decides.
func compare(h http.Header, m *rpc.Message, version string) *rpc.Error {
	if err := equal(h, headerVersion, version, false); err != nil {
		return err
	}
	if err := equal(h, headerMethod, m.Method, false); err != nil {
		return err
	}
	if member, has := named[m.Method]; has {
		return equal(h, headerName, rpc.String(rpc.Members(m.Params)[member]), true)
	}
	return nil
}

func equal(h http.Header, header, want string, encodable bool) *rpc.Error {
	values := h.Values(header)
	if len(values) != 1 {
		return mismatch("The header " + header + " must be there once.")
	}
	got, err := values[0], error(nil)
	if encodable {
		got, err = decoded(got)
	}
	if err != nil || got != want {
		return mismatch("The header " + header + " must equal the body.")
	}
	return nil
}

func mismatch(text string) *rpc.Error { return &rpc.Error{Code: rpc.CodeHeaderMismatch, Message: text} }

// compareArguments refuses a call whose headers differ from the arguments that the tool mirrors.
func compareArguments(h http.Header, d *Definition, arguments json.RawMessage) *rpc.Error {
	for _, m := range d.Headers {
		want, given := m.value(arguments)
		if !given {
			if len(h.Values(m.header)) > 0 {
				return mismatch("The header " + m.header + " must be missing, as its argument is.")
			}
			continue
		}
		if err := equal(h, m.header, want, true); err != nil {
			if got, bad := decoded(h.Get(m.header)); bad == nil && len(h.Values(m.header)) == 1 && sameNumber(got, want) {
				continue
			}
			return err
		}
	}
	return nil
}

// sameNumber reports whether two texts are one whole number, such as 42 and 42.0.
func sameNumber(a, b string) bool {
	x, err1 := strconv.ParseFloat(a, 64)
	y, err2 := strconv.ParseFloat(b, 64)
	return err1 == nil && err2 == nil && x == y
}

// rebuilt returns the headers of a request for an upstream, from its body.
func rebuilt(m *rpc.Message, version string, d *Definition) http.Header {
	h := http.Header{}
	if version != "" {
		h.Set(headerVersion, version)
	}
	if version != modernVersion {
		return h
	}
	h.Set(headerMethod, m.Method)
	params := rpc.Members(m.Params)
	if member, has := named[m.Method]; has {
		h.Set(headerName, encoded(rpc.String(params[member])))
	}
	if d != nil {
		for _, mirror := range d.Headers {
			if value, given := mirror.value(params["arguments"]); given {
				h.Set(mirror.header, encoded(value))
			}
		}
	}
	return h
}
