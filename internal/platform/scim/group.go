package scim

import (
	"slices"
	"strings"
)

// Group has the attributes of a group that are stored, without its members.
type Group struct{ ExternalID, DisplayName string }

// Members is a change of a group's members: those to add, those to remove, or the whole list.
type Members struct {
	Whole       bool // Add is the whole list
	Add, Remove []string
}

// NewGroup reads a group from the body of a POST or PUT.
func NewGroup(body any) (Group, Members, error) {
	var g Group
	m := Members{Whole: true}
	object, ok := body.(map[string]any)
	if !ok {
		return g, m, Bad(InvalidSyntax, "The body must be a JSON object.")
	}
	e := groupEdit{Group: g, whole: true, add: map[string]bool{}, remove: map[string]bool{}}
	if err := e.assign(opReplace, object); err != nil {
		return g, m, err
	}
	return e.done()
}

// Patched returns the group after the operations of a PATCH, and the change of its members.
func (g Group) Patched(operations []Operation) (Group, Members, error) {
	e := groupEdit{Group: g, add: map[string]bool{}, remove: map[string]bool{}}
	for _, o := range operations {
		if err := e.apply(o); err != nil {
			return g, Members{}, err
		}
	}
	return e.done()
}

// groupEdit is a group while operations change it.
type groupEdit struct {
	Group
	whole       bool
	add, remove map[string]bool
}

func (e *groupEdit) done() (Group, Members, error) {
	m := Members{Whole: e.whole, Add: sorted(e.add), Remove: sorted(e.remove)}
	if e.DisplayName == "" {
		return e.Group, m, Bad(InvalidValue, "displayName is required.")
	}
	return e.Group, m, nil
}

func sorted(set map[string]bool) []string {
	out := make([]string, 0, len(set))
	for id := range set {
		out = append(out, id)
	}
	slices.Sort(out)
	return out
}

func (e *groupEdit) apply(o Operation) error {
	switch {
	case o.Path == "" && o.Op == opRemove:
		return Bad(NoTarget, "A remove operation needs a path.")
	case o.Path == "":
		object, ok := o.Value.(map[string]any)
		if !ok {
			return Bad(InvalidValue, "An operation without a path needs an object of attributes as its value.")
		}
		return e.assign(o.Op, object)
	case o.Path == "members" && o.Where != nil:
		ids, err := o.Where.values()
		if err != nil {
			return err
		}
		if o.Op != opRemove {
			return Bad(InvalidPath, "A member is replaced as a whole: remove it and add a different one.")
		}
		e.drop(ids)
		return nil
	case o.Op == opRemove && o.Path != "members":
		return e.set(o.Op, o.Path, nil)
	}
	return e.set(o.Op, o.Path, o.Value)
}

func (e *groupEdit) assign(op string, object map[string]any) error {
	for key, value := range object {
		if err := e.set(op, strings.ToLower(key), value); err != nil {
			return err
		}
	}
	return nil
}

// set changes an attribute. Those that are not stored are dropped.
func (e *groupEdit) set(op, path string, value any) error {
	switch strings.TrimPrefix(path, strings.ToLower(SchemaGroup)+":") {
	case "displayname":
		return setText(&e.DisplayName, "displayName", value)
	case "externalid":
		return setText(&e.ExternalID, "externalId", value)
	case "members":
		return e.setMembers(op, value)
	}
	return nil
}

func (e *groupEdit) setMembers(op string, value any) error {
	ids, err := memberIDs(value)
	if err != nil {
		return err
	}
	switch {
	case op == opRemove && value != nil: // Entra names the members to remove in the value
		e.drop(ids)
		return nil
	case op != opAdd:
		e.whole, e.add, e.remove = true, map[string]bool{}, map[string]bool{}
	}
	for _, id := range ids {
		e.add[id] = true
		delete(e.remove, id)
	}
	return nil
}

func (e *groupEdit) drop(ids []string) {
	for _, id := range ids {
		e.remove[id] = true
		delete(e.add, id)
	}
}

// memberIDs returns the ids of users in a list of members, or in one member.
func memberIDs(value any) ([]string, error) {
	list, isList := value.([]any)
	if !isList && value != nil {
		list = []any{value}
	}
	out := make([]string, 0, len(list))
	for _, item := range list {
		var id string
		if err := setID(&id, item); err != nil || id == "" {
			return nil, Bad(InvalidValue, "Each member must be an object with the id of a user as its value.")
		}
		out = append(out, id)
	}
	return out, nil
}

// values returns the ids that a filter of members names: value eq "id", one or several of them joined by or.
func (f *Filter) values() ([]string, error) {
	if len(f.Or) == 2 {
		a, err := f.Or[0].values()
		if err != nil {
			return nil, err
		}
		b, err := f.Or[1].values()
		return append(a, b...), err
	}
	if c := f.Comparison; c != nil && c.Attribute == "value" && c.Operator == "eq" {
		if id, ok := c.Value.(string); ok {
			return []string{id}, nil
		}
	}
	return nil, Bad(InvalidFilter, "Members are named by members[value eq \"id\"].")
}
