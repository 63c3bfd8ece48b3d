// Command devstack runs a Temporal server and its web UI in one process on Postgres persistence, for development
// and tests. It creates the databases it needs, brings their schema up to date, registers namespaces and search
// attributes, and reports when everything is ready.
//
// It is a separate module so that the server's dependencies stay out of the product, and it may not import any
// package of the product: the product uses Temporal's gRPC interface, as with any other Temporal server.
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
	// The handler is removed after the first signal, so that a second one ends the process at once.
	context.AfterFunc(ctx, stop)
	if err := run(ctx, opts); err != nil {
		fail(err, 1)
	}
}

// fail prints err as one sentence and exits with code: 1 for a failure, 2 for invalid flags.
func fail(err error, code int) {
	fmt.Fprintf(os.Stderr, "devstack: %v\n", err)
	os.Exit(code)
}
