// Package temporaltest creates Temporal namespaces for tests: one for each caller, with the product's search attributes. The
// server is the one in COUNTERSIGN_TEST_TEMPORAL_ADDRESS, or a devstack that ends with the test process. Only tests may
// import it.
//
// A namespace isolates the workflows of a test from those of others and is not removed: the server is temporary. Registering
// one is slow, because every service of the server has to learn of it: the tests of a package share one if they can (New in
// TestMain).
package temporaltest

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/countersign-dev/countersign/internal/local/subprocess"
	"github.com/countersign-dev/countersign/internal/testing/testenv"
)

// AddressEnv is the environment variable with the host:port of the server to use.
const AddressEnv = "COUNTERSIGN_TEST_TEMPORAL_ADDRESS"

// UIEnv is the environment variable with the URL of that server's UI; empty if it has none.
const UIEnv = "COUNTERSIGN_TEST_TEMPORAL_UI"

// SearchAttributes are the search attributes of the product, all of type Keyword.
var SearchAttributes = []string{
	"CountersignKind", "CountersignEnvironment", "CountersignDecision", "CountersignAction", "CountersignState",
}

const (
	startWithin    = 2 * time.Minute       // bounds the start of devstack, with its databases
	registerWithin = time.Minute           // bounds New, on a loaded machine
	pollEvery      = 20 * time.Millisecond // time between two attempts of until
)

// Address returns the host:port of the server, which it starts if none is given.
func Address(t testing.TB) string {
	t.Helper()
	address, err := server()
	require.NoError(t, err)
	return address
}

// server returns the address of the one server that all tests of a process share.
var server = sync.OnceValues(start)

// Namespace registers a new namespace and returns the server's address and the namespace's name, once it can be used.
func Namespace(t testing.TB) (address, namespace string) {
	t.Helper()
	address, namespace, err := New(context.WithoutCancel(t.Context()))
	require.NoError(t, err)
	return address, namespace
}

// New is like Namespace for a TestMain, which has no testing.TB.
func New(ctx context.Context) (address, namespace string, err error) {
	if address, err = server(); err != nil {
		return "", "", err
	}
	namespace = "test-" + strings.ToLower(rand.Text()[:16])
	c, err := client.Dial(client.Options{HostPort: address, Namespace: namespace, Logger: silent{}})
	if err != nil {
		return "", "", fmt.Errorf("the Temporal server at %s does not respond: %w", address, err)
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(ctx, registerWithin)
	defer cancel()
	return address, namespace, register(ctx, c, namespace)
}

// register creates a namespace with the search attributes and waits until it can be queried by them. The retention is the
// shortest that Temporal accepts.
func register(ctx context.Context, c client.Client, namespace string) error {
	_, err := c.WorkflowService().RegisterNamespace(ctx, &workflowservice.RegisterNamespaceRequest{
		Namespace: namespace, WorkflowExecutionRetentionPeriod: durationpb.New(24 * time.Hour),
	})
	if err != nil {
		return err
	}
	kinds := map[string]enumspb.IndexedValueType{}
	for _, name := range SearchAttributes {
		kinds[name] = enumspb.INDEXED_VALUE_TYPE_KEYWORD
	}
	// The services of the server learn of a new namespace one after the other.
	if err := until(ctx, func() error {
		_, err := c.OperatorService().AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{
			Namespace: namespace, SearchAttributes: kinds,
		})
		return err
	}); err != nil {
		return err
	}
	// A query that names the attributes fails until the visibility store knows them.
	return until(ctx, func() error {
		_, err := c.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{
			Query: "CountersignKind = 'none' and CountersignState = 'none'",
		})
		return err
	})
}

// until calls f until it succeeds or ctx ends, and returns the last error.
func until(ctx context.Context, f func() error) error {
	for {
		err := f()
		if err == nil {
			return nil
		}
		timer := time.NewTimer(pollEvery)
		select {
		case <-ctx.Done():
			timer.Stop()
			return err
		case <-timer.C:
		}
	}
}

// start returns the address in AddressEnv, or starts the devstack binary of the repository on the Postgres of testenv.
func start() (string, error) {
	if given := os.Getenv(AddressEnv); given != "" {
		return given, nil
	}
	binary, err := devstack()
	if err != nil {
		return "", err
	}
	database, err := testenv.Server()
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.Background(), startWithin)
	defer cancel()
	return startDevstack(ctx, binary, database)
}

// devstack returns the path of the binary: in bin of the repository, a folder above the package under test.
func devstack() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		binary := filepath.Join(dir, "bin", "devstack")
		if _, err := os.Stat(binary); err == nil {
			return binary, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("no Temporal server for tests: run make devstack once, or set %s to one", AddressEnv)
		}
		dir = filepath.Dir(dir)
	}
}

// startDevstack starts a server with databases of its own, named by the process id, and returns its address. The server ends
// with this process (--parent-pid).
func startDevstack(ctx context.Context, binary, databaseURL string) (string, error) {
	dir, err := os.MkdirTemp("", "countersign-temporaltest-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	ready, suffix := filepath.Join(dir, "ready.json"), strconv.Itoa(os.Getpid())
	p, err := subprocess.Start(subprocess.Spec{
		Path: binary, Output: os.Stderr, Orphaned: syscall.SIGTERM,
		Env: append(os.Environ(), "DEVSTACK_DATABASE_URL="+databaseURL),
		Args: []string{"--database", "temporal_" + suffix, "--visibility-database", "temporal_visibility_" + suffix,
			"--frontend-port", "0", "--ui-port", "0", "--ready-file", ready, "--parent-pid", suffix},
	})
	if err != nil {
		return "", err
	}
	var endpoints struct{ Frontend string }
	err = until(ctx, func() error {
		text, err := os.ReadFile(ready) // #nosec G304 -- a file in our own folder
		if err != nil {
			return errors.Join(err, p.Err())
		}
		return json.Unmarshal(text, &endpoints)
	})
	return endpoints.Frontend, err
}

// silent drops the client's log lines about a namespace that is not registered yet.
type silent struct{}

func (silent) Debug(string, ...any) {}
func (silent) Info(string, ...any)  {}
func (silent) Warn(string, ...any)  {}
func (silent) Error(string, ...any) {}
