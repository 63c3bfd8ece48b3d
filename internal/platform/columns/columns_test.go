package columns_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/columns"
)

func TestColumnsAreAlignedByWidth(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	w := columns.New(&b)
	for _, row := range [][]string{{"NAME", "VALUE", "BY"}, {"三菱", "1", "a"}, {"Müller", "e\u0301", "b"}, {"ＡＢ", "👩‍💻", "c"}, {"한국", "", "d"}} {
		_, err := fmt.Fprintln(w, strings.Join(row, "\t"))
		require.NoError(t, err)
	}
	require.NoError(t, w.Flush())
	require.Equal(t, "NAME    VALUE  BY\n三菱    1      a\nMüller  e\u0301      b\nＡＢ    👩‍💻     c\n한국           d\n", b.String())
}
