package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"go/format"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/countersign-dev/countersign/api/openapi"
)

// document is the part of the contract that the generator reads.
type document struct {
	Info       struct{ Version string }
	Paths      map[string]map[string]operation
	Components struct {
		Schemas    map[string]*schema
		Parameters map[string]*parameter
	}
}

type operation struct {
	ID          string `json:"operationId"`
	Summary     string
	Description string
	Parameters  []*parameter
	Body        *struct {
		Required bool
		Content  map[string]struct{ Schema *schema }
	} `json:"requestBody"`
	Responses map[string]struct {
		Content map[string]struct{ Schema *schema }
	}
}

type parameter struct {
	Ref         string `json:"$ref"`
	Name        string
	In          string
	Description string
	Schema      *schema
}

type schema struct {
	Ref         string `json:"$ref"`
	Type        types
	Format      string
	Description string
	Enum        []any
	Const       any
	Default     any
	Minimum     *float64
	Maximum     *float64
	MinLength   int
	Items       *schema
	Properties  map[string]*schema
	Required    []string
	Additional  additional `json:"additionalProperties"`
	AnyOf       []*schema

	order []string // the names of Properties as the contract lists them
}

// UnmarshalJSON decodes a schema and keeps the order of its properties.
func (s *schema) UnmarshalJSON(b []byte) error {
	type plain schema
	if err := json.Unmarshal(b, (*plain)(s)); err != nil {
		return err
	}
	var listed struct{ Properties json.RawMessage }
	if err := json.Unmarshal(b, &listed); err != nil || s.Properties == nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(listed.Properties))
	if _, err := d.Token(); err != nil {
		return err
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		text, _ := name.(string)
		s.order = append(s.order, text)
		var skipped json.RawMessage
		if err := d.Decode(&skipped); err != nil {
			return err
		}
	}
	return nil
}

// types is `type`, one name or several.
type types []string

// UnmarshalJSON takes a name or a list of names.
func (t *types) UnmarshalJSON(b []byte) error {
	if b[0] == '[' {
		return json.Unmarshal(b, (*[]string)(t))
	}
	*t = []string{""}
	return json.Unmarshal(b, &(*t)[0])
}

// additional is `additionalProperties` if it is a schema.
type additional struct{ schema *schema }

// UnmarshalJSON ignores true and false.
func (a *additional) UnmarshalJSON(b []byte) error {
	if b[0] != '{' {
		return nil
	}
	return json.Unmarshal(b, &a.schema)
}

// generate returns the contents of the files by their paths in the repository.
func generate() (map[string][]byte, error) {
	var doc document
	if err := json.Unmarshal(openapi.Document(), &doc); err != nil {
		return nil, err
	}
	g := &generator{doc: doc}
	payloads, err := g.events()
	if err != nil {
		return nil, err
	}
	served, err := wireTypes(doc)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{"sdk/go/contract.gen.json": g.rules(), "sdk/go/events/testdata/examples.gen.json": g.examples()}
	for name, body := range map[string]string{
		"sdk/go/types.gen.go":         "package countersign\n\n" + g.types(),
		"sdk/go/operations.gen.go":    "package countersign\n\n" + g.operations(),
		"sdk/go/codes.gen.go":         "package countersign\n\n" + g.codes(),
		"sdk/go/events/events.gen.go": "package events\n\n" + payloads,
		"api/wire/types.gen.go":       "package wire\n\n" + served,
	} {
		text, err := format.Source([]byte("// Code generated from the contract by tools/gosdk; DO NOT EDIT.\n\n" + body))
		if err != nil {
			return nil, fmt.Errorf("%s: %w\n%s", name, err, body)
		}
		files[name] = text
	}
	return files, nil
}

type generator struct{ doc document }

// initialisms are written in capitals in Go.
var initialisms = map[string]string{"id": "ID", "url": "URL", "jti": "JTI", "api": "API", "json": "JSON", "html": "HTML", "rp": "RP", "ttl": "TTL",
	"iss": "Iss", "kid": "Kid", "ms": "MS", "ids": "IDs", "ip": "IP", "aaguid": "AAGUID", "openapi": "OpenAPI"}

// exported converts a name of the contract to an exported Go name.
func exported(name string) string {
	var b strings.Builder
	for _, part := range strings.FieldsFunc(name, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if whole, ok := initialisms[part]; ok {
			b.WriteString(whole)
			continue
		}
		b.WriteString(strings.ToUpper(part[:1]) + part[1:])
	}
	return b.String()
}

// typeName returns the Go name of a schema, such as PathID for PathId.
func typeName(name string) string {
	if stem, ok := strings.CutSuffix(name, "Id"); ok {
		return exported(stem) + "ID"
	}
	return exported(name)
}

// comment formats text as a Go comment with wrapped lines.
func comment(indent, text string) string {
	var b strings.Builder
	line := indent + "//"
	for _, word := range strings.Fields(text) {
		if len(line)+len(word) > 118 {
			b.WriteString(line + "\n")
			line = indent + "//"
		}
		line += " " + word
	}
	return b.String() + line + "\n"
}

func refName(ref string) string { return ref[strings.LastIndexByte(ref, '/')+1:] }

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
