package dev

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/countersign-dev/countersign/internal/local/subprocess"
)

// temporal is the private Temporal server, from the reservation of its ports to its end.
type temporal struct {
	o        Options
	database string
	grpc, ui *reservation
	cancel   context.CancelFunc
	ctx      context.Context //nolint:containedctx // of the start, which stop cancels
	done     chan struct{}   // closed when run has returned
	server   *subprocess.Process
}

// findDevstack returns an error that says how to get devstack if there is none.
func findDevstack(path string) error {
	if _, err := os.Stat(path); err != nil {
		return fmt.Errorf("the Temporal server is not built (%s is missing): run make devstack, or set "+
			"COUNTERSIGN_TEMPORAL_ADDRESS to a server of your own", path)
	}
	return nil
}

// reserveTemporal reserves the ports of the frontend and the UI.
func reserveTemporal(o Options, database string) (*temporal, error) {
	grpc, err := reserve(o.TemporalPort)
	if err != nil {
		return nil, err
	}
	ui, err := reserve(o.TemporalUIPort)
	if err != nil {
		grpc.release()
		return nil, err
	}
	if o.TemporalPort != 0 && grpc.port != o.TemporalPort {
		o.Say("port %d is taken: Temporal listens on %d", o.TemporalPort, grpc.port)
	}
	if o.TemporalUIPort != 0 && ui.port != o.TemporalUIPort {
		o.Say("port %d is taken: the Temporal UI listens on %d", o.TemporalUIPort, ui.port)
	}
	// Not a child of the caller's context: Down stops the server after the service that uses it.
	ctx, cancel := context.WithCancel(context.Background())
	return &temporal{o: o, database: database, grpc: grpc, ui: ui, ctx: ctx, cancel: cancel, done: make(chan struct{})}, nil
}

func (t *temporal) address() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(t.grpc.port)) }

// run builds and starts the server and waits until it ends. The reason for an end that stop did not cause goes to ended.
func (t *temporal) run(ended chan<- error) {
	defer close(t.done)
	defer t.grpc.release()
	defer t.ui.release()
	err := t.start()
	if err == nil {
		t.o.Startup.Finish()
		<-t.server.Done()
		err = errors.New("the Temporal server ended by itself; its log is " + t.log())
	}
	if t.ctx.Err() == nil {
		ended <- err
	}
}

func (t *temporal) log() string { return filepath.Join(t.o.Dir, "temporal.log") }

// start builds devstack, starts it and waits until it takes requests.
func (t *temporal) start() error {
	if t.o.Build != nil {
		if err := t.o.Build(t.ctx); err != nil {
			return fmt.Errorf("the Temporal server cannot be built: %w", err)
		}
	}
	t.o.Startup.Report("its process starts")
	log, err := os.OpenFile(t.log(), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	ready := filepath.Join(t.o.Dir, "temporal.json")
	if err := os.Remove(ready); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	// As late as possible: between here and devstack's listening another process may take the ports.
	t.grpc.release()
	t.ui.release()
	t.server, err = subprocess.Start(subprocess.Spec{
		Path: t.o.Devstack, Args: devstackArgs(t.o, t.grpc.port, t.ui.port, ready), Output: log, Orphaned: syscall.SIGTERM,
		// In the environment and not among the arguments, which every user of the machine can read.
		Env: append(os.Environ(), "DEVSTACK_DATABASE_URL="+t.database),
	})
	if err != nil {
		return err
	}
	if err := t.await(ready); err != nil {
		return errors.Join(err, t.server.Stop(syscall.SIGTERM, stopWithin))
	}
	return nil
}

// await returns once devstack has written its ready file, or an error with the last line of its log if it ended.
func (t *temporal) await(ready string) error {
	ctx, cancel := context.WithTimeout(t.ctx, temporalWithin)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		var at struct{ Frontend string }
		if text, err := os.ReadFile(ready); err == nil && json.Unmarshal(text, &at) == nil { // #nosec G304 -- our own file
			return nil
		}
		select {
		case <-tick.C:
		case <-t.server.Done():
			return fmt.Errorf("the Temporal server did not start: %s", lastLine(t.log()))
		case <-ctx.Done():
			return fmt.Errorf("the Temporal server did not start in time; its log is %s", t.log())
		}
	}
}

// stop ends the build or the server, whichever runs, and waits for its end. Nothing else ends them: an interrupt lets the service finish
// its requests first, and some of them need Temporal.
func (t *temporal) stop() error {
	t.cancel()
	select {
	case <-t.done:
		return nil
	case <-t.o.Startup.Started():
		// The server was assigned before the startup finished.
		err := t.server.Stop(syscall.SIGTERM, stopWithin)
		<-t.done
		return err
	}
}

// devstackArgs is the command line of devstack, which ends with this process.
func devstackArgs(o Options, grpc, ui int, ready string) []string {
	args := []string{
		"--frontend-port", strconv.Itoa(grpc), "--ui-port", strconv.Itoa(ui), "--namespace", Namespace,
		"--ready-file", ready, "--parent-pid", strconv.Itoa(os.Getpid()),
	}
	for _, name := range o.SearchAttributes {
		args = append(args, "--search-attribute", name+"=Keyword")
	}
	if o.CodecEndpoint != "" {
		args = append(args, "--codec-endpoint", o.CodecEndpoint)
	}
	return args
}

// lastLine returns the last line of a log file; empty if it cannot be read.
func lastLine(path string) string {
	text, _ := os.ReadFile(path) // #nosec G304 -- our own file
	last := "its log is " + path
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" {
			last = strings.TrimPrefix(line, "devstack: ")
		}
	}
	return last
}
