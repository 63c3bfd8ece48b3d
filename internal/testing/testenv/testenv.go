// Package testenv gives tests a real Postgres: a database of its own to each that asks, migrated, empty, dropped at the
// end. The server is the one that COUNTERSIGN_TEST_DATABASE_URL names (a user who may create databases), or a private
// one without durability that lives as long as the test process. Only tests may import it.
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
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/local/localpg"
	"github.com/countersign-dev/countersign/internal/platform/store"
	"github.com/countersign-dev/countersign/models"
)

// ServerEnv names the environment variable with the URL of any database on the server to use.
const ServerEnv = "COUNTERSIGN_TEST_DATABASE_URL"

// Store opens a fresh, migrated, empty database.
func Store(t testing.TB) *store.Store {
	t.Helper()
	return opened(t, Database(t))
}

// TamperedStore is Store for a test that alters what was written: its events are not held against their schemas.
func TamperedStore(t testing.TB) *store.Store {
	t.Helper()
	return opened(t, dropAfter(t, New))
}

func opened(t testing.TB, url string) *store.Store {
	t.Helper()
	st, err := store.Open(context.WithoutCancel(t.Context()), url, store.Options{})
	require.NoError(t, err)
	t.Cleanup(st.Close)
	return st
}

// Database makes a fresh, migrated, empty database and returns its URL. When the test ends, every event in it must be what
// its type's schema says, and stand behind its cause.
func Database(t testing.TB) string {
	t.Helper()
	url := dropAfter(t, New)
	t.Cleanup(func() {
		_, err := CheckEvents(context.WithoutCancel(t.Context()), url)
		assert.NoError(t, err, "events that the test made the product write")
		assert.NoError(t, CheckOrder(context.WithoutCancel(t.Context()), url), "the order of events that the test made the product write")
	})
	return url
}

// EmptyDatabase makes a database without a schema and returns its URL.
func EmptyDatabase(t testing.TB) string {
	t.Helper()
	return dropAfter(t, func(ctx context.Context) (string, func(), error) { return create(ctx, "template0") })
}

// Server is the URL of the server's maintenance database.
func Server() (string, error) { return server() }

// New makes a fresh, migrated, empty database that lives until drop: for a TestMain, which has no test to clean up after.
func New(ctx context.Context) (url string, drop func(), err error) {
	name, err := template()
	if err != nil {
		return "", nil, fmt.Errorf("no database for tests (%s names a server): %w", ServerEnv, err)
	}
	return create(ctx, name)
}

func dropAfter(t testing.TB, make func(context.Context) (string, func(), error)) string {
	t.Helper()
	url, drop, err := make(t.Context())
	require.NoError(t, err)
	t.Cleanup(drop)
	return url
}

func create(ctx context.Context, template string) (string, func(), error) {
	server, err := server()
	if err != nil {
		return "", nil, err
	}
	name := "cs_test_" + strings.ToLower(rand.Text()[:16])
	if err := execute(ctx, server, "create database "+name+" template "+template); err != nil {
		return "", nil, err
	}
	drop := func() { _ = execute(context.Background(), server, "drop database if exists "+name+" with (force)") }
	return withDatabase(server, name), drop, nil
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

func withDatabase(server, name string) string {
	u, err := url.Parse(server)
	if err != nil {
		return server
	}
	u.Path = "/" + name
	return u.String()
}

var (
	server   = sync.OnceValues(startServer)
	template = sync.OnceValues(makeTemplate)
)

func startServer() (string, error) {
	if given := os.Getenv(ServerEnv); given != "" {
		return given, nil
	}
	sweep()
	dir := filepath.Join(os.TempDir(), prefix+strconv.Itoa(os.Getpid()))
	if err := os.MkdirAll(dir, 0o755); err != nil { // #nosec G301 -- the server's user passes through
		return "", err
	}
	s, err := localpg.Start(context.Background(), localpg.Options{Dir: filepath.Join(dir, "pg"), Ephemeral: true})
	if err != nil {
		return "", err
	}
	return s.URL("postgres"), nil
}

// prefix begins the name of a private server's folder; the process id follows.
const prefix = "countersign-testenv-"

// sweep removes what the private servers of ended test processes left behind.
func sweep() {
	dirs, _ := filepath.Glob(filepath.Join(os.TempDir(), prefix+"*"))
	for _, dir := range dirs {
		pid, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(dir), prefix))
		if err == nil && syscall.Kill(pid, 0) == syscall.ESRCH {
			_ = os.RemoveAll(dir)
		}
	}
}

// makeTemplate migrates one database, named by what the migrations say, that all others are copied from. Test processes
// share it: whoever comes first makes it.
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
	var there bool
	if err := conn.QueryRow(ctx, "select exists (select from pg_database where datname = $1)", name).Scan(&there); err != nil || there {
		return name, err
	}
	return name, migrateTemplate(ctx, conn, url, name)
}

// migrateTemplate gives the database its name only when it is whole.
func migrateTemplate(ctx context.Context, conn *pgx.Conn, server, name string) error {
	draft := name + "_draft"
	for _, statement := range []string{"drop database if exists " + draft + " with (force)", "create database " + draft} {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return err
		}
	}
	st, err := store.Open(ctx, withDatabase(server, draft), store.Options{MaxConns: 2})
	if err != nil {
		return err
	}
	_, _, err = st.Migrate(ctx)
	st.Close()
	if err != nil {
		return err
	}
	// A connection that has just been closed may still be in Postgres' list for a moment.
	if _, err := conn.Exec(ctx, "select pg_terminate_backend(pid) from pg_stat_activity where datname = $1", draft); err != nil {
		return err
	}
	_, err = conn.Exec(ctx, "alter database "+draft+" rename to "+name)
	return err
}

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
