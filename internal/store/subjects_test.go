package store_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/store"
	"github.com/countersign-dev/countersign/internal/storetest"
)

// A table added with rows of subjects must be added to the erasure and the export: this fails until it is.
func TestEveryTableOfSubjectsIsErasedAndExported(t *testing.T) {
	t.Parallel()
	st := storetest.New(t)
	rows, err := st.Pool().Query(context.Background(), `select table_name::text from information_schema.columns
		where table_schema = 'public' and column_name = 'subject_uid' and table_name not in ('events', 'erasures')`)
	require.NoError(t, err)
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.ElementsMatch(t, tables, store.SubjectTables)
	for _, table := range append(tables, "events") {
		require.Contains(t, store.ExportSectionNames(), table)
	}
}
