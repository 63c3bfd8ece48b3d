package pg

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"gorm.io/gorm/schema"

	"github.com/countersign-dev/countersign/internal/platform/canonical"
	"github.com/countersign-dev/countersign/models"
)

// attestedForm is how the rows of a table are encoded for their MAC.
type attestedForm struct {
	declared            *Table
	table               string
	keys                []*schema.Field // identify a row: its primary key, and environment_id of a table that is placed by environment
	tenant, environment *schema.Field   // the scope of a row; nil if it has none
	mac                 *schema.Field   // row_mac
	subject             *schema.Field   // nil if a row has none
	decides             []*schema.Field // the declared columns, in their order
	added               []*schema.Field // those that were added later
}

var attestedForms sync.Map // *Table -> attestedForm

// formOf returns the form of the rows of a table with MACs. It panics if the declaration does not fit the model, which a test finds.
func formOf(t *Table) attestedForm {
	if known, ok := attestedForms.Load(t); ok {
		return known.(attestedForm)
	}
	s := t.model()
	f := attestedForm{
		declared: t, table: t.Name, keys: slices.Clone(s.PrimaryFields), mac: s.LookUpField("row_mac"),
		tenant: s.LookUpField("tenant_id"), environment: s.LookUpField("environment_id"), subject: s.LookUpField("subject_uid"),
	}
	if f.environment != nil && t.Placed == ByEnvironment && !slices.Contains(f.keys, f.environment) {
		f.keys = append(f.keys, f.environment)
	}
	f.decides, f.added = fieldsOf(s, t.Signed()), fieldsOf(s, t.Added)
	attestedForms.Store(t, f)
	return f
}

// formOfModel returns the form of the rows of a model; false if its table has no MACs. It panics if no package of this program declares a
// table that has: its rows would be read unverified.
func formOfModel(s *schema.Schema) (attestedForm, bool) {
	t := TableOf(s.Table)
	if t == nil && s.LookUpField("row_mac") != nil && s.ModelType.PkgPath() == reflect.TypeFor[models.JSON]().PkgPath() {
		panic("pg: this program has no package that declares " + s.Table)
	}
	if t == nil || !t.Attested() || t.row != s.ModelType {
		return attestedForm{}, false
	}
	return formOf(t), true
}

// fieldsOf returns the fields of declared columns. It panics if the model lacks one.
func fieldsOf(s *schema.Schema, columns []string) []*schema.Field {
	out := make([]*schema.Field, len(columns))
	for i, column := range columns {
		if out[i] = s.LookUpField(column); out[i] == nil {
			panic("pg: the model of " + s.Table + " has no " + column)
		}
	}
	return out
}

// addedParts returns the name and the value of each column that was added later and has a value other than its default, which rows of before
// have.
func addedParts(ctx context.Context, fields []*schema.Field, row reflect.Value) ([][]byte, error) {
	var out [][]byte
	for _, field := range fields {
		value, zero := field.ValueOf(ctx, row)
		if list, is := value.(models.Strings); is {
			zero = len(list) == 0 // Postgres returns an empty list for the nil of a new row
		}
		if zero || field.DefaultValueInterface != nil && fmt.Sprint(value) == fmt.Sprint(field.DefaultValueInterface) {
			continue
		}
		part, err := encodeColumn(value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", field.DBName, err)
		}
		out = append(out, []byte(field.DBName), part)
	}
	return out, nil
}

// parts returns the columns that decide in one form for what is written and what Postgres returns of it: times in microseconds, JSON in
// its canonical form. A part begins with a byte that distinguishes null from an empty value.
func (f attestedForm) parts(ctx context.Context, row reflect.Value) ([][]byte, error) {
	out := make([][]byte, 0, len(f.decides)+len(f.added))
	for _, field := range f.decides {
		value, _ := field.ValueOf(ctx, row)
		part, err := f.encode(value)
		if err != nil {
			return nil, fmt.Errorf("%s.%s: %w", f.table, field.DBName, err)
		}
		out = append(out, part)
	}
	added, err := addedParts(ctx, f.added, row)
	return append(out, added...), err
}

// encode encodes a column. Documents of tables with entries of their own have the type json: they are taken as they were written, as by Made.
func (f attestedForm) encode(value any) ([]byte, error) {
	if document, ok := value.(models.JSON); ok && f.declared.OwnEntries {
		return document, nil
	}
	return encodeColumn(value)
}

func encodeColumn(value any) ([]byte, error) {
	v := reflect.ValueOf(value)
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return []byte{0}, nil
		}
		v = v.Elem()
	}
	out := []byte{1}
	switch x := v.Interface().(type) {
	case time.Time:
		return binary.BigEndian.AppendUint64(out, uint64(x.UnixMicro())), nil // #nosec G115 -- a bit pattern
	case models.JSON:
		form, err := canonical.JSON(json.RawMessage(x))
		return append(out, form...), err
	case models.Hex:
		return append(out, x...), nil
	case []byte:
		return append(out, x...), nil
	}
	switch v.Kind() {
	case reflect.String:
		return append(out, v.String()...), nil
	case reflect.Bool:
		return strconv.AppendBool(out, v.Bool()), nil
	case reflect.Int, reflect.Int64:
		return binary.BigEndian.AppendUint64(out, uint64(v.Int())), nil // #nosec G115 -- a bit pattern
	case reflect.Slice:
		// Null and the empty list are the same: no column permits both.
		for i := range v.Len() {
			text := v.Index(i).String()
			out = append(binary.BigEndian.AppendUint64(out, uint64(len(text))), text...)
		}
		return out, nil
	}
	return nil, fmt.Errorf("no encoding of %s", v.Type())
}

// scopeOf returns the scope of a row, as far as it has one.
func (f attestedForm) scopeOf(ctx context.Context, row reflect.Value) (s Scope) {
	for field, to := range map[*schema.Field]*string{f.tenant: &s.Tenant, f.environment: &s.Environment} {
		if field != nil {
			value, _ := field.ValueOf(ctx, row)
			*to = fmt.Sprint(value)
		}
	}
	return s
}

// id names a row in errors.
func (f attestedForm) id(ctx context.Context, row reflect.Value) string {
	var out []string
	for _, field := range f.keys {
		if field != f.environment || len(f.keys) == 1 {
			value, _ := field.ValueOf(ctx, row)
			if b, ok := value.([]byte); ok {
				value = fmt.Sprintf("%x", b)
			}
			out = append(out, fmt.Sprint(value))
		}
	}
	return strings.Join(out, " ")
}

// identify returns a condition that selects a row, with its arguments, @key_ and the name of the column.
func (f attestedForm) identify(ctx context.Context, row reflect.Value) (where string, args map[string]any) {
	args = map[string]any{}
	for _, field := range f.keys {
		value, _ := field.ValueOf(ctx, row)
		where += " and " + field.DBName + " = @key_" + field.DBName
		args["key_"+field.DBName] = value
	}
	return strings.TrimPrefix(where, " and "), args
}

// columns returns the columns that identify a row, as a list.
func (f attestedForm) columns() string {
	out := make([]string, len(f.keys))
	for i, field := range f.keys {
		out[i] = field.DBName
	}
	return strings.Join(out, ", ")
}
