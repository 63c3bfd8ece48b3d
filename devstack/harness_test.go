package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

const (
	// asDevstackEnv makes the test binary be devstack itself, so that tests can kill it.
	asDevstackEnv = "DEVSTACK_TEST_AS_DEVSTACK"
	// testDatabaseEnv names a Postgres to test against instead of one of the tests' own.
	testDatabaseEnv = "DEVSTACK_TEST_DATABASE_URL"
	// patience is how long a test waits for what must happen; a loaded machine may take its time.
	patience = 60 * time.Second
)

func TestMain(m *testing.M) {
	if os.Getenv(asDevstackEnv) != "" {
		main()
		return
	}
	code := m.Run()
	if shared.stop != nil {
		shared.stop()
	}
	os.Exit(code)
}

// shared is the Postgres all tests of one run use, started by the first that asks.
var shared struct {
	once sync.Once
	url  string
	err  error
	stop func()
}

// postgresURL returns a Postgres whose user may create databases, and skips the test where there is none to be had.
func postgresURL(tb testing.TB) string {
	tb.Helper()
	shared.once.Do(func() {
		if shared.url = os.Getenv(testDatabaseEnv); shared.url == "" {
			shared.url, shared.stop, shared.err = startPostgres()
		}
	})
	if errors.Is(shared.err, errNoPostgres) {
		tb.Skip(shared.err)
	}
	require.NoError(tb, shared.err)
	return shared.url
}

var errNoPostgres = errors.New("initdb and postgres were found neither on PATH nor under /usr/lib/postgresql: " +
	"install postgresql, or set " + testDatabaseEnv)

// startPostgres makes a throw-away cluster in a temporary folder, as another user where the tests run as root, which
// Postgres refuses to be run by.
func startPostgres() (string, func(), error) {
	bin, err := postgresBinaries()
	if err != nil {
		return "", nil, err
	}
	dir, err := os.MkdirTemp("", "devstack-test-")
	if err != nil {
		return "", nil, err
	}
	remove := func() { _ = os.RemoveAll(dir) }
	as, err := postgresUser(dir)
	if err != nil {
		remove()
		return "", nil, err
	}
	data := filepath.Join(dir, "data")
	initdb := exec.Command(filepath.Join(bin, "initdb"), "-D", data, "-U", "tester", "-A", "trust", "--no-sync")
	initdb.Dir, initdb.SysProcAttr = dir, as
	if out, err := initdb.CombinedOutput(); err != nil {
		remove()
		return "", nil, fmt.Errorf("initdb: %w: %s", err, out)
	}
	var held reservations
	port, err := held.reserveAny()
	if err != nil {
		remove()
		return "", nil, err
	}
	held.release()
	server := exec.Command(filepath.Join(bin, "postgres"), "-D", data, "-p", strconv.Itoa(port), "-k", dir,
		"-c", "listen_addresses=127.0.0.1", "-c", "fsync=off", "-c", "max_connections=200")
	server.Dir, server.SysProcAttr = dir, as
	if err := server.Start(); err != nil {
		remove()
		return "", nil, err
	}
	stop := func() {
		_ = server.Process.Signal(syscall.SIGINT) // a fast shutdown
		_ = server.Wait()
		remove()
	}
	url := fmt.Sprintf("postgres://tester@127.0.0.1:%d/postgres?sslmode=disable", port)
	conn, err := connectServer(context.Background(), url, patience)
	if err != nil {
		stop()
		return "", nil, err
	}
	return url, stop, conn.Close(context.Background())
}

func postgresBinaries() (string, error) {
	if path, err := exec.LookPath("initdb"); err == nil {
		return filepath.Dir(path), nil
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(found) == 0 {
		return "", errNoPostgres
	}
	return filepath.Dir(found[len(found)-1]), nil
}

// postgresUser gives dir to the user Postgres is to run as, and returns how to become that user.
func postgresUser(dir string) (*syscall.SysProcAttr, error) {
	if os.Getuid() != 0 {
		return nil, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		if u, err = user.Lookup("nobody"); err != nil {
			return nil, err
		}
	}
	uid, uidErr := strconv.Atoi(u.Uid)
	gid, gidErr := strconv.Atoi(u.Gid)
	if err := errors.Join(uidErr, gidErr, os.Chown(dir, uid, gid)); err != nil {
		return nil, err
	}
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}, nil
}

// freshNames returns two database names nobody has used and drops the databases after the test.
func freshNames(tb testing.TB) (mainDB, visibilityDB string) {
	tb.Helper()
	base := postgresURL(tb)
	suffix := strings.ToLower(rand.Text()[:12])
	mainDB, visibilityDB = "main_"+suffix, "visibility_"+suffix
	tb.Cleanup(func() {
		conn, err := pgx.Connect(context.Background(), base)
		require.NoError(tb, err)
		defer func() { _ = conn.Close(context.Background()) }()
		for _, name := range []string{mainDB, visibilityDB} {
			_, err = conn.Exec(context.Background(), "DROP DATABASE IF EXISTS "+pgx.Identifier{name}.Sanitize()+" WITH (FORCE)")
			require.NoError(tb, err)
		}
	})
	return mainDB, visibilityDB
}

// process is a devstack running as a process of its own.
type process struct {
	endpoints
	cmd    *exec.Cmd
	stderr *bytes.Buffer
	exited chan struct{}
	err    error // valid once exited is closed
}

// launch starts a devstack on free ports with more flags, without waiting for it.
func launch(tb testing.TB, mainDB, visibilityDB string, flags ...string) *process {
	tb.Helper()
	args := append([]string{
		"--database-url", postgresURL(tb), "--database", mainDB, "--visibility-database", visibilityDB,
		"--frontend-port", "0", "--ui-port", "0", "--parent-pid", strconv.Itoa(os.Getpid()),
	}, flags...)
	p := &process{cmd: exec.Command(os.Args[0], args...), stderr: &bytes.Buffer{}, exited: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), asDevstackEnv+"=1")
	p.cmd.Stderr = p.stderr
	require.NoError(tb, p.cmd.Start())
	go func() {
		p.err = p.cmd.Wait()
		close(p.exited)
	}()
	tb.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.exited
	})
	return p
}

// start is launch that returns once the ready file is there.
func start(tb testing.TB, mainDB, visibilityDB string, flags ...string) *process {
	tb.Helper()
	ready := filepath.Join(tb.TempDir(), "ready.json")
	p := launch(tb, mainDB, visibilityDB, append(flags, "--ready-file", ready)...)
	require.Eventually(tb, func() bool {
		select {
		case <-p.exited:
			return true
		default:
		}
		text, err := os.ReadFile(ready)
		return err == nil && json.Unmarshal(text, &p.endpoints) == nil
	}, patience, 20*time.Millisecond)
	require.NotEmpty(tb, p.Frontend, "devstack ended: %v", p)
	return p
}

// wait returns the exit code and what was printed.
func (p *process) wait(tb testing.TB) (int, string) {
	tb.Helper()
	select {
	case <-p.exited:
	case <-time.After(patience):
		require.Fail(tb, "devstack did not end")
	}
	return p.cmd.ProcessState.ExitCode(), p.stderr.String()
}

// String is for messages of failed tests.
func (p *process) String() string {
	select {
	case <-p.exited:
		return fmt.Sprintf("%v: %s", p.err, p.stderr)
	default:
		return "still running"
	}
}
