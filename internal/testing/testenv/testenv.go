// Package testenv creates Postgres databases for tests: one for each caller, migrated and empty, dropped when the test ends.
// The server is the one in COUNTERSIGN_TEST_DATABASE_URL, whose user must be allowed to create databases, or a private server
// without durability that ends with the test process. Only tests may import it.
//
// A database is a copy of a template that is migrated once for each set of migrations: copying is much faster than
// migrating. make test starts one server for all packages, and their processes share its template.
//
// When a test ends, its events are checked: each must conform to the schema of its type and be written after its cause. So
// every test that makes the product write events also tests them. A test that alters events uses TamperedStore.
package testenv

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/local/localpg"
	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/testing/citus"
	"github.com/countersign-dev/countersign/internal/testing/testenv/statements"
	"github.com/countersign-dev/countersign/models"
)

// sent are the statements of the stores of this test process.
var sent = statements.New()

// Statements returns the recorder of the stores of this test process, for a test that opens its store by itself.
func Statements() *statements.Recorder { return sent }

// ServerEnv is the environment variable with the URL of any database on the server to use.
const ServerEnv = "COUNTERSIGN_TEST_DATABASE_URL"

// Store opens a new, migrated, empty database.
func Store(t testing.TB) *pg.Store {
	t.Helper()
	return open(t, Database(t))
}

// Keys returns the master key of the stores of tests, which attests the rows that decide.
func Keys() *keyring.Keyring { return keys() }

var keys = sync.OnceValue(func() *keyring.Keyring {
	k, err := keyring.Parse(strings.Repeat("5a", keyring.KeySize-1) + "a5")
	if err != nil {
		panic(err)
	}
	return k
})

// Attest makes the rows that decide valid as they are stored, after a test changed some by SQL: those of the scope, or all.
func Attest(t testing.TB, st *pg.Store, scope ...pg.Scope) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	require.NoError(t, Repeat(func() error {
		_, err := st.Pool().Exec(ctx, "insert into environment_passkeys (environment_id, tenant_id) select id, tenant_id from environments on conflict do nothing")
		return err
	}))
	renewal := pg.Renewal{Unverified: true}
	if len(scope) > 0 {
		renewal.Scope = &scope[0]
	}
	require.NoError(t, Repeat(func() error {
		return st.Write(ctx, func(q *pg.Q) error { return pg.RenewMACs(ctx, q, renewal) })
	}))
}

// Repeat runs a statement or a transaction again while it conflicts with others: the tests of a store change its rows in an order of their own.
func Repeat(do func() error) (err error) {
	for range 10 {
		if err = do(); !pg.Conflicted(err) {
			break
		}
	}
	return err
}

// Exec runs a statement by which a test prepares rows, also when the context of the test has ended, and makes those that decide valid.
func Exec(t testing.TB, st *pg.Store, query string, args ...any) {
	t.Helper()
	_, err := st.Pool().Exec(context.WithoutCancel(t.Context()), query, args...)
	require.NoError(t, err)
	if decides.MatchString(query) {
		Attest(t, st)
	}
}

// decides finds statements that change rows with a MAC.
var decides = func() *regexp.Regexp {
	var names []string
	for _, t := range pg.AttestedTables() {
		names = append(names, t.Name)
	}
	return regexp.MustCompile(`(?:update|insert into|delete from) (?:` + strings.Join(names, "|") + `)\b`)
}()

// TamperedStore is like Store for a test that alters events: they are not checked against their schemas.
func TamperedStore(t testing.TB) *pg.Store {
	t.Helper()
	return open(t, dropAfter(t, New))
}

// open opens a store that is closed when the test ends, before its database is dropped.
func open(t testing.TB, url string) *pg.Store {
	t.Helper()
	pooled, direct := Pooled(url)
	st, err := pg.Open(context.WithoutCancel(t.Context()), pooled, pg.Options{DirectURL: direct, Tracer: sent, Keys: Keys()})
	require.NoError(t, err)
	t.Cleanup(func() {
		st.Close()
		assert.NoError(t, sent.Check(context.WithoutCancel(t.Context()), url), "statements that the product sent")
	})
	return st
}

// Database creates a migrated, empty database and returns its URL. When the test ends, every event in the database must
// conform to the schema of its type and be written after its cause (CheckEvents, CheckOrder).
func Database(t testing.TB) string {
	t.Helper()
	url := dropAfter(t, New)
	t.Cleanup(func() {
		_, err := CheckEvents(context.WithoutCancel(t.Context()), url)
		assert.NoError(t, err, "events that the product wrote")
		assert.NoError(t, CheckOrder(context.WithoutCancel(t.Context()), url), "order of the events that the product wrote")
	})
	return url
}

// EmptyDatabase creates a database without a schema and returns its URL.
func EmptyDatabase(t testing.TB) string {
	t.Helper()
	return dropAfter(t, func(ctx context.Context) (string, func(), error) { return create(ctx, "template0") })
}

// Server returns the URL of the maintenance database of the server, which it starts if none is given.
func Server() (string, error) { return server() }

// New creates a migrated, empty database that the caller must drop: for a TestMain, which has no cleanup of its own.
func New(ctx context.Context) (url string, drop func(), err error) {
	name, err := template()
	if err != nil {
		return "", nil, fmt.Errorf("no database for tests; set %s to use an existing server: %w", ServerEnv, err)
	}
	return create(ctx, name)
}

// dropAfter creates a database that is dropped when the test ends.
func dropAfter(t testing.TB, create func(context.Context) (string, func(), error)) string {
	t.Helper()
	url, drop, err := create(t.Context())
	require.NoError(t, err)
	t.Cleanup(drop)
	return url
}

// create copies a template and returns the URL of the copy and a function that drops it.
func create(ctx context.Context, template string) (string, func(), error) {
	server, err := server()
	if err != nil {
		return "", nil, err
	}
	name := "cs_test_" + strings.ToLower(rand.Text()[:16])
	drop := func() { _ = everywhere(context.Background(), server, "drop database if exists "+name+" with (force)") }
	if err := everywhere(ctx, server, "create database "+name+" template "+template); err != nil {
		drop()
		return "", nil, err
	}
	return withDatabase(server, name), drop, nil
}

// everywhere runs a statement on the server and, if it is a coordinator of Citus, on its workers.
func everywhere(ctx context.Context, server, statement string) error {
	for _, s := range append([]string{server}, citus.Workers()...) {
		if err := execute(ctx, s, statement); err != nil {
			return err
		}
	}
	return nil
}

// execute runs one statement on a connection of its own.
func execute(ctx context.Context, server, statement string) error {
	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	_, err = conn.Exec(ctx, statement)
	return err
}

// withDatabase returns the URL of another database on the server.
func withDatabase(server, name string) string {
	u, err := url.Parse(server)
	if err != nil {
		return server
	}
	u.Path = "/" + name
	return u.String()
}

// The server and the template are made once for a test process, by the first test that needs them.
var (
	server   = sync.OnceValues(startServer)
	template = sync.OnceValues(makeTemplate)
)

// startServer returns the URL in ServerEnv, or starts a private server. Nothing stops it: it ends with the test process.
func startServer() (string, error) {
	if given := os.Getenv(ServerEnv); given != "" {
		return given, nil
	}
	sweep()
	dir := filepath.Join(os.TempDir(), prefix+strconv.Itoa(os.Getpid()))
	if err := os.MkdirAll(dir, 0o755); err != nil { // #nosec G301 -- the server's user must be able to enter it
		return "", err
	}
	s, err := localpg.Start(context.Background(), localpg.Options{Dir: filepath.Join(dir, "pg"), Ephemeral: true})
	if err != nil {
		return "", err
	}
	return s.URL("postgres"), nil
}

// prefix is the beginning of the name of a private server's folder. The process id of the test follows.
const prefix = "countersign-testenv-"

// sweep removes the folders of private servers whose test process has ended.
func sweep() {
	dirs, _ := filepath.Glob(filepath.Join(os.TempDir(), prefix+"*"))
	for _, dir := range dirs {
		pid, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(dir), prefix))
		if err == nil && syscall.Kill(pid, 0) == syscall.ESRCH {
			_ = os.RemoveAll(dir)
		}
	}
}

// makeTemplate returns the name of a migrated database that all others are copied from, which is much faster than migrating
// each. Test processes share it, under an advisory lock: the first one creates it.
func makeTemplate() (string, error) {
	url, err := server()
	if err != nil {
		return "", err
	}
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close(ctx) }()
	name, err := templateName()
	if err != nil {
		return "", err
	}
	const lock = 0x74656d70 // "temp"
	if _, err := conn.Exec(ctx, "select pg_advisory_lock($1)", lock); err != nil {
		return "", err
	}
	var exists bool
	if err := conn.QueryRow(ctx, "select exists (select from pg_database where datname = $1)", name).Scan(&exists); err != nil || exists {
		return name, err
	}
	return name, migrateTemplate(ctx, url, name)
}

// migrateTemplate migrates a draft and renames it when it is complete, so that no test copies a part of it.
func migrateTemplate(ctx context.Context, server, name string) error {
	draft := name + "_draft"
	for _, statement := range []string{"drop database if exists " + draft + " with (force)", "create database " + draft} {
		if err := everywhere(ctx, server, statement); err != nil {
			return err
		}
	}
	if err := migrateDraft(ctx, server, draft); err != nil {
		return err
	}
	// Postgres may list a connection for a moment after it was closed, and refuses to rename a database with one.
	for _, statement := range []string{
		"alter database " + draft + " allow_connections false",
		"select pg_terminate_backend(pid) from pg_stat_activity where datname = '" + draft + "'",
		"alter database " + draft + " rename to " + name,
	} {
		if err := everywhere(ctx, server, statement); err != nil {
			return err
		}
	}
	return nil
}

// migrateDraft makes the tables of a database, and places them if the server is a coordinator of Citus.
func migrateDraft(ctx context.Context, server, draft string) error {
	databases := []string{withDatabase(server, draft)}
	for _, worker := range citus.Workers() {
		databases = append(databases, withDatabase(worker, draft))
	}
	if len(databases) > 1 {
		if err := citus.Join(ctx, databases); err != nil {
			return err
		}
	}
	st, err := pg.Open(ctx, databases[0], pg.Options{MaxConns: 2})
	if err != nil {
		return err
	}
	defer st.Close()
	if _, _, err = st.Migrate(ctx); err != nil || len(databases) == 1 {
		return err
	}
	if _, err = st.Distribute(ctx, func(int, int) {}); err != nil {
		return err
	}
	// A table of a package that this process lacks has no declaration, by which it would be placed.
	var unplaced []string
	err = st.Pool().QueryRow(ctx, `select coalesce(array_agg(c.relname::text), '{}') from pg_class c where c.relkind = 'r' and c.relnamespace = current_schema()::regnamespace
		and c.relname <> all($1)`, declared()).Scan(&unplaced)
	if err == nil && len(unplaced) > 0 {
		err = fmt.Errorf("these tests cannot place the tables %v on Citus: run those of integration first", unplaced)
	}
	return err
}

// declared returns the names of the tables that this process declares.
func declared() (names []string) {
	for _, t := range pg.Tables() {
		names = append(names, t.Name)
	}
	return names
}

// templateName is a hash of the migrations: a changed migration needs a new template.
func templateName() (string, error) {
	sum := sha256.New()
	err := fs.WalkDir(models.Migrations, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(models.Migrations, path)
		_, _ = fmt.Fprintf(sum, "%s %d\n%s", path, len(text), text)
		return err
	})
	return "cs_template_" + hex.EncodeToString(sum.Sum(nil)[:6]), err
}
