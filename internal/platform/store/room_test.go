package store_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/store"

	"github.com/countersign-dev/countersign/internal/testing/testenv"
)

// TestStatementsOfAnySizeFollowEachOther sends texts over one connection, compares what the server received, and looks at the memory of
// the connection between the statements.
func TestStatementsOfAnySizeFollowEachOther(t *testing.T) {
	t.Parallel()
	st := overOneConnection(t, testenv.Database(t))
	for _, size := range []int{0, 1, 900, 1100, 5000, 8191, 8192, 9000, 15_000, 16_383, 16_384, 17_000, 40_000, 10, 5000, 0, 1_000_000, 3000} {
		first, second := strings.Repeat("secret", size/6), strings.Repeat("y", size/2)
		received, memory, err := store.EchoRoomy(t.Context(), st, first, second)
		require.NoError(t, err)
		require.Equal(t, [2]string{first, second}, received)
		if size > 1024 { // pgx uses the memory of a smaller message for the next one
			require.False(t, bytes.Contains(memory, []byte("secret")), "%d bytes", size)
		}
	}
}

// TestMemoryOfAnUnsentMessageStays hands out other memory only if there is nothing in it.
func TestMemoryOfAnUnsentMessageStays(t *testing.T) {
	t.Parallel()
	message, err := store.ExchangedMemory(make([]byte, 0, 1024)) // as pgx has it behind a large message
	require.NoError(t, err)
	require.Empty(t, message)
	require.Greater(t, cap(message), 4<<10)
	message, err = store.ExchangedMemory([]byte("unsent"))
	require.NoError(t, err)
	require.Equal(t, "unsent", string(message))
}
