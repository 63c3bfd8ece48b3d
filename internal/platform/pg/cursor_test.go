package pg_test

import (
	"encoding/base64"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/pg"
)

// hostileCursors are texts that a cursor has been forged with.
var hostileCursors = []string{
	"", ".", "x", "1.", ".a", "1.a\x00b", "\x00.a", "1.a\nb", "1.\xff", "+1.a", "01.a", "1 .a", "-2z9t7zzzzzzz.a", "1y2p0ij32e8e7.a", "9zzzzzzzzzzzzzz.a", "-0.a", "1.a\x7f",
}

func TestForgedCursorsAreRefused(t *testing.T) {
	t.Parallel()
	for _, raw := range hostileCursors {
		_, _, err := pg.ParseCursor(base64.RawURLEncoding.EncodeToString([]byte(raw)))
		require.ErrorIs(t, err, pg.ErrCursor, "%q", raw)
	}
	for _, text := range []string{"MS5h=", "MS5i\n", "MS5_", "MS5h MS5h", "+/"} {
		_, _, err := pg.ParseCursor(text)
		require.ErrorIs(t, err, pg.ErrCursor, "%q", text)
	}
	for _, at := range []time.Time{{}, time.UnixMicro(7).UTC(), time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)} {
		read, id, err := pg.ParseCursor(pg.NextCursor(at, "sub_1"))
		require.NoError(t, err)
		require.Equal(t, at, read)
		require.Equal(t, "sub_1", id)
	}
}

// FuzzParseCursor accepts only what NextCursor writes, with a time and an id that the database can compare.
func FuzzParseCursor(f *testing.F) {
	for _, raw := range hostileCursors {
		f.Add(base64.RawURLEncoding.EncodeToString([]byte(raw)))
	}
	f.Add(pg.NextCursor(time.UnixMicro(1795253400000000), "azn_1"))
	f.Fuzz(func(t *testing.T, cursor string) {
		at, id, err := pg.ParseCursor(cursor)
		if err != nil {
			return
		}
		require.Equal(t, cursor, pg.NextCursor(at, id))
		require.True(t, utf8.ValidString(id) && at.Year() > 0 && at.Year() < 10000)
	})
}
