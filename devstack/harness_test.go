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
	// asDevstackEnv makes the test binary run devstack in a separate process, so that tests can kill it.
	asDevstackEnv = "DEVSTACK_TEST_AS_DEVSTACK"
	// testDatabaseEnv is the URL of a Postgres to use instead of a temporary one.
	testDatabaseEnv = "DEVSTACK_TEST_DATABASE_URL"
	// patience is how long a test waits for an expected event; it is long because the machine may be loaded.
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

// shared is the Postgres that all tests of this process use. The first test that needs it starts it.
var shared struct {
	once sync.Once
	url  string
	err  error
	stop func()
}

// postgresURL returns the URL of a Postgres whose user may create databases. It skips the test if none is installed.
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

// startPostgres starts a temporary cluster in a temporary folder. If the tests run as root, it runs as another user,
// because Postgres refuses to run as root.
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

// postgresUser makes the user that Postgres runs as the owner of dir, and returns the credentials of that user. It
// returns nil, the current user, unless the tests run as root.
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

// freshNames returns two unused database names and drops the databases after the test.
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

// process is a devstack that runs in a separate process.
type process struct {
	endpoints
	cmd    *exec.Cmd
	stderr *bytes.Buffer
	exited chan struct{}
	err    error // valid once exited is closed
}

// launch starts a devstack on free ports with additional flags and does not wait until it is ready.
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

// start calls launch and returns once the ready file exists.
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

// wait returns the exit code and the standard error output.
func (p *process) wait(tb testing.TB) (int, string) {
	tb.Helper()
	select {
	case <-p.exited:
	case <-time.After(patience):
		require.Fail(tb, "devstack did not end")
	}
	return p.cmd.ProcessState.ExitCode(), p.stderr.String()
}

// String describes the process in messages of failed tests.
func (p *process) String() string {
	select {
	case <-p.exited:
		return fmt.Sprintf("%v: %s", p.err, p.stderr)
	default:
		return "still running"
	}
}
