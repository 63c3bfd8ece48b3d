package bench

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/stretchr/testify/require"
)

// The statements are sent again long after the service has reused the memory of their arguments.
func TestRecordedArgumentsAreCopies(t *testing.T) {
	t.Parallel()
	state, text, addressed := []byte("state"), "text", pgtype.Text{String: "addressed", Valid: true}
	r := &recorder{}
	r.TraceQueryStart(context.WithValue(t.Context(), recording{}, true), nil, pgx.TraceQueryStartData{SQL: "update", Args: []any{state, &text, &addressed, 7}})
	copy(state, "other")
	text, addressed.String = "other", "other"
	require.Equal(t, transaction{{"update", []any{[]byte("state"), "text", "addressed", 7}}}, r.sent)
}

// A row has another version when a statement is sent again than when it was recorded.
func TestVersionsAreThoseOfARepeat(t *testing.T) {
	t.Parallel()
	r := &recorder{}
	r.TraceQueryStart(context.WithValue(t.Context(), recording{}, true), nil, pgx.TraceQueryStartData{SQL: "update a set b = $1 where id = $2 and version = $3", Args: []any{1, 2, uint32(7)}})
	require.Equal(t, transaction{{"update a set b = $1 where id = $2 and version >= $3", []any{1, 2, uint32(7)}}}, r.sent)
}
