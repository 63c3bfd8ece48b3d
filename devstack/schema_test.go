package main

import (
	"context"
	"io/fs"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"go.temporal.io/server/common/log"
	dbschemas "go.temporal.io/server/schema"
	"go.temporal.io/server/tools/common/schema"
)

// openStores returns the two stores of a fresh pair of databases, each with a connection.
func openStores(t *testing.T) ([]store, []*pgx.Conn) {
	t.Helper()
	mainDB, visibilityDB := freshNames(t)
	all := stores(options{database: mainDB, visibilityDatabase: visibilityDB})
	admin := connect(t, "postgres")
	conns := make([]*pgx.Conn, 0, len(all))
	for _, s := range all {
		require.NoError(t, createDatabase(t.Context(), admin, s.database))
		conns = append(conns, connect(t, s.database))
	}
	return all, conns
}

func connect(t *testing.T, database string) *pgx.Conn {
	t.Helper()
	conn, err := connectDatabase(t.Context(), postgresURL(t), database)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// shape lists every column and index of a database, for comparison. It omits column defaults: the server's versioned
// files set some that its schema.sql does not, and the server writes every column itself.
func shape(t *testing.T, conn *pgx.Conn) []string {
	t.Helper()
	rows, err := conn.Query(t.Context(), `
SELECT table_name || '.' || column_name || ' ' || data_type || ' ' || is_nullable || ' '
	|| coalesce(generation_expression, '')
FROM information_schema.columns WHERE table_schema = 'public' AND table_name NOT LIKE 'schema\_%'
UNION ALL
SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' AND tablename NOT LIKE 'schema\_%'
ORDER BY 1`)
	require.NoError(t, err)
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return lines
}

func steps(t *testing.T, conn *pgx.Conn) (n int) {
	t.Helper()
	require.NoError(t, conn.QueryRow(t.Context(), `SELECT count(*) FROM schema_update_history`).Scan(&n))
	return n
}

func recordedVersion(t *testing.T, conn *pgx.Conn, database string) (version string) {
	t.Helper()
	require.NoError(t, conn.QueryRow(t.Context(),
		`SELECT curr_version FROM schema_version WHERE version_partition = 0 AND db_name = $1`, database).Scan(&version))
	return version
}

func TestMigrate_CreatesServerSchema(t *testing.T) {
	t.Parallel()
	all, conns := openStores(t)
	_, reference := openStores(t)
	for i, s := range all {
		require.NoError(t, migrate(t.Context(), conns[i], s))
		require.Equal(t, s.version, recordedVersion(t, conns[i], s.database))

		text, err := fs.ReadFile(dbschemas.Assets(), s.schema+"/schema.sql")
		require.NoError(t, err)
		_, err = reference[i].Exec(t.Context(), string(text))
		require.NoError(t, err)
		want, have := shape(t, reference[i]), shape(t, conns[i])
		require.NotEmpty(t, want)
		missing := slices.DeleteFunc(want, func(line string) bool { return slices.Contains(have, line) })
		require.Empty(t, missing)
	}
}

func TestMigrate_IsIdempotent(t *testing.T) {
	t.Parallel()
	all, conns := openStores(t)
	for i, s := range all {
		require.NoError(t, migrate(t.Context(), conns[i], s))
		before := steps(t, conns[i])
		require.NoError(t, migrate(t.Context(), conns[i], s))
		require.Equal(t, before, steps(t, conns[i]))
	}
}

func TestMigrate_UpgradesOlderDatabase(t *testing.T) {
	t.Parallel()
	all, conns := openStores(t)
	_, fresh := openStores(t)
	for i, s := range all {
		migrateTo(t, conns[i], s, "1.9")
		require.Equal(t, "1.9", recordedVersion(t, conns[i], s.database))
		require.NoError(t, migrate(t.Context(), conns[i], s))
		require.Equal(t, s.version, recordedVersion(t, conns[i], s.database))
		require.NoError(t, migrate(t.Context(), fresh[i], s))
		require.Equal(t, shape(t, fresh[i]), shape(t, conns[i]))
	}
}

// migrateTo migrates the database to an earlier version, as an older devstack would have.
func migrateTo(t *testing.T, conn *pgx.Conn, s store, version string) {
	t.Helper()
	tx, err := conn.Begin(t.Context())
	require.NoError(t, err)
	db := &migration{ctx: t.Context(), tx: tx, database: s.database}
	require.NoError(t, db.CreateSchemaVersionTables())
	update := schema.NewUpdateSchemaTask(db,
		&schema.UpdateConfig{SchemaName: s.schema, TargetVersion: version}, log.NewNoopLogger())
	require.NoError(t, update.Run())
	require.NoError(t, tx.Commit(t.Context()))
}

func TestMigrate_RefusesNewerDatabase(t *testing.T) {
	t.Parallel()
	all, conns := openStores(t)
	s, conn := all[0], conns[0]
	require.NoError(t, migrate(t.Context(), conn, s))
	_, err := conn.Exec(t.Context(), `UPDATE schema_version SET curr_version = '1.100'`)
	require.NoError(t, err)
	before := shape(t, conn)
	require.ErrorContains(t, migrate(t.Context(), conn, s), "newer than the "+s.version)
	require.Equal(t, "1.100", recordedVersion(t, conn, s.database))
	require.Equal(t, before, shape(t, conn))
}

func TestMigrate_RollsBackOnFailure(t *testing.T) {
	t.Parallel()
	all, conns := openStores(t)
	s, conn := all[0], conns[0]
	_, err := conn.Exec(t.Context(), `CREATE VIEW tasks AS SELECT 1 AS foreign_column`)
	require.NoError(t, err)
	before := shape(t, conn)
	require.ErrorContains(t, migrate(t.Context(), conn, s), "cannot be migrated")
	require.Equal(t, before, shape(t, conn))
	var versioned bool
	require.NoError(t, conn.QueryRow(t.Context(), `SELECT to_regclass('schema_version') IS NOT NULL`).Scan(&versioned))
	require.False(t, versioned)
}

func TestCompareVersions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		sign int
	}{{"1.9", "1.19", -1}, {"1.19", "1.19", 0}, {"1.100", "1.19", 1}, {"0.0", "1.0", -1}, {"2.0", "1.19", 1}} {
		got, err := compareVersions(c.a, c.b)
		require.NoError(t, err)
		require.Equal(t, c.sign, got, "%s against %s", c.a, c.b)
	}
	_, err := compareVersions("banana", "1.19")
	require.ErrorContains(t, err, `"banana"`)
}
