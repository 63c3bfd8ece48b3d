package pg

import (
	"bytes"
	"encoding/base64"
	"errors"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"gorm.io/gorm"
)

// Page requests at most Limit rows behind the opaque cursor After; an empty cursor begins with the newest.
type Page struct {
	Limit int
	After string
}

// ErrCursor says that a cursor was not made by this service.
var ErrCursor = errors.New("pg: the cursor is not valid")

// NextCursor returns the cursor behind the row with this time and id, in a list that runs newest first.
func NextCursor(at time.Time, id string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatInt(at.UnixMicro(), 36) + "." + id))
}

// ParseCursor returns the time and id of a cursor, or ErrCursor. Of the two forms that base64 and numbers leave for one value it
// accepts the one that NextCursor writes, and only times and ids that the database can compare.
func ParseCursor(cursor string) (at time.Time, id string, err error) {
	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil || !utf8.Valid(raw) || bytes.ContainsFunc(raw, unicode.IsControl) {
		return time.Time{}, "", ErrCursor
	}
	stamp, id, ok := strings.Cut(string(raw), ".")
	micros, err := strconv.ParseInt(stamp, 36, 64)
	at = time.UnixMicro(micros).UTC()
	if !ok || err != nil || id == "" || at.Year() < 1 || at.Year() > 9999 || NextCursor(at, id) != cursor {
		return time.Time{}, "", ErrCursor
	}
	return at, id, nil
}

// Paginate orders by (timeColumn, idColumn), newest first, behind the cursor. It requests one row more than the limit, by
// which cutPage knows that there is a next page. Column names must be constants of this package: they are not escaped.
func Paginate(tx *gorm.DB, p Page, timeColumn, idColumn string) (*gorm.DB, error) {
	if p.After != "" {
		at, id, err := ParseCursor(p.After)
		if err != nil {
			return nil, err
		}
		tx = tx.Where("("+timeColumn+", "+idColumn+") < (?, ?)", at, id)
	}
	return tx.Order(timeColumn + " desc, " + idColumn + " desc").Limit(p.Limit + 1), nil
}

// PaginateUp is like paginate in the other direction, oldest or soonest first.
func PaginateUp(tx *gorm.DB, p Page, timeColumn, idColumn string) (*gorm.DB, error) {
	if p.After != "" {
		at, id, err := ParseCursor(p.After)
		if err != nil {
			return nil, err
		}
		tx = tx.Where("("+timeColumn+", "+idColumn+") > (?, ?)", at, id)
	}
	return tx.Order(timeColumn + ", " + idColumn).Limit(p.Limit + 1), nil
}

// CutPage removes the surplus row of paginate and returns the cursor of the next page, or "" if this is the last.
func CutPage[T any](rows []T, p Page, key func(T) (time.Time, string)) ([]T, string) {
	if len(rows) <= p.Limit {
		return rows, ""
	}
	rows = rows[:p.Limit]
	at, id := key(rows[len(rows)-1])
	return rows, NextCursor(at, id)
}
