package directory

import (
	"context"
	"strings"
	"time"

	"gorm.io/gorm"

	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/scim"
	"github.com/countersign-dev/countersign/models"
)

// column is how an attribute is compared in SQL.
type column struct {
	sql   string // an expression; that of a member has the condition of the row that has it
	exact bool   // the case counts
	kind  kind
}

type kind int

const (
	ofText kind = iota
	ofBool
	ofTime
	ofMember // sql is an exists condition with one value
)

var userColumns = map[string]column{
	"id":                {sql: "t.id", exact: true},
	"externalid":        {sql: "t.external_id", exact: true},
	"username":          {sql: "t.user_name"},
	"displayname":       {sql: "t.attributes->>'display_name'"},
	"name.formatted":    {sql: "t.attributes->>'formatted'"},
	"name.givenname":    {sql: "t.attributes->>'given_name'"},
	"name.familyname":   {sql: "t.attributes->>'family_name'"},
	"department":        {sql: "t.attributes->>'department'"},
	"manager":           {sql: "t.manager", exact: true},
	"manager.value":     {sql: "t.manager", exact: true},
	"active":            {sql: "t.active", kind: ofBool},
	"meta.created":      {sql: "t.created_at", kind: ofTime},
	"meta.lastmodified": {sql: "t.updated_at", kind: ofTime},
	"groups":            {sql: "exists (select from directory_members m where m.user_id = t.id and m.group_id = ?)", kind: ofMember},
	"groups.value":      {sql: "exists (select from directory_members m where m.user_id = t.id and m.group_id = ?)", kind: ofMember},
}

var groupColumns = map[string]column{
	"id":                {sql: "t.id", exact: true},
	"externalid":        {sql: "t.external_id", exact: true},
	"displayname":       {sql: "t.display_name"},
	"meta.created":      {sql: "t.created_at", kind: ofTime},
	"meta.lastmodified": {sql: "t.updated_at", kind: ofTime},
	"members":           {sql: "exists (select from directory_members m where m.group_id = t.id and m.user_id = ?)", kind: ofMember},
	"members.value":     {sql: "exists (select from directory_members m where m.group_id = t.id and m.user_id = ?)", kind: ofMember},
}

// condition returns the SQL of a filter with its arguments.
func condition(f *scim.Filter, columns map[string]column) (string, []any, error) {
	both := func(of []*scim.Filter, word string) (string, []any, error) {
		a, left, err := condition(of[0], columns)
		if err != nil {
			return "", nil, err
		}
		b, right, err := condition(of[1], columns)
		return "(" + a + word + b + ")", append(left, right...), err
	}
	switch {
	case f == nil:
		return "true", nil, nil
	case f.Not != nil:
		a, args, err := condition(f.Not, columns)
		return "not coalesce(" + a + ", false)", args, err
	case len(f.And) == 2:
		return both(f.And, " and ")
	case len(f.Or) == 2:
		return both(f.Or, " or ")
	}
	c, known := columns[f.Comparison.Attribute]
	if !known { // not stored: no resource has a value of it
		return map[bool]string{true: "true", false: "false"}[f.Comparison.Operator == "ne"], nil, nil
	}
	return c.compare(f.Comparison)
}

// compare returns the SQL of one comparison.
func (c column) compare(f *scim.Comparison) (string, []any, error) {
	wrong := func(must string) error {
		return scim.Bad(scim.InvalidFilter, "The value that %s is compared with must be %s, and the operator one for it.", f.Attribute, must)
	}
	switch {
	case c.kind == ofMember:
		id, ok := f.Value.(string)
		if !ok || f.Operator != "eq" {
			return "", nil, scim.Bad(scim.InvalidFilter, "%s is compared by eq with an id.", f.Attribute)
		}
		return c.sql, []any{id}, nil
	case f.Operator == "pr":
		if c.kind == ofText {
			return "coalesce(" + c.sql + ", '') <> ''", nil, nil
		}
		return c.sql + " is not null", nil, nil
	case c.kind == ofBool:
		text, _ := f.Value.(string)
		value, ok := f.Value.(bool)
		if !ok && !strings.EqualFold(text, "true") && !strings.EqualFold(text, "false") || f.Operator != "eq" && f.Operator != "ne" {
			return "", nil, wrong("true or false")
		}
		return c.sql + " = ?", []any{(value || strings.EqualFold(text, "true")) == (f.Operator == "eq")}, nil
	case c.kind == ofTime:
		text, _ := f.Value.(string)
		at, err := time.Parse(time.RFC3339Nano, text)
		operator, ok := orders[f.Operator]
		if err != nil || !ok {
			return "", nil, wrong("a time such as 2026-01-31T12:00:00Z")
		}
		return c.sql + operator + "?", []any{at}, nil
	}
	return c.compareText(f, wrong)
}

var orders = map[string]string{"eq": " = ", "ne": " <> ", "gt": " > ", "ge": " >= ", "lt": " < ", "le": " <= "}

func (c column) compareText(f *scim.Comparison, wrong func(must string) error) (string, []any, error) {
	if f.Value == nil && (f.Operator == "eq" || f.Operator == "ne") {
		missing, _, err := c.compare(&scim.Comparison{Attribute: f.Attribute, Operator: "pr"})
		if f.Operator == "eq" {
			missing = "not " + missing
		}
		return missing, nil, err
	}
	text, ok := f.Value.(string)
	if !ok {
		return "", nil, wrong("a text")
	}
	a, b := c.sql, "?::text"
	if !c.exact {
		a, b = "lower("+a+")", "lower(?::text)"
	}
	switch f.Operator {
	case "ne":
		return "coalesce(" + a + ", '') <> " + b, []any{text}, nil
	case "co":
		return "position(" + b + " in " + a + ") > 0", []any{text}, nil
	case "sw":
		return "starts_with(" + a + ", " + b + ")", []any{text}, nil
	case "ew":
		return "right(" + a + ", length(" + b + ")) = " + b, []any{text, text}, nil
	}
	operator, ok := orders[f.Operator]
	if !ok {
		return "", nil, scim.Bad(scim.InvalidFilter, "Unknown operator %q.", f.Operator)
	}
	return a + ` collate "C"` + operator + b + ` collate "C"`, []any{text}, nil
}

// listUsers returns a page of users, the oldest first, and how many match.
func listUsers(ctx context.Context, q *pg.Q, tenant string, in scim.Query) (rows []models.DirectoryUser, total int, err error) {
	where, args, err := condition(in.Filter, userColumns)
	if err != nil {
		return nil, 0, err
	}
	tx := q.Gorm(ctx).Table("directory_users t").Where("t.tenant_id = ? and t.deleted_at is null", tenant).Where(where, args...)
	total, err = page(tx, in, &rows)
	return rows, total, err
}

// listGroups returns a page of groups, the oldest first, and how many match.
func listGroups(ctx context.Context, q *pg.Q, tenant string, in scim.Query) (rows []models.DirectoryGroup, total int, err error) {
	where, args, err := condition(in.Filter, groupColumns)
	if err != nil {
		return nil, 0, err
	}
	tx := q.Gorm(ctx).Table("directory_groups t").Where("t.tenant_id = ?", tenant).Where(where, args...)
	total, err = page(tx, in, &rows)
	return rows, total, err
}

func page(tx *gorm.DB, in scim.Query, rows any) (int, error) {
	var total int64
	if err := tx.Session(&gorm.Session{}).Count(&total).Error; err != nil || in.Count == 0 || int64(in.Start) > total {
		return int(total), err
	}
	return int(total), tx.Session(&gorm.Session{}).Order("t.created_at, t.id").Offset(in.Start - 1).Limit(in.Count).Find(rows).Error
}
