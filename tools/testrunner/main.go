// Command testrunner starts one temporary Postgres and one Temporal server (devstack), runs the tests of every module with
// gotestsum and the servers' addresses in the environment, and stops the servers. make test runs it. Its exit code is that of
// the first module whose tests failed.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/countersign-dev/countersign/internal/local/localpg"
	"github.com/countersign-dev/countersign/internal/local/subprocess"
	"github.com/countersign-dev/countersign/internal/testing/citus"
	"github.com/countersign-dev/countersign/internal/testing/testenv/pooler"
)

// The environment variables by which tests find the servers (internal/testing/testenv, internal/testing/testenv/temporaltest, devstack).
const (
	databaseEnv         = "COUNTERSIGN_TEST_DATABASE_URL"
	temporalEnv         = "COUNTERSIGN_TEST_TEMPORAL_ADDRESS"
	temporalUIEnv       = "COUNTERSIGN_TEST_TEMPORAL_UI"
	devstackDatabaseEnv = "DEVSTACK_TEST_DATABASE_URL"
	poolerEnv           = "COUNTERSIGN_TEST_POOLER_URL"
)

// The tests and the Temporal server collect garbage when the heap is five times its live size, unless GOGC is set: at Go's default of
// twice, a fifth of their CPU time went into it.
const (
	gcEnv     = "GOGC"
	gcPercent = "400"
)

// temporalWithin bounds the start of the Temporal server, schema included.
const temporalWithin = 2 * time.Minute

// options are the flags of the command.
type options struct {
	gotestsum, devstack string   // paths of the tools
	format              string   // of gotestsum
	modules             []string // folders, in the order of their tests
	first               []string // packages of the last module, in the order of their tests
	args                []string // for go test: its flags, then patterns of packages, each with a dot in front
	reruns              int      // how often a failed test runs again
	pooled              bool     // PgBouncer is started
	memory              uint64   // that the databases need, in GB
	prepared            int      // how many prepared statements PgBouncer follows
	citus               string   // folder of a Postgres with the extension citus
}

func main() {
	var o options
	flag.StringVar(&o.gotestsum, "gotestsum", "bin/gotestsum", "`path` of gotestsum")
	flag.StringVar(&o.devstack, "devstack", "bin/devstack", "`path` of devstack; empty: no Temporal server is started")
	flag.StringVar(&o.format, "format", "pkgname", "gotestsum's output `format`")
	modules := flag.String("modules", ".", "`folders` of the modules to test, separated by commas; the last one's summary closes the run")
	first := flag.String("first", "", "`packages` of the last module whose tests start before the others of ./..., separated by commas")
	flag.IntVar(&o.reruns, "reruns", 0, "how many `times` a failed test runs again, alone; one that then passes does not fail the run, and its failure stays in the output")
	flag.Uint64Var(&o.memory, "memory", 8, "how many `GB` of memory the databases of the tests need; they are on a disk if less is free")
	flag.BoolVar(&o.pooled, "pgbouncer", false, "run the stores of the tests behind PgBouncer in transaction mode")
	flag.IntVar(&o.prepared, "prepared", 0, "how many prepared `statements` PgBouncer follows; 0: none")
	flag.StringVar(&o.citus, "citus", "", "run the tests on a coordinator and workers of Citus, with the Postgres of the `folder` that has bin/ with the extension installed")
	flag.Parse()
	o.modules, o.args = strings.Split(*modules, ","), flag.Args()
	if *first != "" {
		o.first = strings.Split(*first, ",")
	}

	if os.Getenv(gcEnv) == "" {
		_ = os.Setenv(gcEnv, gcPercent) // its only errors are about the name
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code, err := run(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "make test:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// run returns the exit code of the first module whose tests failed.
func run(ctx context.Context, o options) (int, error) {
	parent, settings := databaseFolder(o.memory << 30)
	dir, err := os.MkdirTemp(parent, "countersign-test-")
	if err != nil {
		return 1, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := os.Chmod(dir, 0o755); err != nil { // #nosec G302 -- the user that Postgres runs as must enter it
		return 1, err
	}
	env, down, err := servers(ctx, o, dir, settings)
	defer down() // also after an error: one of the servers may have started
	if err != nil {
		return 1, err
	}
	code := 0
	for _, module := range o.modules {
		if ctx.Err() != nil {
			return 130, errors.New("interrupted")
		}
		if failed := test(ctx, o, module, env, filepath.Join(dir, "events.json")); code == 0 {
			code = failed
		}
	}
	return code, nil
}

// servers starts the servers that the environment does not name, Postgres with settings. It returns the environment variables of all of
// them and a function that stops those it started.
func servers(ctx context.Context, o options, dir string, settings []string) (env []string, down func(), err error) {
	var stops []func()
	down = func() {
		for i := len(stops) - 1; i >= 0; i-- {
			stops[i]()
		}
	}
	database := os.Getenv(databaseEnv)
	switch {
	case o.citus != "":
		if err := citus.Use(o.citus); err != nil {
			return nil, down, err
		}
		c, err := citus.Start(ctx, dir, settings, logf)
		if err != nil {
			return nil, down, err
		}
		stops = append(stops, c.Stop)
		database, env = c.URL("postgres"), []string{citus.WorkersEnv + "=" + strings.Join(c.Workers("postgres"), " ")}
	case database == "":
		pg, err := localpg.Start(ctx, localpg.Options{Dir: filepath.Join(dir, "postgres"), Ephemeral: true, Settings: settings, Say: logf})
		if err != nil {
			return nil, down, err
		}
		stops = append(stops, func() { _ = pg.Stop() })
		database = pg.URL("postgres")
	}
	env = append(env, databaseEnv+"="+database, devstackDatabaseEnv+"="+database)
	if o.pooled {
		p, err := pooler.Start(ctx, pooler.Options{Server: database, Dir: dir, Prepared: o.prepared})
		if err != nil {
			return nil, down, err
		}
		stops = append(stops, p.Stop)
		env = append(env, poolerEnv+"="+p.URL(""))
	}
	if o.devstack == "" || os.Getenv(temporalEnv) != "" {
		return env, down, nil
	}
	at, stop, err := startTemporal(ctx, o.devstack, database, dir)
	if err != nil {
		return nil, down, err
	}
	stops = append(stops, stop)
	return append(env, temporalEnv+"="+at.Frontend, temporalUIEnv+"="+at.UI), down, nil
}

// addresses are those of a Temporal server, as devstack writes them.
type addresses struct{ Frontend, UI string }

// startTemporal starts devstack on the database, waits until it is ready and returns its addresses and a function that stops it.
func startTemporal(ctx context.Context, binary, database, dir string) (at addresses, stop func(), err error) {
	ready := filepath.Join(dir, "temporal.json")
	p, err := subprocess.Start(subprocess.Spec{
		Path: binary, Output: os.Stderr, Orphaned: syscall.SIGTERM,
		Env: append(os.Environ(), "DEVSTACK_DATABASE_URL="+database),
		Args: []string{"--frontend-port", "0", "--ui-port", "0", "--ready-file", ready,
			"--parent-pid", strconv.Itoa(os.Getpid())},
	})
	if err != nil {
		return at, nil, err
	}
	stop = func() { _ = p.Stop(syscall.SIGTERM, 20*time.Second) }
	ctx, cancel := context.WithTimeout(ctx, temporalWithin)
	defer cancel()
	for tick := time.NewTicker(20 * time.Millisecond); ; {
		if text, err := os.ReadFile(ready); err == nil && json.Unmarshal(text, &at) == nil { // #nosec G304 -- our own file
			tick.Stop()
			return at, stop, nil
		}
		select {
		case <-tick.C:
		case <-p.Done():
			return at, nil, errors.New("the Temporal server for tests did not start; its output is above")
		case <-ctx.Done():
			stop()
			return at, nil, errors.New("the Temporal server for tests did not start in time")
		}
	}
}

// everything is the pattern of all packages of a module.
const everything = "./..."

// maxRerun is the most failures of a module whose tests run again: more are no accident.
const maxRerun = 5

// gotestsumArgs returns the arguments of gotestsum for a module's tests, whose events it writes to a file. go test starts packages in the order in
// which they are named.
func (o options) gotestsumArgs(module, events string) []string {
	split := len(o.args)
	for split > 0 && strings.HasPrefix(o.args[split-1], ".") {
		split--
	}
	flags, packages := o.args[:split], o.args[split:]
	if slices.Contains(packages, everything) && module == o.modules[len(o.modules)-1] {
		packages = slices.Concat(o.first, packages)
	}
	args := []string{"--format", o.format, "--jsonfile", events, "--packages", strings.Join(packages, " ")}
	if o.reruns > 0 {
		args = append(args, fmt.Sprintf("--rerun-fails=%d", o.reruns), fmt.Sprintf("--rerun-fails-max-failures=%d", maxRerun), "--rerun-fails-run-root-test")
	}
	return append(append(args, "--"), flags...)
}

// test runs one module's tests, whose events it writes to a file, and returns the exit code.
func test(ctx context.Context, o options, module string, env []string, events string) int {
	gotestsum, err := filepath.Abs(o.gotestsum)
	if err != nil {
		logf("%v", err)
		return 1
	}
	cmd := exec.CommandContext(ctx, gotestsum, o.gotestsumArgs(module, events)...) // #nosec G204 -- the tool that the Makefile names
	cmd.Dir = module
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	// An interrupt lets gotestsum print the summary of the tests that have run.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 30 * time.Second
	err = cmd.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		showUnfinished(events)
		return max(exit.ExitCode(), 1)
	default:
		logf("%v", err)
		return 1
	}
}

// showUnfinished prints the last lines of processes that ended before their tests.
func showUnfinished(events string) {
	f, err := os.Open(events) // #nosec G304 -- our own file
	if err != nil {
		return // gotestsum did not start
	}
	defer func() { _ = f.Close() }()
	text, err := unfinished(f)
	if err != nil {
		logf("%v", err)
	}
	fmt.Fprint(os.Stderr, text)
}

// logf prints a line to standard error: standard output is that of the tests.
func logf(format string, args ...any) { fmt.Fprintf(os.Stderr, "make test: "+format+"\n", args...) }
