// Command containers starts the servers that tests need as Docker containers and runs the program on its command line with
// their addresses in the environment. make test-containers runs it in place of the servers that make test starts.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/wait"
)

// The images, and the environment variables that replace them.
const (
	postgresImage    = "postgres:17-alpine"
	postgresImageEnv = "COUNTERSIGN_TEST_POSTGRES_IMAGE"
	temporalImage    = "temporalio/temporal:1.4.1"
	temporalImageEnv = "COUNTERSIGN_TEST_TEMPORAL_IMAGE"
)

// startWithin bounds the start of one container, without pulling its image.
const startWithin = 3 * time.Minute

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: containers PROGRAM [ARGUMENT...]")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code, err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "make test-containers:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// run returns the program's exit code.
func run(ctx context.Context, program []string) (int, error) {
	if err := checkEngine(ctx); err != nil {
		return 1, err
	}
	postgres, err := start(ctx, postgresImageEnv, postgresImage, "5432/tcp",
		testcontainers.WithEnv(map[string]string{"POSTGRES_PASSWORD": "postgres"}),
		testcontainers.WithCmd("postgres", "-c", "fsync=off", "-c", "max_connections=300"),
		testcontainers.WithWaitStrategyAndDeadline(startWithin,
			// The image starts the server twice: once to create the cluster, once to serve it.
			wait.ForLog("database system is ready to accept connections").WithOccurrence(2)))
	defer end(postgres)
	if err != nil {
		return 1, err
	}
	temporal, err := start(ctx, temporalImageEnv, temporalImage, "7233/tcp",
		testcontainers.WithCmd("server", "start-dev", "--ip", "0.0.0.0", "--headless", "--log-level", "error",
			"--dynamic-config-value", "frontend.enableExecuteMultiOperation=true"),
		testcontainers.WithWaitStrategyAndDeadline(startWithin, wait.ForListeningPort("7233/tcp")))
	defer end(temporal)
	if err != nil {
		return 1, err
	}
	database, err := postgres.PortEndpoint(ctx, "5432/tcp", "")
	if err != nil {
		return 1, err
	}
	frontend, err := temporal.PortEndpoint(ctx, "7233/tcp", "")
	if err != nil {
		return 1, err
	}
	return execute(ctx, program,
		"COUNTERSIGN_TEST_DATABASE_URL=postgres://postgres:postgres@"+database+"/postgres?sslmode=disable",
		"COUNTERSIGN_TEST_TEMPORAL_ADDRESS="+frontend)
}

// checkEngine returns a readable error if no Docker engine responds. The library panics if it finds no engine at all.
func checkEngine(ctx context.Context) (err error) {
	none := errors.New("no Docker engine responds: start one, or run make test, which needs none")
	defer func() {
		if recover() != nil {
			err = none
		}
	}()
	provider, err := testcontainers.NewDockerProvider()
	if err != nil {
		return none
	}
	defer func() { _ = provider.Close() }()
	if provider.Health(ctx) != nil {
		return none
	}
	return nil
}

// start starts a container of the image, or of the one in the environment variable env, with a port of it exposed. If it fails
// after the container was created, it returns the container with the error.
func start(ctx context.Context, env, image, port string, o ...testcontainers.ContainerCustomizer) (*testcontainers.DockerContainer, error) {
	if other := os.Getenv(env); other != "" {
		image = other
	}
	fmt.Fprintln(os.Stderr, "make test-containers: starting", image)
	c, err := testcontainers.Run(ctx, image, append(o, testcontainers.WithExposedPorts(port))...)
	if err != nil {
		return c, fmt.Errorf("the container of %s did not start: %w", image, err)
	}
	return c, nil
}

// end removes a container; nil does nothing.
func end(c *testcontainers.DockerContainer) {
	if c == nil {
		return
	}
	if err := testcontainers.TerminateContainer(c); err != nil {
		fmt.Fprintln(os.Stderr, "make test-containers:", err)
	}
}

// execute runs the program with further environment variables and returns its exit code. If ctx ends it is interrupted and has
// a minute to clean up.
func execute(ctx context.Context, program []string, env ...string) (int, error) {
	cmd := exec.CommandContext(ctx, program[0], program[1:]...) // #nosec G204 G702 -- the program that the Makefile names
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = time.Minute
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return max(exit.ExitCode(), 1), nil
	}
	return 0, err
}
