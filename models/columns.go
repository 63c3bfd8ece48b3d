package models

import (
	"database/sql/driver"
	"fmt"

	"github.com/jackc/pgx/v5/pgtype"
)

// Strings is a text[] column. A nil slice is stored as the empty array: no column of this type is null.
type Strings []string

// Scan reads a text[].
func (s *Strings) Scan(src any) error {
	return pgtype.NewMap().SQLScanner((*[]string)(s)).Scan(src)
}

// Value writes a text[].
func (s Strings) Value() (driver.Value, error) {
	if len(s) == 0 {
		return "{}", nil
	}
	buf, err := pgtype.NewMap().Encode(pgtype.TextArrayOID, pgtype.TextFormatCode, []string(s), nil)
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
