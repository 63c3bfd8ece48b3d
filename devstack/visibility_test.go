package main

import (
	"context"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// visibilityIndexes returns the names of the indexes of the visibility store.
func visibilityIndexes(t *testing.T, database string) []string {
	t.Helper()
	conn := connect(t, database)
	rows, err := conn.Query(context.Background(), `SELECT indexname FROM pg_indexes WHERE tablename = 'executions_visibility' ORDER BY 1`)
	require.NoError(t, err)
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return names
}

// spares are the indexes that are there although they are spare, because an attribute needs them.
func spares(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !spareIndex.MatchString(name) })
}

func TestDevstack_IndexesOnlyMappedAttributes(t *testing.T) {
	t.Parallel()
	mainDB, visibilityDB := freshNames(t)
	p := start(t, mainDB, visibilityDB, kindAttribute...)
	first := visibilityIndexes(t, visibilityDB)
	require.Contains(t, first, "by_workflow_id")
	require.Contains(t, first, "by_temporal_worker_deployment_version")
	require.Len(t, spares(first), 1, "of the only search attribute")
	require.Less(t, len(first), 30)
	f := dial(t, p)
	_, err := f.workflow.StartWorkflowExecution(t.Context(), startRequest("indexed"))
	require.NoError(t, err)
	found(t, f, "indexed")
	require.NoError(t, p.cmd.Process.Kill())
	<-p.exited

	f = dial(t, start(t, mainDB, visibilityDB, append(kindAttribute, "--search-attribute", "Reference=Int")...))
	second := visibilityIndexes(t, visibilityDB)
	require.Subset(t, second, first)
	require.Len(t, spares(second), 2)
	require.Len(t, second, len(first)+1)
	found(t, f, "indexed")
}

func TestIndexOf(t *testing.T) {
	t.Parallel()
	for column, want := range map[string]string{
		"Keyword01": "by_keyword_01", "KeywordList03": "by_keyword_list_03", "Bool02": "by_bool_02", "Text10": "by_text_10",
	} {
		require.Equal(t, want, indexOf(column))
		require.True(t, spareIndex.MatchString(want))
	}
}
