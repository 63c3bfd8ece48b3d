package store_test

import (
	"io/fs"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/store"
	"github.com/countersign-dev/countersign/internal/testing/storetest"
	"github.com/countersign-dev/countersign/internal/testing/testenv"
	"github.com/countersign-dev/countersign/models"
)

// later sets the schema version and floor that a newer binary would have set.
func later(t *testing.T, st *store.Store, floor int) {
	t.Helper()
	_, err := st.Pool().Exec(t.Context(), "insert into goose_db_version (version_id, is_applied) values (99999, true)")
	require.NoError(t, err)
	_, err = st.Pool().Exec(t.Context(), "update schema_floor set version = $1", floor)
	require.NoError(t, err)
}

func TestCheckSchemaAcceptsASchemaWithAdditions(t *testing.T) {
	t.Parallel()
	st := storetest.New(t)
	later(t, st, 0)
	require.NoError(t, st.CheckSchema(t.Context()))
	_, _, err := st.Migrate(t.Context())
	require.ErrorAs(t, err, &store.ErrNewerSchema{}, "an old binary must not migrate")
}

func TestCheckSchemaRefusesASchemaWithoutAnObjectItNeeds(t *testing.T) {
	t.Parallel()
	st := storetest.New(t)
	later(t, st, 99998)
	require.ErrorAs(t, st.CheckSchema(t.Context()), &store.ErrNewerSchema{})
}

// lastUnreleased is the last migration that no released binary has run before.
const lastUnreleased = 27

var contracting = regexp.MustCompile(`(?i)drop\s+(table|column)|rename|alter\s+column\s+\w+\s+(set\s+data\s+)?type|set\s+not\s+null`)

// A migration that removes an object sets the schema version from which binaries work without it.
func TestMigrationsExpandOrRaiseTheFloor(t *testing.T) {
	t.Parallel()
	files, err := fs.Glob(models.Migrations, "migrations/*.sql")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		text, err := fs.ReadFile(models.Migrations, file)
		require.NoError(t, err)
		up, _, _ := strings.Cut(string(text), "-- +goose Down")
		if number(t, file) <= lastUnreleased || !contracting.MatchString(up) {
			continue
		}
		require.Contains(t, up, "update schema_floor set version", "%s removes an object: %s", file, contracting.FindString(up))
	}
}

func number(t *testing.T, file string) (n int) {
	t.Helper()
	for _, c := range strings.TrimPrefix(file, "migrations/")[:5] {
		n = n*10 + int(c-'0')
	}
	require.Positive(t, n)
	return n
}

func TestMigrateShowsItsProgress(t *testing.T) {
	t.Parallel()
	st, err := store.Open(t.Context(), testenv.EmptyDatabase(t), store.Options{MaxConns: 2})
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
