package models

import (
	"database/sql/driver"
	"fmt"
	"sync"

	"github.com/jackc/pgx/v5/pgtype"
)

// Strings is a text[] column. A nil slice is stored as the empty array: no column of this type is null.
type Strings []string

// typeMaps are for one conversion at a time: a map plans each kind of conversion once and remembers, and is not safe to share.
var typeMaps = sync.Pool{New: func() any { return pgtype.NewMap() }}

// Scan reads a text[].
func (s *Strings) Scan(src any) error {
	m, _ := typeMaps.Get().(*pgtype.Map)
	defer typeMaps.Put(m)
	return m.SQLScanner((*[]string)(s)).Scan(src)
}

// Value writes a text[].
func (s Strings) Value() (driver.Value, error) {
	if len(s) == 0 {
		return "{}", nil
	}
	m, _ := typeMaps.Get().(*pgtype.Map)
	defer typeMaps.Put(m)
	buf, err := m.Encode(pgtype.TextArrayOID, pgtype.TextFormatCode, []string(s), nil)
	return string(buf), err
}

// GormDataType names the column type.
func (Strings) GormDataType() string { return "text[]" }

// JSON is a jsonb column holding one JSON value; nil is SQL null.
type JSON []byte

// Scan reads a jsonb.
func (j *JSON) Scan(src any) error {
	switch v := src.(type) {
	case nil:
		*j = nil
	case []byte:
		*j = append((*j)[:0:0], v...)
	case string:
		*j = JSON(v)
	default:
		return fmt.Errorf("jsonb column holds %T", src)
	}
	return nil
}

// Value writes a jsonb.
func (j JSON) Value() (driver.Value, error) {
	if j == nil {
		return nil, nil
	}
	return string(j), nil
}

// GormDataType names the column type.
func (JSON) GormDataType() string { return "jsonb" }
