package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/testing/storetest"
)

// The program has the declaration of each table: what is derived from them leaves none out.
func TestProgramHasEveryDeclaration(t *testing.T) {
	t.Parallel()
	for _, name := range storetest.Texts(t, storetest.New(t), "select tablename::text from pg_tables where schemaname = 'public'") {
		require.NotNil(t, pg.TableOf(name), name)
	}
}
