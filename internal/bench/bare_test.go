package bench

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// The statements are sent again long after the service has reused the memory of their arguments.
func TestRecordedArgumentsAreCopies(t *testing.T) {
	t.Parallel()
	state, text := []byte("state"), "text"
	r := &recorder{}
	r.TraceQueryStart(context.WithValue(t.Context(), recording{}, true), nil, pgx.TraceQueryStartData{SQL: "update", Args: []any{state, &text, 7}})
	copy(state, "other")
	text = "other"
	require.Equal(t, transaction{{"update", []any{[]byte("state"), "text", 7}}}, r.sent)
}
