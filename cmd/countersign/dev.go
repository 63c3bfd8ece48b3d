package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/countersign-dev/countersign/cmd/countersign/wiring"
	"github.com/countersign-dev/countersign/internal/local/dev"
	"github.com/countersign-dev/countersign/internal/local/progress"
	"github.com/countersign-dev/countersign/internal/platform/durable"
	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/platform/keys/software"
	"github.com/countersign-dev/countersign/internal/platform/masterkey"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/workflows"
)

// devOptions are the flags of dev.
type devOptions struct {
	settings
	dir      string
	devstack string
	source   string // folder that devstack is built from; empty: it is not built
	port     int
	opsPort  int
	quiet    bool
	migrate  bool // raise the schema of an earlier build's folder without asking
	// temporalPort and uiPort are preferred; 0 is any. Machines that start at the same moment on one host must not prefer the same.
	temporalPort, uiPort int
	// build builds devstack in place of the go command; nil outside tests.
	build func(ctx context.Context, report func(step string)) error
}

func devCommand() *cobra.Command {
	var o devOptions
	cmd := &cobra.Command{
		Use:   "dev",
		Short: "Run the whole service on this machine: Postgres, Temporal, API and worker",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runDev(cmd.Context(), o, cmd.ErrOrStderr(), nil)
		},
	}
	devFlags(cmd, &o)
	bind(cmd, append(append(append(o.logging(), o.database(), o.ownTemporal()), o.dataProtection()...), o.mail.table()...)...)
	return cmd
}

func devFlags(cmd *cobra.Command, o *devOptions) {
	cmd.Flags().StringVar(&o.dir, "dir", localDir, "`folder` for databases, keys and logs")
	cmd.Flags().StringVar(&o.devstack, "devstack", "bin/devstack", "`path` of the devstack binary (make devstack)")
	cmd.Flags().StringVar(&o.source, "devstack-source", "", "`folder` to build the devstack binary from, in the background, if it is newer; empty builds nothing")
	cmd.Flags().BoolVar(&o.quiet, "quiet", false, "print the addresses and keys only")
	cmd.Flags().BoolVar(&o.migrate, "migrate", false, "bring the schema of a folder of an earlier build up to this build's version without asking")
	cmd.Flags().IntVar(&o.port, "port", dev.APIPort, "`port` of the API on localhost; a free one if it is in use")
	cmd.Flags().IntVar(&o.opsPort, "ops-port", dev.OpsPort, "`port` of metrics and health on localhost")
	cmd.Flags().IntVar(&o.temporalPort, "temporal-port", dev.TemporalPort, "`port` of the private Temporal server on localhost; a free one if it is in use")
	cmd.Flags().IntVar(&o.uiPort, "temporal-ui-port", dev.TemporalUIPort, "`port` of its UI on localhost; a free one if it is in use")
}

// ownTemporal names a Temporal server to use instead of a private one.
func (o *devOptions) ownTemporal() setting {
	return setting{"temporal-address", "COUNTERSIGN_TEMPORAL_ADDRESS", "", "host:port of a Temporal server to use instead of a private one",
		text(&o.temporalAddress)}
}

// machine is a running development machine, and what has to be stopped, last thing first.
type machine struct {
	o       devOptions
	bar     *progress.Bar
	startup *durable.Startup // of Temporal; nil if a server is given
	log     *slog.Logger
	state   dev.State
	// invitation is the URL that registers the first reviewer; empty once one has registered.
	invitation string
	stops      []func()
	fails      chan error
}

// runDev starts everything, calls whenUp, which may be nil, once the API is ready, and stops everything when ctx ends.
func runDev(ctx context.Context, o devOptions, out io.Writer, whenUp func(ctx context.Context, s dev.State) error) error {
	started := time.Now() //nolint:forbidigo // measured for the banner
	if backends := os.Getenv("COUNTERSIGN_SIGNING_KEYS"); backends != "" && backends != software.Name {
		return usage("COUNTERSIGN_SIGNING_KEYS is set: dev keeps signing keys in its own database only; unset it, or run countersign serve and worker with it")
	}
	m := &machine{o: o, bar: progress.New(out, o.quiet), fails: make(chan error, 8)}
	if o.temporalAddress == "" {
		m.startup = durable.NewStartup()
	}
	defer m.down()
	if err := m.up(ctx); err != nil {
		if ctx.Err() != nil && whenUp == nil {
			return nil // asked to stop while starting
		}
		return err
	}
	m.say("ready after %.1f s", time.Since(started).Seconds())
	if whenUp != nil {
		return m.meanwhile(ctx, whenUp)
	}
	m.banner()
	if m.startup != nil {
		go m.announceEngine(ctx, started)
	}
	select {
	case <-ctx.Done():
		m.say("stopping")
		return nil
	case err := <-m.fails:
		return err
	}
}

func (m *machine) say(format string, args ...any) {
	if !m.o.quiet {
		_, _ = fmt.Fprintf(m.bar, "- "+format+"\n", args...)
	}
}

// onStop adds a step to the way down.
func (m *machine) onStop(f func()) { m.stops = append(m.stops, f) }

func (m *machine) down() {
	for i := len(m.stops) - 1; i >= 0; i-- {
		m.stops[i]()
	}
}

func (m *machine) up(ctx context.Context) error {
	dir, err := filepath.Abs(m.o.dir)
	if err != nil {
		return err
	}
	m.o.dir = dir
	lock, err := dev.Acquire(dir)
	if err != nil {
		return err
	}
	m.onStop(lock.Release)
	if err := m.openLog(); err != nil {
		return err
	}
	if m.state, err = dev.ReadState(dir); err != nil {
		return err
	}
	key, err := dev.MasterKey(dir)
	if err != nil {
		return err
	}
	keys, err := keyring.Parse(key)
	if err != nil {
		return err
	}
	opsListeners, err := m.listen("the operations port", m.o.opsPort, &m.state.OpsURL)
	if err != nil {
		return err
	}
	apiListeners, err := m.listen("the API", m.o.port, &m.state.BaseURL)
	if err != nil {
		return err
	}
	if err := m.startStack(ctx); err != nil {
		return err
	}
	return m.startService(ctx, keys, apiListeners, opsListeners)
}

// openLog sends the service's own log to a file: the terminal is for people.
func (m *machine) openLog() error {
	f, err := os.OpenFile(filepath.Join(m.o.dir, "countersign.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	m.onStop(func() { _ = f.Close() })
	m.log = m.o.logger(f)
	return nil
}

// listen takes a port and writes down its URL.
func (m *machine) listen(what string, preferred int, url *string) ([]net.Listener, error) {
	if preferred < 0 || preferred > 65535 {
		return nil, usage("%s cannot listen on port %d: want 0 to 65535", what, preferred)
	}
	listeners, port, err := dev.Listen(preferred)
	if err != nil {
		return nil, err
	}
	m.onStop(func() {
		for _, l := range listeners {
			_ = l.Close() // its server closed it already, unless that was never started
		}
	})
	if preferred != 0 && port != preferred {
		m.say("port %d is taken: %s listens on %d", preferred, what, port)
	}
	*url = dev.LocalURL(port)
	return listeners, nil
}

func (m *machine) startStack(ctx context.Context) error {
	if err := m.checkGiven(ctx); err != nil {
		return err
	}
	m.say("starting Postgres")
	stack, err := dev.Up(ctx, dev.Options{
		Dir: m.o.dir, Devstack: m.o.devstack, DatabaseURL: m.o.databaseURL, TemporalAddress: m.o.temporalAddress,
		SearchAttributes: workflows.SearchAttributes(), CodecEndpoint: m.state.OpsURL + "/codec", Say: m.say,
		Startup: m.startup, Build: m.builder(), TemporalPort: m.o.temporalPort, TemporalUIPort: m.o.uiPort,
	})
	if err != nil {
		return err
	}
	stopping := make(chan struct{})
	m.onStop(func() {
		close(stopping)
		if err := stack.Down(); err != nil {
			m.say("%v", err)
		}
	})
	go func() {
		err := <-stack.Ended()
		select {
		case <-stopping:
		default:
			m.fails <- err
		}
	}()
	m.state.DatabaseURL, m.state.TemporalAddress, m.state.TemporalUI = stack.DatabaseURL, stack.TemporalAddress, stack.TemporalUI
	return nil
}

// checkGiven connects to the servers that replace the private ones, so that an error names the wrong setting.
func (m *machine) checkGiven(ctx context.Context) error {
	if m.o.databaseURL != "" {
		st, err := pg.Open(ctx, m.o.databaseURL, pg.Options{MaxConns: 1})
		if err != nil {
			return fmt.Errorf("COUNTERSIGN_DATABASE_URL: %w", err)
		}
		st.Close()
	}
	if m.o.temporalAddress != "" {
		conn, err := (&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, "tcp", m.o.temporalAddress)
		if err != nil {
			return fmt.Errorf("COUNTERSIGN_TEMPORAL_ADDRESS: no server responds at %s: %w", m.o.temporalAddress, err)
		}
		return conn.Close()
	}
	return nil
}

// mayRaise asks whether the schema of the folder may be raised, after which earlier builds may refuse it. It returns a usage error if no
// one is there to answer or the answer is no.
func mayRaise(have, want int64, in *os.File, out io.Writer) error {
	how := fmt.Sprintf("the database of this folder is at schema version %d and this build needs %d; an earlier build may refuse it afterwards", have, want)
	if !term.IsTerminal(int(in.Fd())) { // #nosec G115 -- a file descriptor
		return usage("%s: give --migrate", how)
	}
	_, _ = fmt.Fprintf(out, "- %s. Migrate? [y/N] ", how)
	answer, _ := bufio.NewReader(in).ReadString('\n')
	if !strings.EqualFold(strings.TrimSpace(answer), "y") {
		return usage("the schema was not changed: start the earlier build, or answer y")
	}
	return nil
}

// startService migrates, makes the tenants and starts API and worker in this process.
func (m *machine) startService(ctx context.Context, keys *keyring.Keyring, api, operations []net.Listener) error {
	c, err := wiring.Open(ctx, wiring.Settings{
		Log: m.log, DatabaseURL: m.state.DatabaseURL, BaseURL: m.state.BaseURL, Keys: keys, MaxConns: 32,
	})
	if err != nil {
		return err
	}
	m.onStop(c.Close)
	have, want, err := c.Store.SchemaVersions(ctx)
	if err != nil {
		return err
	}
	if have > 0 && have < want && !m.o.migrate {
		if err := mayRaise(have, want, os.Stdin, m.bar); err != nil {
			return err
		}
	}
	before, after, err := c.Store.Migrate(ctx)
	if err != nil {
		return err
	}
	if before != after {
		m.say("the schema went from version %d to %d", before, after)
	}
	if err := c.Check(ctx); err != nil {
		return masterkey.At(dev.MasterKeyPath(m.o.dir), err)
	}
	had := m.state.Environments.Sandbox.ServerKey != ""
	made, err := ensureTenants(ctx, c, &m.state, m.state.BaseURL)
	if err != nil {
		return err
	}
	if made && had {
		m.say("the keys in dev.json were not of this database: new ones were made")
	}
	if err := dev.WriteState(m.o.dir, m.state); err != nil {
		return err
	}
	if m.invitation, err = ensurePerson(ctx, c, m.state); err != nil {
		return err
	}
	mailer, err := m.o.mail.mailer(m.state.BaseURL)
	if err != nil {
		return err
	}
	options := wiring.Options{
		Temporal: workflows.DialOptions{Address: m.state.TemporalAddress}, Startup: m.startup, WebhookLoopback: true, LocalOnly: true, CodecOrigin: m.state.TemporalUI,
		TemporalUI: m.state.TemporalUI, Version: version,
		TryKey: m.state.Try.ServerKey, Mail: mailer,
	}
	m.o.dataOptions(&options)
	p, err := wiring.New(c, options)
	if err != nil {
		return err
	}
	m.onStop(p.Close)
	return m.startProcess(ctx, p, api, operations)
}

func (m *machine) startProcess(ctx context.Context, p *wiring.Process, api, operations []net.Listener) error {
	m.onStop(p.StartOps(m.fails, operations...))
	m.onStop(p.StartWorker(ctx, m.fails))
	stop, err := p.StartAPI(ctx, m.fails, api...)
	if err != nil {
		return err
	}
	m.onStop(stop)
	return m.awaitAPI(ctx)
}

// awaitAPI returns once the API has served a request.
func (m *machine) awaitAPI(ctx context.Context) error {
	for {
		err := probe(ctx, m.state.BaseURL+"/api/v1/credential", m.state.Environments.Sandbox.ServerKey)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(errInterrupted, err)
		case failed := <-m.fails:
			return failed
		case <-time.After(20 * time.Millisecond):
		}
	}
}
