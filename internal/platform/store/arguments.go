package store

import (
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/countersign-dev/countersign/models"
)

// The arguments of the statements that each decision and each frame sends, by their address. An any that has a string, a time or a list
// in it is a copy on the heap, and pgx makes more of them as it converts it; an address is none. The value must not change until the
// statement was sent. A nil address is null.
type (
	textArg  string
	timeArg  time.Time
	bytesArg []byte
	listArg  []string // never null: a nil list is empty
)

func textOf(s *string) *textArg         { return (*textArg)(s) }
func timeOf(t *time.Time) *timeArg      { return (*timeArg)(t) }
func bytesOf(b *[]byte) *bytesArg       { return (*bytesArg)(b) }
func listOf(l *models.Strings) *listArg { return (*listArg)(l) }

// TextValue implements pgtype.TextValuer.
func (a *textArg) TextValue() (pgtype.Text, error) {
	if a == nil {
		return pgtype.Text{}, nil
	}
	return pgtype.Text{String: string(*a), Valid: true}, nil
}

// TimestamptzValue implements pgtype.TimestamptzValuer.
func (a *timeArg) TimestamptzValue() (pgtype.Timestamptz, error) {
	if a == nil {
		return pgtype.Timestamptz{}, nil
	}
	return pgtype.Timestamptz{Time: time.Time(*a), Valid: true}, nil
}

// BytesValue implements pgtype.BytesValuer.
func (a *bytesArg) BytesValue() ([]byte, error) {
	if a == nil {
		return nil, nil
	}
	return *a, nil
}

// Dimensions implements pgtype.ArrayGetter.
func (a *listArg) Dimensions() []pgtype.ArrayDimension {
	return []pgtype.ArrayDimension{{Length: int32(len(*a)), LowerBound: 1}} // #nosec G115 -- a list of codes
}

// Index implements pgtype.ArrayGetter.
func (a *listArg) Index(i int) any { return textOf(&(*a)[i]) }

// IndexType implements pgtype.ArrayGetter.
func (a *listArg) IndexType() any { return new(textArg) }
