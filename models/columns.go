package models

import (
	"database/sql/driver"
	"encoding/hex"
	"fmt"
	"sync"

	"github.com/jackc/pgx/v5/pgtype"
)

// Strings is a text[] column. A nil slice is stored as the empty array, so that no column of this type is null.
type Strings []string

// typeMaps pools the type maps of pgx. A map caches the plan of each conversion and is not safe for concurrent use.
var typeMaps = sync.Pool{New: func() any { return pgtype.NewMap() }}

// Scan implements sql.Scanner.
func (s *Strings) Scan(src any) error {
	m, _ := typeMaps.Get().(*pgtype.Map)
	defer typeMaps.Put(m)
	return m.SQLScanner((*[]string)(s)).Scan(src)
}

// Value implements driver.Valuer.
func (s Strings) Value() (driver.Value, error) {
	if len(s) == 0 {
		return "{}", nil
	}
	m, _ := typeMaps.Get().(*pgtype.Map)
	defer typeMaps.Put(m)
	buf, err := m.Encode(pgtype.TextArrayOID, pgtype.TextFormatCode, []string(s), nil)
	return string(buf), err
}

// GormDataType implements schema.GormDataTypeInterface.
func (Strings) GormDataType() string { return "text[]" }

// Hex is a text column with bytes in hexadecimal, such as a digest. nil is SQL null.
type Hex []byte

// Scan implements sql.Scanner. Text that is not hexadecimal is read as it is, so that it equals no digest: an audit has to read a row to
// report that it was altered.
func (h *Hex) Scan(src any) error {
	if src == nil {
		*h = nil
		return nil
	}
	text, ok := src.(string)
	if b, is := src.([]byte); is {
		text, ok = string(b), true
	}
	if !ok {
		return fmt.Errorf("column of hexadecimal text holds %T", src)
	}
	decoded, err := hex.DecodeString(text)
	if err != nil {
		decoded = []byte(text)
	}
	*h = decoded
	return nil
}

// Value implements driver.Valuer.
func (h Hex) Value() (driver.Value, error) {
	if h == nil {
		return nil, nil
	}
	return hex.EncodeToString(h), nil
}

// GormDataType implements schema.GormDataTypeInterface.
func (Hex) GormDataType() string { return "text" }

// JSON is a jsonb column with one JSON value. nil is SQL null.
type JSON []byte

// Scan implements sql.Scanner.
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

// Value implements driver.Valuer.
func (j JSON) Value() (driver.Value, error) {
	if j == nil {
		return nil, nil
	}
	return string(j), nil
}

// GormDataType implements schema.GormDataTypeInterface.
func (JSON) GormDataType() string { return "jsonb" }
