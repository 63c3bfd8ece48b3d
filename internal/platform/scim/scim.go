// Package scim reads and writes the messages of SCIM 2.0 (RFC 7643, RFC 7644): users and groups, PATCH operations, filters, schemas and errors.
//
// It accepts the messages that Microsoft Entra ID and Okta send where they differ from the RFC: booleans as strings, operations in any case, paths as
// names of members. Attributes that the schemas do not list are accepted and dropped, so that a provider may send its defaults.
//
// It is pure: it stores nothing and knows no tenant.
package scim

import (
	"fmt"
	"net/http"
	"strings"
)

// MediaType is the type of all bodies.
const MediaType = "application/scim+json"

// Bounds of messages.
const (
	MaxBody  = 1 << 20 // bytes
	MaxPage  = 200     // resources in a response
	maxText  = 256     // characters of an attribute
	maxNames = 100     // attributes to return or leave out
)

// URIs of schemas.
const (
	SchemaUser       = "urn:ietf:params:scim:schemas:core:2.0:User"
	SchemaGroup      = "urn:ietf:params:scim:schemas:core:2.0:Group"
	SchemaEnterprise = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User"
	schemaError      = "urn:ietf:params:scim:api:messages:2.0:Error"
	schemaList       = "urn:ietf:params:scim:api:messages:2.0:ListResponse"
)

// The values of scimType in use (RFC 7644, section 3.12).
const (
	InvalidFilter = "invalidFilter"
	InvalidPath   = "invalidPath"
	InvalidSyntax = "invalidSyntax"
	InvalidValue  = "invalidValue"
	NoTarget      = "noTarget"
	Uniqueness    = "uniqueness"
)

// Error is a refusal as SCIM returns it. Type is empty for those without a scimType.
type Error struct {
	Status int
	Type   string
	Detail string
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("scim: %d %s: %s", e.Status, e.Type, e.Detail) }

// Body returns the body of the response.
func (e *Error) Body() map[string]any {
	out := map[string]any{"schemas": []string{schemaError}, "status": fmt.Sprint(e.Status), "detail": e.Detail}
	if e.Type != "" {
		out["scimType"] = e.Type
	}
	return out
}

// Bad returns a 400 of a type.
func Bad(scimType, format string, args ...any) *Error {
	return &Error{Status: http.StatusBadRequest, Type: scimType, Detail: fmt.Sprintf(format, args...)}
}

// Taken returns a 409 for a value that must be unique.
func Taken(attribute string) *Error {
	return &Error{Status: http.StatusConflict, Type: Uniqueness, Detail: "A different resource has this " + attribute + ". Change that one, or choose a different value."}
}

// NotFound is the same for a resource of a different tenant and for one that does not exist.
func NotFound() *Error {
	return &Error{Status: http.StatusNotFound, Detail: "There is no resource with this id, or no endpoint with this path."}
}

// List returns a page of resources. Start is the position of the first one, from 1.
func List(resources []map[string]any, total, start int) map[string]any {
	return map[string]any{
		"schemas": []string{schemaList}, "totalResults": total, "startIndex": start, "itemsPerPage": len(resources), "Resources": resources,
	}
}

// Query is a request for a list.
type Query struct {
	Filter              *Filter // nil: all
	Start, Count        int     // from 1; 0 to MaxPage
	Attributes, Exclude []string
}

// Members reports whether the response has the members of groups.
func (q Query) Members() bool {
	_, shown := q.Project(map[string]any{"members": nil})["members"]
	return shown
}

// NewQuery reads a query. Numbers out of range are brought into it, as the RFC demands.
func NewQuery(filter string, start, count *int, attributes, exclude []string) (Query, error) {
	q := Query{Start: 1, Count: MaxPage, Attributes: attributes, Exclude: exclude}
	if len(attributes) > maxNames || len(exclude) > maxNames {
		return q, Bad(InvalidValue, "attributes and excludedAttributes have at most %d names.", maxNames)
	}
	if start != nil {
		q.Start = max(1, *start)
	}
	if count != nil {
		q.Count = min(max(0, *count), MaxPage)
	}
	if filter == "" {
		return q, nil
	}
	f, err := ParseFilter(filter)
	q.Filter = f
	return q, err
}

// Project returns the part of a resource that was asked for (RFC 7644, section 3.9). The id, the schemas and meta are always returned.
func (q Query) Project(resource map[string]any) map[string]any {
	out := resource
	if len(q.Attributes) > 0 {
		out = map[string]any{}
		for _, name := range append([]string{"id", "schemas", "meta"}, q.Attributes...) {
			path := plain(name)
			copyPart(out, resource, path[0], path[1:])
		}
	}
	for _, name := range q.Exclude {
		path := plain(name)
		if path[0] != "id" && path[0] != "schemas" {
			out = without(out, path)
		}
	}
	return out
}

// plain returns the path of a name within a resource, in lower case. Attributes of the extension are below its URI.
func plain(name string) []string {
	lower := strings.ToLower(strings.TrimSpace(name))
	for _, uri := range []string{SchemaUser, SchemaGroup} {
		lower = strings.TrimPrefix(lower, strings.ToLower(uri)+":")
	}
	extension := strings.ToLower(SchemaEnterprise)
	if rest, ok := strings.CutPrefix(lower, extension); ok {
		out := []string{extension}
		if rest = strings.TrimPrefix(rest, ":"); rest != "" {
			out = append(out, strings.Split(rest, ".")...)
		}
		return out
	}
	return strings.Split(lower, ".")
}

// keyOf returns the key of an object whose name is the same but for the case.
func keyOf(object map[string]any, lower string) (string, bool) {
	for key := range object {
		if strings.ToLower(key) == lower {
			return key, true
		}
	}
	return "", false
}

// copyPart copies the part of an object below a name.
func copyPart(to, from map[string]any, name string, rest []string) {
	key, ok := keyOf(from, name)
	if !ok {
		return
	}
	inner, isObject := from[key].(map[string]any)
	if len(rest) == 0 || !isObject {
		to[key] = from[key]
		return
	}
	part, _ := to[key].(map[string]any)
	if part == nil {
		part = map[string]any{}
	}
	copyPart(part, inner, rest[0], rest[1:])
	if len(part) > 0 {
		to[key] = part
	}
}

// without returns an object without the part at a path.
func without(object map[string]any, path []string) map[string]any {
	key, ok := keyOf(object, path[0])
	if !ok {
		return object
	}
	out := make(map[string]any, len(object))
	for k, v := range object {
		out[k] = v
	}
	if inner, isObject := object[key].(map[string]any); isObject && len(path) > 1 {
		out[key] = without(inner, path[1:])
	} else {
		delete(out, key)
	}
	return out
}
