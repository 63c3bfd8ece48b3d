package scim

import (
	"strings"

	parser "github.com/scim2/filter-parser/v2"
)

// Operations of a PATCH.
const (
	opAdd     = "add"
	opReplace = "replace"
	opRemove  = "remove"
)

// maxOperations bounds a PATCH.
const maxOperations = 5000

// Operation is one operation of a PATCH. Path is in lower case, with the URI of a schema before a dot or colon; empty if the value names the attributes.
type Operation struct {
	Op    string
	Path  string
	Where *Filter // the filter in brackets of the path; nil for none
	Value any
}

// NewPatch reads the body of a PATCH (RFC 7644, section 3.5.2).
func NewPatch(body any) ([]Operation, error) {
	object, _ := body.(map[string]any)
	key, ok := keyOf(object, "operations")
	list, isList := object[key].([]any)
	if !ok || !isList || len(list) == 0 || len(list) > maxOperations {
		return nil, Bad(InvalidSyntax, "Operations must be a list of 1 to %d operations.", maxOperations)
	}
	out := make([]Operation, 0, len(list))
	for _, item := range list {
		o, err := newOperation(item)
		if err != nil {
			return nil, err
		}
		out = append(out, o)
	}
	return out, nil
}

func newOperation(item any) (Operation, error) {
	fields, ok := item.(map[string]any)
	if !ok {
		return Operation{}, Bad(InvalidSyntax, "Each operation must be an object.")
	}
	field := func(name string) any {
		key, _ := keyOf(fields, name)
		return fields[key]
	}
	op, _ := field("op").(string)
	o := Operation{Op: strings.ToLower(op), Value: field("value")}
	if o.Op != opAdd && o.Op != opReplace && o.Op != opRemove {
		return o, Bad(InvalidSyntax, "op must be add, replace or remove.")
	}
	path, isText := field("path").(string)
	if !isText && field("path") != nil {
		return o, Bad(InvalidPath, "path must be a text.")
	}
	return o, o.locate(strings.TrimSpace(path))
}

// locate reads the path.
func (o *Operation) locate(path string) error {
	if path == "" || strings.EqualFold(path, SchemaEnterprise) {
		o.Path = strings.ToLower(path)
		return nil
	}
	if err := bounded(path, InvalidPath); err != nil {
		return err
	}
	parsed, err := parser.ParsePath([]byte(path))
	if err != nil {
		return Bad(InvalidPath, "The path of an operation cannot be read. It is like name.givenName or members[value eq \"id\"].")
	}
	o.Path = attributeOf(parsed.AttributePath)
	if parsed.SubAttribute != nil {
		o.Path += "." + strings.ToLower(*parsed.SubAttribute)
	}
	if parsed.AttributePath.URIPrefix != nil && !strings.EqualFold(*parsed.AttributePath.URIPrefix, SchemaUser) && !strings.EqualFold(*parsed.AttributePath.URIPrefix, SchemaGroup) {
		o.Path = strings.ToLower(*parsed.AttributePath.URIPrefix) + "." + o.Path
	}
	if parsed.ValueExpression != nil {
		left := maxComparisons
		o.Where, err = newFilter(parsed.ValueExpression, "", &left)
	}
	return err
}
