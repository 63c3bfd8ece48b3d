package pg

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"

	"gorm.io/gorm/schema"
)

// nested is the GORM serializer of a field with rows of a model that a statement returns inside of another row: to_jsonb(row), or an array of
// such. Their columns that the model lacks are left out. GORM does not check such rows: see Verify.
type nested struct{}

const nestedName = "rows"

var (
	nestedSchemas sync.Map
	errNested     = errors.New("pg: rows inside of a row are only read")
)

// Scan implements schema.SerializerInterface.
func (nested) Scan(ctx context.Context, field *schema.Field, dst reflect.Value, stored any) error {
	out := reflect.New(field.FieldType).Elem()
	if stored != nil {
		if err := readNested(ctx, out, []byte(fmt.Sprintf("%s", stored))); err != nil {
			return fmt.Errorf("column %s: %w", field.DBName, err)
		}
	}
	field.ReflectValueOf(ctx, dst).Set(out)
	return nil
}

// Value implements schema.SerializerInterface.
func (nested) Value(context.Context, *schema.Field, reflect.Value, any) (any, error) {
	return nil, errNested
}

// readNested reads one row or several.
func readNested(ctx context.Context, out reflect.Value, stored json.RawMessage) error {
	switch out.Kind() {
	case reflect.Pointer:
		out.Set(reflect.New(out.Type().Elem()))
		return readNested(ctx, out.Elem(), stored)
	case reflect.Slice:
		var rows []json.RawMessage
		if err := json.Unmarshal(stored, &rows); err != nil {
			return err
		}
		out.Set(reflect.MakeSlice(out.Type(), len(rows), len(rows)))
		for i, row := range rows {
			if err := readNested(ctx, out.Index(i), row); err != nil {
				return err
			}
		}
		return nil
	}
	model, err := schema.Parse(out.Addr().Interface(), &nestedSchemas, schema.NamingStrategy{})
	if err != nil {
		return err
	}
	var columns map[string]json.RawMessage
	if err := json.Unmarshal(stored, &columns); err != nil {
		return err
	}
	for name, column := range columns {
		if f := model.FieldsByDBName[name]; f != nil {
			if err := readColumn(column, f.ReflectValueOf(ctx, out).Addr().Interface()); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return nil
}

// readColumn reads a value in the form that to_jsonb gives it.
func readColumn(stored json.RawMessage, out any) error {
	bytes, ok := out.(*[]byte)
	if !ok {
		return json.Unmarshal(stored, out)
	}
	var text *string
	err := json.Unmarshal(stored, &text)
	if err == nil && text != nil {
		*bytes, err = hex.DecodeString(strings.TrimPrefix(*text, `\x`))
	}
	return err
}
