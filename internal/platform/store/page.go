package store

import (
	"encoding/base64"
	"errors"
	"strconv"
	"strings"
	"time"

	"gorm.io/gorm"
)

// Page asks for at most Limit rows older than the opaque cursor After (empty: from the newest).
type Page struct {
	Limit int
	After string
}

// ErrCursor says that a cursor is not one this service gave out.
var ErrCursor = errors.New("store: cursor cannot be read")

// NextCursor marks the place behind the row with this time and id in a list that runs newest first.
func NextCursor(at time.Time, id string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatInt(at.UnixMicro(), 36) + "." + id))
}

// ParseCursor reads what NextCursor wrote.
func ParseCursor(cursor string) (at time.Time, id string, err error) {
	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		return time.Time{}, "", ErrCursor
	}
	stamp, id, ok := strings.Cut(string(raw), ".")
	micros, err := strconv.ParseInt(stamp, 36, 64)
	if !ok || err != nil || id == "" {
		return time.Time{}, "", ErrCursor
	}
	return time.UnixMicro(micros).UTC(), id, nil
}

// paginate orders by (timeColumn, idColumn), newest first, from the cursor on. It asks for one row more than the limit,
// by which cut knows whether there is a next page. Column names are constants of this package, never input.
func paginate(tx *gorm.DB, p Page, timeColumn, idColumn string) (*gorm.DB, error) {
	if p.After != "" {
		at, id, err := ParseCursor(p.After)
		if err != nil {
			return nil, err
		}
		tx = tx.Where("("+timeColumn+", "+idColumn+") < (?, ?)", at, id)
	}
	return tx.Order(timeColumn + " desc, " + idColumn + " desc").Limit(p.Limit + 1), nil
}

// paginateUp orders the other way round, oldest or soonest first.
func paginateUp(tx *gorm.DB, p Page, timeColumn, idColumn string) (*gorm.DB, error) {
	if p.After != "" {
		at, id, err := ParseCursor(p.After)
		if err != nil {
			return nil, err
		}
		tx = tx.Where("("+timeColumn+", "+idColumn+") > (?, ?)", at, id)
	}
	return tx.Order(timeColumn + ", " + idColumn).Limit(p.Limit + 1), nil
}

// cut drops the surplus row of paginate and says where the next page starts; empty where there is none.
func cut[T any](rows []T, p Page, key func(T) (time.Time, string)) ([]T, string) {
	if len(rows) <= p.Limit {
		return rows, ""
	}
	rows = rows[:p.Limit]
	at, id := key(rows[len(rows)-1])
	return rows, NextCursor(at, id)
}
