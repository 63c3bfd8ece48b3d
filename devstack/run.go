package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/jackc/pgx/v5"
	"go.temporal.io/server/temporal"
)

// readyWithin bounds the time from a started server to one that serves every namespace.
const readyWithin = 60 * time.Second

// run starts everything, waits until ctx or the watched parent ends, and stops everything. It returns nil after an
// orderly stop; otherwise the error is one sentence.
func run(ctx context.Context, o options) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if o.readyFile != "" {
		if err := removeReady(o.readyFile); err != nil {
			return err
		}
	}
	if o.parentPID != 0 {
		go watchParent(ctx, o.parentPID, cancel)
	}
	work := serve
	if o.isMember() {
		work = serveMember
	}
	err := work(ctx, o)
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil // asked to stop while still starting
	}
	return err
}

// serve reserves the ports first: a port in use is the most likely failure and the cheapest to detect.
func serve(ctx context.Context, o options) error {
	started := time.Now()
	var held reservations
	defer held.release()
	ports, err := reserveServices(&held, o.frontendPort)
	if err != nil {
		return err
	}
	uiBackend, err := held.reserveAny()
	if err != nil {
		return err
	}
	ui, err := listenUI(o.listen, o.uiPort)
	if err != nil {
		return err
	}
	defer ui.stop()

	lock, err := prepareDatabases(ctx, o)
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close(context.WithoutCancel(ctx)) }()

	logger, err := newServerLog(o.logLevel)
	if err != nil {
		return err
	}
	held.release()
	server, err := startServer(o, ports, logger.Logger)
	if err != nil {
		return err
	}
	ui.start(o, ports.frontend(), uiBackend)
	return serveUntil(ctx, o, logger, server, func() error {
		err := announce(ctx, o, ports, ui, started)
		context.AfterFunc(ctx, ui.stop)
		return err
	})
}

// serveUntil announces a started server, waits until ctx ends, and stops the server.
func serveUntil(ctx context.Context, o options, logger *serverLog, server temporal.Server, announce func() error) error {
	err := announce()
	if err == nil {
		logger.speak()
		<-ctx.Done()
	}
	logger.hush()
	return errors.Join(err, withdraw(o), stopServer(server))
}

// prepareDatabases creates and migrates both databases and returns the connection that holds the instance lock.
func prepareDatabases(ctx context.Context, o options) (*pgx.Conn, error) {
	admin, err := connectServer(ctx, o.databaseURL, o.databaseWait)
	if err != nil {
		return nil, err
	}
	defer func() { _ = admin.Close(context.WithoutCancel(ctx)) }()
	var lock *pgx.Conn
	for _, s := range stores(o) {
		conn, err := prepareStore(ctx, admin, o, s, lock == nil)
		if err != nil {
			if lock != nil {
				_ = lock.Close(context.WithoutCancel(ctx))
			}
			return nil, err
		}
		if lock == nil {
			lock = conn
			continue
		}
		_ = conn.Close(context.WithoutCancel(ctx))
	}
	return lock, nil
}

// prepareStore creates and migrates one database and returns a connection to it, holding the instance lock if asked.
func prepareStore(ctx context.Context, admin *pgx.Conn, o options, s store, lock bool) (*pgx.Conn, error) {
	if err := createDatabase(ctx, admin, s.database); err != nil {
		return nil, err
	}
	conn, err := connectDatabase(ctx, o.databaseURL, s.database)
	if err != nil {
		return nil, fmt.Errorf("database %q cannot be opened: %w", s.database, reason(err))
	}
	if lock {
		err = lockInstance(ctx, conn, s.database, o.isMember())
	}
	if err == nil {
		err = migrate(ctx, conn, s)
	}
	if err != nil {
		_ = conn.Close(context.WithoutCancel(ctx))
		return nil, err
	}
	return conn, nil
}

// announce waits until the namespaces, search attributes and UI are ready, then prints a line and writes the ready file.
func announce(ctx context.Context, o options, ports services, ui *webUI, started time.Time) error {
	if err := prepareNamespaces(ctx, o, ports.frontend()); err != nil {
		return err
	}
	waiting, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	if err := ui.await(waiting); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "devstack: Temporal at %s, its UI at %s, ready after %d ms\n",
		ports.frontend(), ui.url(), time.Since(started).Milliseconds())
	if o.readyFile == "" {
		return nil
	}
	return writeReady(o.readyFile, endpoints{Frontend: ports.frontend(), UI: ui.url()})
}

// prepareNamespaces registers the namespaces and search attributes, waits until they can be used, and drops the indexes that none of them
// needs.
func prepareNamespaces(ctx context.Context, o options, frontend string) error {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	client, err := dialFrontend(frontend)
	if err != nil {
		return err
	}
	defer client.close()
	for _, name := range o.namespaces {
		if err := client.prepare(ctx, name, o); err != nil {
			return err
		}
	}
	return trimVisibility(ctx, client, o)
}

// withdraw removes the ready file before the server stops.
func withdraw(o options) error {
	if o.readyFile == "" {
		return nil
	}
	return removeReady(o.readyFile)
}
