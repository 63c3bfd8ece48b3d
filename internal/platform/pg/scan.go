package pg

import (
	"context"
	"fmt"
	"reflect"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/countersign-dev/countersign/models"
)

// Columns returns the columns of a model's table as a list of SQL. A statement that is not GORM's names its columns, because a later version may add some
// while this one runs.
func Columns[T any](q *Q) (string, error) {
	f, err := q.parse(*new(T))
	if err != nil {
		return "", err
	}
	return strings.Join(f.declared.model().DBNames, ", "), nil
}

// CollectVerified reads rows of a model by the names of their columns, among which must be those that the MAC covers, and verifies them. It is for
// statements that are not GORM's.
func CollectVerified[T any](ctx context.Context, q *Q, rows pgx.Rows) ([]T, error) {
	f, err := q.parse(*new(T))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []T
	for rows.Next() {
		row := reflect.New(f.declared.row).Elem()
		var into []any
		for _, d := range rows.FieldDescriptions() {
			field := f.declared.model().LookUpField(d.Name)
			if field == nil {
				return nil, fmt.Errorf("pg: the model of %s has no %s", f.table, d.Name)
			}
			into = append(into, plain(field.ReflectValueOf(ctx, row)))
		}
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		if err := q.attestation().check(ctx, f, row); err != nil && !q.asStored {
			return nil, err
		}
		out = append(out, row.Interface().(T))
	}
	return out, rows.Err()
}

// plain returns a pointer to a field as a type that pgx reads by itself: lists, documents and named strings have methods for database/sql.
func plain(field reflect.Value) any {
	switch p := field.Addr().Interface().(type) {
	case *models.Strings:
		return (*[]string)(p)
	case *models.JSON:
		return (*[]byte)(p)
	default:
		if field.Kind() == reflect.String {
			return field.Addr().Convert(reflect.TypeFor[*string]()).Interface()
		}
		return p
	}
}
