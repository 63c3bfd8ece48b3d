package scim

import (
	"strings"
	"unicode/utf8"
)

// User has the attributes of a user that are stored.
type User struct {
	ExternalID, UserName                          string
	DisplayName, Formatted, GivenName, FamilyName string
	Department, Manager                           string // Manager is the id of a user
	Active                                        bool
}

// Name returns the name to show of the user.
func (u User) Name() string {
	for _, name := range []string{u.DisplayName, u.Formatted, strings.TrimSpace(u.GivenName + " " + u.FamilyName), u.UserName} {
		if name != "" {
			return name
		}
	}
	return ""
}

// NewUser reads a user from the body of a POST or PUT. active is the value of a user without the attribute.
func NewUser(body any, active bool) (User, error) {
	u := User{Active: active}
	object, ok := body.(map[string]any)
	if !ok {
		return u, Bad(InvalidSyntax, "The body must be a JSON object.")
	}
	if err := u.assign("", object); err != nil {
		return u, err
	}
	return u, u.check()
}

// Patched returns the user after the operations of a PATCH.
func (u User) Patched(operations []Operation) (User, error) {
	for _, o := range operations {
		value := o.Value
		if o.Op == opRemove {
			value = nil
		}
		if o.Op == opRemove && o.Path == "" {
			return u, Bad(NoTarget, "A remove operation needs a path.")
		}
		if err := u.set(o.Path, value); err != nil {
			return u, err
		}
	}
	return u, u.check()
}

func (u User) check() error {
	if u.UserName == "" {
		return Bad(InvalidValue, "userName is required.")
	}
	return nil
}

const extension = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:user"

// assign sets the attributes of an object below a path.
func (u *User) assign(path string, object map[string]any) error {
	for key, value := range object {
		name := strings.ToLower(key)
		if path != "" {
			name = path + "." + name
		}
		if err := u.set(name, value); err != nil {
			return err
		}
	}
	return nil
}

// set sets an attribute; nil removes it. Attributes that are not stored are dropped.
func (u *User) set(path string, value any) error {
	path = strings.ToLower(path)
	path = strings.TrimPrefix(path, strings.ToLower(SchemaUser)+":")
	path = strings.Replace(path, extension+":", extension+".", 1)
	switch object, isObject := value.(map[string]any); {
	case isObject && (path == "" || path == "name" || path == extension):
		return u.assign(path, object)
	case path == "name" && value == nil:
		u.Formatted, u.GivenName, u.FamilyName = "", "", ""
		return nil
	case path == extension && value == nil:
		u.Department, u.Manager = "", ""
		return nil
	case path == "":
		return Bad(InvalidValue, "An operation without a path needs an object of attributes as its value.")
	case path == "active":
		return setBool(&u.Active, value)
	case path == extension+".manager":
		return setID(&u.Manager, value)
	}
	target := map[string]*string{
		"externalid": &u.ExternalID, "username": &u.UserName, "displayname": &u.DisplayName,
		"name.formatted": &u.Formatted, "name.givenname": &u.GivenName, "name.familyname": &u.FamilyName,
		extension + ".department": &u.Department, extension + ".manager.value": &u.Manager,
	}[path]
	if target == nil {
		return nil
	}
	return setText(target, path, value)
}

// setText sets a text; null and an empty text remove it.
func setText(to *string, path string, value any) error {
	text, ok := value.(string)
	if n := utf8.RuneCountInString(text); !ok && value != nil || n > maxText || strings.ContainsFunc(text, isControl) {
		return Bad(InvalidValue, "%s must be a text of at most %d characters without control characters.", path, maxText)
	}
	*to = text
	return nil
}

func isControl(r rune) bool { return r < 0x20 || r == 0x7f }

// setBool accepts true and false as texts too, as Entra sends them. To remove the attribute is to deactivate.
func setBool(to *bool, value any) error {
	if list, ok := value.([]any); ok && len(list) == 1 {
		value = list[0]
	}
	if object, ok := value.(map[string]any); ok {
		if key, has := keyOf(object, "value"); has {
			value = object[key]
		}
	}
	switch text, _ := value.(string); {
	case value == true, strings.EqualFold(text, "true"):
		*to = true
	case value == false, value == nil, strings.EqualFold(text, "false"):
		*to = false
	default:
		return Bad(InvalidValue, "active must be true or false.")
	}
	return nil
}

// setID accepts the id of a user as a text and as an object with the member value, alone or in a list of one.
func setID(to *string, value any) error {
	if list, ok := value.([]any); ok && len(list) <= 1 {
		if value = nil; len(list) == 1 {
			value = list[0]
		}
	}
	if object, ok := value.(map[string]any); ok {
		key, has := keyOf(object, "value")
		if value = nil; has {
			value = object[key]
		}
	}
	return setText(to, "manager", value)
}
