package pg_test

import (
	"io/fs"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/testing/storetest"
	"github.com/countersign-dev/countersign/internal/testing/testenv"
	"github.com/countersign-dev/countersign/models"
)

func TestCheckSchemaAcceptsASchemaWithAdditions(t *testing.T) {
	t.Parallel()
	st := storetest.New(t)
	_, err := st.Pool().Exec(t.Context(), "insert into goose_db_version (version_id, is_applied) values (99999, true)") // as a newer binary does
	require.NoError(t, err)
	require.NoError(t, st.CheckSchema(t.Context()))
	before, after, err := st.Migrate(t.Context())
	require.NoError(t, err, "the hook of a rollback must not block a build that can serve")
	require.Equal(t, [2]int64{99999, 99999}, [2]int64{before, after})
}

func TestDatabasesOfBuildsBeforeTheBaselineAreRefused(t *testing.T) {
	t.Parallel()
	st := storetest.New(t)
	_, err := st.Pool().Exec(t.Context(), "update goose_db_version set version_id = 72 where version_id > 0")
	require.NoError(t, err)
	require.ErrorIs(t, st.CheckSchema(t.Context()), pg.ErrEarlierBuild)
	_, _, err = st.Migrate(t.Context())
	require.ErrorIs(t, err, pg.ErrEarlierBuild)
}

func TestDatabasesThatOthersMadeAreRefused(t *testing.T) {
	t.Parallel()
	st, err := pg.Open(t.Context(), testenv.EmptyDatabase(t), pg.Options{Keys: testenv.Keys(), MaxConns: 2})
	require.NoError(t, err)
	t.Cleanup(st.Close)
	_, err = st.Pool().Exec(t.Context(), "create table unrelated (id int); create table tenants (id int)")
	require.NoError(t, err)
	require.ErrorIs(t, st.CheckSchema(t.Context()), pg.ErrNoVersion{Table: "tenants"})
	_, _, err = st.Migrate(t.Context())
	require.ErrorIs(t, err, pg.ErrNoVersion{Table: "tenants"})
	_, err = st.Pool().Exec(t.Context(), "drop table tenants")
	require.NoError(t, err)
	_, _, err = st.Migrate(t.Context())
	require.NoError(t, err, "tables with names of their own are in no one's way")
}

func TestCheckSchemaChangesNothing(t *testing.T) {
	t.Parallel()
	st, err := pg.Open(t.Context(), testenv.EmptyDatabase(t), pg.Options{Keys: testenv.Keys(), MaxConns: 2})
	require.NoError(t, err)
	t.Cleanup(st.Close)
	require.ErrorContains(t, st.CheckSchema(t.Context()), "the database is at schema version 0")
	require.Empty(t, storetest.Texts(t, st, "select tablename::text from pg_tables where schemaname = 'public'"))
}

func TestMigrateShowsItsProgress(t *testing.T) {
	t.Parallel()
	st, err := pg.Open(t.Context(), testenv.EmptyDatabase(t), pg.Options{Keys: testenv.Keys(), MaxConns: 2})
	require.NoError(t, err)
	t.Cleanup(st.Close)
	var shown [][2]int
	show := func(done, total int) { shown = append(shown, [2]int{done, total}) }
	_, after, err := st.MigrateShowing(t.Context(), show)
	require.NoError(t, err)
	files, err := fs.Glob(models.Migrations, "migrations/*.sql")
	require.NoError(t, err)
	require.Len(t, shown, len(files)+1)
	for i, at := range shown {
		require.Equal(t, [2]int{i, len(files)}, at)
	}
	shown = nil
	before, again, err := st.MigrateShowing(t.Context(), show)
	require.NoError(t, err)
	require.Equal(t, after, before)
	require.Equal(t, after, again)
	require.Equal(t, [][2]int{{0, 0}}, shown)
}

// A key or an index that is built under a lock stops every write to its table for as long as it takes. A key is attached to an index that
// was built concurrently.
func TestMigrationsBuildKeysOnline(t *testing.T) {
	t.Parallel()
	files, err := fs.Glob(models.Migrations, "migrations/*.sql")
	require.NoError(t, err)
	locks := regexp.MustCompile(`(?i)alter table [^;]*add (constraint \w+ )?(primary key|unique) *\(`)
	for _, name := range files {
		text, err := fs.ReadFile(models.Migrations, name)
		require.NoError(t, err)
		require.Empty(t, locks.FindAllString(string(text), -1), name)
	}
}
