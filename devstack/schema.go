package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/blang/semver/v4"
	"github.com/jackc/pgx/v5"
	"go.temporal.io/server/common/log"
	v12 "go.temporal.io/server/schema/postgresql/v12"
	"go.temporal.io/server/tools/common/schema"
)

// store is one of Temporal's two databases and the schema it needs.
type store struct {
	database string // name in Postgres
	schema   string // folder among the server module's embedded schema files
	version  string // schema version that this binary's server requires
}

func stores(o options) []store {
	return []store{
		{database: o.database, schema: "postgresql/v12/temporal", version: v12.Version},
		{database: o.visibilityDatabase, schema: "postgresql/v12/visibility", version: v12.VisibilityVersion},
	}
}

// migrate brings the schema of s up to this binary's version, from any older version, in one transaction: if the
// process is killed, the database is unchanged. A schema newer than this binary is an error and stays unchanged.
func migrate(ctx context.Context, conn *pgx.Conn, s store) error {
	tx, err := conn.Begin(ctx)
	if err != nil {
		return fmt.Errorf("database %q cannot be migrated: %w", s.database, reason(err))
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
	if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, int64(migrationLock)); err != nil {
		return fmt.Errorf("database %q cannot be locked: %w", s.database, reason(err))
	}
	db := &migration{ctx: ctx, tx: tx, database: s.database}
	if err := db.CreateSchemaVersionTables(); err != nil {
		return fmt.Errorf("database %q cannot be migrated: %w", s.database, reason(err))
	}
	current, err := db.ReadSchemaVersion()
	if err != nil {
		return fmt.Errorf("the schema version of database %q cannot be read: %w", s.database, reason(err))
	}
	switch order, err := compareVersions(current, s.version); {
	case err != nil:
		return fmt.Errorf("database %q: %w", s.database, err)
	case order > 0:
		return fmt.Errorf("database %q has schema version %s, newer than the %s this devstack knows: "+
			"run the newer devstack, or name other databases", s.database, current, s.version)
	case order == 0:
		return nil
	}
	update := schema.NewUpdateSchemaTask(db, &schema.UpdateConfig{SchemaName: s.schema}, log.NewNoopLogger())
	if err := update.Run(); err != nil {
		return fmt.Errorf("database %q cannot be migrated from schema version %s to %s: %w",
			s.database, current, s.version, reason(err))
	}
	if err := tx.Commit(ctx); err != nil {
		return fmt.Errorf("database %q cannot be migrated: %w", s.database, reason(err))
	}
	return nil
}

// compareVersions returns a negative number if a is older than b, zero if they are equal, and a positive one if a is newer.
func compareVersions(a, b string) (int, error) {
	va, err := semver.ParseTolerant(a)
	if err != nil {
		return 0, fmt.Errorf("schema version %q is no version", a)
	}
	vb, err := semver.ParseTolerant(b)
	if err != nil {
		return 0, fmt.Errorf("schema version %q is no version", b)
	}
	return va.Compare(vb), nil
}

// migration implements the database interface of Temporal's own schema tool on one transaction. Its tables have the
// columns that the tool creates, so the tool can continue with a database created here.
type migration struct {
	ctx      context.Context
	tx       pgx.Tx
	database string
}

var _ schema.DB = (*migration)(nil)

// Exec runs one statement of a schema file. Indexes are built without CONCURRENTLY, which Postgres forbids inside a
// transaction. No other process reads the database during the migration, so the table locks block no one. An index that a later schema
// drops may have been dropped by trimVisibility.
func (m *migration) Exec(statement string, args ...any) error {
	statement = strings.Replace(statement, "CREATE INDEX CONCURRENTLY", "CREATE INDEX", 1)
	statement = strings.Replace(statement, "DROP INDEX by_", "DROP INDEX IF EXISTS by_", 1)
	_, err := m.tx.Exec(m.ctx, statement, args...)
	return err
}

// CreateSchemaVersionTables creates the version table and its history if they are missing.
func (m *migration) CreateSchemaVersionTables() error {
	const statement = `
CREATE TABLE IF NOT EXISTS schema_version (
	version_partition      INT NOT NULL,
	db_name                VARCHAR(255) NOT NULL,
	creation_time          TIMESTAMP,
	curr_version           VARCHAR(64),
	min_compatible_version VARCHAR(64),
	PRIMARY KEY (version_partition, db_name));
CREATE TABLE IF NOT EXISTS schema_update_history (
	version_partition INT NOT NULL,
	year              INT NOT NULL,
	month             INT NOT NULL,
	update_time       TIMESTAMP NOT NULL,
	description       VARCHAR(255),
	manifest_md5      VARCHAR(64),
	new_version       VARCHAR(64),
	old_version       VARCHAR(64),
	PRIMARY KEY (version_partition, year, month, update_time));`
	return m.Exec(statement)
}

// ReadSchemaVersion returns "0.0" for a database that has no schema yet.
func (m *migration) ReadSchemaVersion() (string, error) {
	var version string
	err := m.tx.QueryRow(m.ctx,
		`SELECT curr_version FROM schema_version WHERE version_partition = 0 AND db_name = $1`, m.database).Scan(&version)
	if errors.Is(err, pgx.ErrNoRows) {
		return "0.0", nil
	}
	return version, err
}

// UpdateSchemaVersion records the version the schema has reached.
func (m *migration) UpdateSchemaVersion(version, minCompatible string) error {
	return m.Exec(`
INSERT INTO schema_version (version_partition, db_name, creation_time, curr_version, min_compatible_version)
VALUES (0, $1, $2, $3, $4)
ON CONFLICT (version_partition, db_name) DO UPDATE SET creation_time = excluded.creation_time,
	curr_version = excluded.curr_version, min_compatible_version = excluded.min_compatible_version`,
		m.database, time.Now().UTC(), version, minCompatible)
}

// WriteSchemaUpdateLog records one step of a migration.
func (m *migration) WriteSchemaUpdateLog(oldVersion, newVersion, manifestMD5, description string) error {
	now := time.Now().UTC()
	return m.Exec(`
INSERT INTO schema_update_history
	(version_partition, year, month, update_time, old_version, new_version, manifest_md5, description)
VALUES (0, $1, $2, $3, $4, $5, $6, $7)`,
		now.Year(), int(now.Month()), now, oldVersion, newVersion, manifestMD5, description)
}

// DropAllTables is part of the tool's interface; devstack never drops anything.
func (m *migration) DropAllTables() error {
	return errors.New("devstack never drops tables")
}

// Close does nothing: migrate owns the transaction.
func (m *migration) Close() {}

// Type names the kind of database to Temporal's schema tool.
func (m *migration) Type() string { return "sql" }
