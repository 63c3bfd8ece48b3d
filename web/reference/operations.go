package reference

import (
	"encoding/json"
	"html/template"
	"net/http"
	"slices"
	"strings"
)

// group is one tag of the contract with its operations: one page.
type group struct {
	Name, Slug, Description string
	Operations              []operationView
}

// operationView is an operation as its page shows it.
type operationView struct {
	ID, Method, Path, Summary string
	Description               template.HTML
	source                    string // of the description, for the search
	Extension, Deprecated     bool
	Credentials               []string
	Parameters                []property
	Body                      *bodyView
	Responses                 []responseView
	Command                   string // the request as a curl command
}

type bodyView struct {
	Type, Link string
	Properties []property
	Example    string
}

type responseView struct {
	Status, Type, Link, Example string
	Description                 template.HTML
}

// credentialNames are the words for the security schemes of the contract.
var credentialNames = map[string]string{
	"serverKey": "server key", "adminKey": "admin key", "publishableKey": "publishable key", "clientToken": "client token",
}

func slug(name string) string { return strings.ReplaceAll(strings.ToLower(name), " ", "-") }

// groupsOf returns a group for each tag, in the order of the contract, and notes which operations use which schema.
func (s *section) groupsOf() []group {
	var groups []group
	for _, tag := range s.contract.Tags {
		g := group{Name: tag.Name, Slug: slug(tag.Name), Description: tag.Description}
		for path, methods := range s.contract.Paths.all() {
			for method, op := range methods.methods() {
				if len(op.Tags) > 0 && op.Tags[0] == tag.Name {
					g.Operations = append(g.Operations, s.operation(method, path, op))
				}
			}
		}
		for _, op := range g.Operations {
			s.note(g, op)
		}
		groups = append(groups, g)
	}
	return groups
}

// note records the schemas of an operation.
func (s *section) note(g group, op operationView) {
	at := link{URL: "/docs/operations/" + g.Slug + "#" + op.ID, Text: op.Method + " " + op.Path, Detail: op.Summary}
	var links []string
	if op.Body != nil {
		links = append(links, op.Body.Link)
	}
	for _, r := range op.Responses {
		links = append(links, r.Link)
	}
	for _, url := range links {
		name := strings.TrimPrefix(url, "/docs/schemas/")
		if name != "" && !strings.HasPrefix(name, "Problem") && !slices.Contains(s.uses[name], at) {
			s.uses[name] = append(s.uses[name], at)
		}
	}
}

func (s *section) operation(method, path string, op *operation) operationView {
	v := operationView{
		ID: op.OperationID, Method: method, Path: path, Summary: op.Summary, Description: s.markdown(op.Description), source: op.Description,
		Extension: op.Extension, Deprecated: op.Deprecated,
	}
	for _, way := range op.Security {
		for name := range way {
			v.Credentials = append(v.Credentials, credentialNames[name])
		}
	}
	for _, p := range op.Parameters {
		if p.Ref != "" {
			p = s.contract.Components.Parameters[nameOf(p.Ref)]
		}
		shown := s.propertyOf(p.Name, p.Schema, p.Required)
		shown.Description = s.markdown(p.Description)
		shown.Rules = append([]string{"in the " + p.In}, shown.Rules...)
		v.Parameters = append(v.Parameters, shown)
	}
	if op.RequestBody != nil {
		v.Body = s.body(op.RequestBody.Content["application/json"])
	}
	for status, r := range op.Responses.all() {
		v.Responses = append(v.Responses, s.response(status, r))
	}
	v.Command = command(v)
	return v
}

func (s *section) body(m media) *bodyView {
	b := &bodyView{Example: indented(m.Example)}
	var name string
	b.Type, name = typeOf(m.Schema)
	b.Link = schemaURL(name)
	shown := m.Schema
	if name != "" {
		shown = s.contract.Components.Schemas.values[name]
	}
	if shown != nil {
		b.Properties = s.propertiesOf(shown, "", 0)
	}
	return b
}

func (s *section) response(status string, r response) responseView {
	if r.Ref != "" {
		r = s.contract.Components.Responses[nameOf(r.Ref)]
	}
	v := responseView{Status: status, Description: s.markdown(r.Description)}
	for _, kind := range []string{"application/json", "application/problem+json"} {
		m, ok := r.Content[kind]
		if !ok {
			continue
		}
		var name string
		v.Type, name = typeOf(m.Schema)
		v.Link = schemaURL(name)
		if strings.HasPrefix(status, "2") {
			v.Example = indented(m.Example)
		}
		break
	}
	return v
}

// command is the request of an operation for a terminal, with the variables of the quickstart.
func command(v operationView) string {
	lines := []string{`curl "$BASE` + v.Path + `"`}
	if v.Method != http.MethodGet {
		lines[0] = "curl -X " + v.Method + strings.TrimPrefix(lines[0], "curl")
	}
	if len(v.Credentials) > 0 {
		lines = append(lines, `-H "Authorization: Bearer $KEY"`)
	}
	if v.Body != nil && v.Body.Example != "" {
		lines = append(lines, `-H 'Content-Type: application/json'`, `-d '`+strings.ReplaceAll(v.Body.Example, "'", `'\''`)+`'`)
	}
	return strings.Join(lines, " \\\n  ")
}

func indented(raw json.RawMessage) string {
	if len(raw) == 0 {
		return ""
	}
	text, err := pretty(raw)
	if err != nil {
		return string(raw)
	}
	return text
}
