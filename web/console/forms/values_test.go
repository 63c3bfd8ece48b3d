package forms

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSearchWindow(t *testing.T) {
	t.Parallel()
	from, to, fault := Window("2026-03-01T09:30", "2026-03-02")
	require.Empty(t, fault)
	require.Equal(t, time.Date(2026, 3, 1, 9, 30, 0, 0, time.UTC), *from)
	require.Equal(t, time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC), *to)
	from, to, fault = Window("", "")
	require.Nil(t, from)
	require.Nil(t, to)
	require.Empty(t, fault)
	_, _, fault = Window("tomorrow", "")
	require.Contains(t, fault, "From must be a date")
}
