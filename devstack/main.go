// Command devstack runs a Temporal server and its web UI in one process on Postgres persistence, for development
// and tests. It creates the databases it needs, brings their schema up to date, registers namespaces and search
// attributes, and says when all of it answers.
//
// It is a module of its own so that nothing of the server's dependency tree reaches the product, and it may import
// nothing of the product: the product talks to it over Temporal's gRPC interface like to any other Temporal server.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	opts, err := parseOptions(os.Args[1:], os.Getenv, os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fail(err, 2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The handler is taken away as soon as the first signal arrived, so that a second one ends the process at once.
	context.AfterFunc(ctx, stop)
	if err := run(ctx, opts); err != nil {
		fail(err, 1)
	}
}

// fail prints the one sentence that says what went wrong and ends the process with code: 1 for a failure, 2 for
// flags that cannot be.
func fail(err error, code int) {
	fmt.Fprintf(os.Stderr, "devstack: %v\n", err)
	os.Exit(code)
}
