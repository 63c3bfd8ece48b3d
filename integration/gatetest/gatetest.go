// Package gatetest starts countersign-gate, the real proxies in front of which it is used, an application behind them and an issuer of tokens.
// The recipes of the proxies are those of docs/gate.md. Only tests may import it.
package gatetest

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Repository is the root of the repository: the tests run in a folder of it.
var Repository = func() string {
	folder, err := os.Getwd()
	for err == nil && folder != filepath.Dir(folder) {
		if _, err := os.Stat(filepath.Join(folder, "gate", "go.mod")); err == nil {
			return folder
		}
		folder = filepath.Dir(folder)
	}
	panic("gatetest: the test does not run in the repository")
}()

const patience = 30 * time.Second

var builds sync.Map // of *build by tags

type build struct {
	once   sync.Once
	binary string
	err    error
}

// Binary builds the gate once for each set of build tags.
func Binary(t testing.TB, tags string) string {
	t.Helper()
	made, _ := builds.LoadOrStore(tags, &build{})
	b := made.(*build)
	b.once.Do(func() {
		folder, err := os.MkdirTemp("", "countersign-gate-*")
		if err != nil {
			b.err = err
			return
		}
		b.binary = filepath.Join(folder, "countersign-gate")
		cmd := exec.Command("go", "build", "-trimpath", "-tags", tags, "-o", b.binary, "./cmd/countersign-gate")
		cmd.Dir = filepath.Join(Repository, "gate")
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if output, err := cmd.CombinedOutput(); err != nil {
			b.err = fmt.Errorf("%w: %s", err, output)
		}
	})
	require.NoError(t, b.err)
	return b.binary
}

// FreePort returns a port that nothing listens on.
func FreePort(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).Port
}

// Process is a program that a test started. It ends with the test.
type Process struct {
	*exec.Cmd
	log   *log
	ended chan struct{} // closed when it has ended
}

// log has the output of a program.
type log struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// Log returns what the program has written.
func (p *Process) Log() string {
	p.log.mu.Lock()
	defer p.log.mu.Unlock()
	return p.log.text.String()
}

// Stop ends the program and its children.
func (p *Process) Stop() {
	_ = syscall.Kill(-p.Process.Pid, syscall.SIGKILL)
	<-p.ended
}

// Start starts a program and waits until it listens on the port.
func Start(t testing.TB, port int, env []string, name string, args ...string) *Process {
	t.Helper()
	p := &Process{Cmd: exec.Command(name, args...), log: &log{}, ended: make(chan struct{})}
	p.Env = append(os.Environ(), env...)
	p.Stdout, p.Stderr = p.log, p.log
	p.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	require.NoError(t, p.Cmd.Start())
	go func() {
		_ = p.Wait() // tests kill it
		close(p.ended)
	}()
	t.Cleanup(func() {
		p.Stop()
		if t.Failed() {
			text := p.Log()
			t.Logf("%s: %s", filepath.Base(name), text[max(0, len(text)-4000):])
		}
	})
	Listens(t, port, p)
	return p
}

// Listens waits until something listens on the port.
func Listens(t testing.TB, port int, p *Process) {
	t.Helper()
	require.Eventually(t, func() bool {
		select {
		case <-p.ended:
			require.Fail(t, "the program ended", p.Log())
		default:
		}
		conn, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	}, patience, 20*time.Millisecond, "the program listens: %s", p.Path)
}

// Gate is a running gate.
type Gate struct {
	*Process
	File                                      string
	Inline, ForwardAuth, ExtAuthz, Operations int // ports; 0 for those that it does not serve
}

// Config describes a gate.
type Config struct {
	ServiceURL, Key string
	Mode            string // inline, forward_auth or ext_authz
	Issuer          *Issuer
	Upstream        string // URL
	Routes          string // YAML of the routes; UPSTREAM is replaced
	Tags            string // of the build
	Env             []string
	Timeout         string
	StateTTL        string
	Cookie          string // of the token; empty: the header Authorization
	Identity        string // YAML in place of the issuer's
	TLS             string // YAML of the listener's
	More            string // YAML of further members of the file
}

// StartGate starts a gate.
func StartGate(t testing.TB, c Config) *Gate {
	t.Helper()
	g := &Gate{File: filepath.Join(t.TempDir(), "gate.yaml"), Operations: FreePort(t)}
	port := FreePort(t)
	switch c.Mode {
	case "inline":
		g.Inline = port
	case "forward_auth":
		g.ForwardAuth = port
	case "ext_authz":
		g.ExtAuthz = port
	}
	if c.StateTTL == "" {
		c.StateTTL = "73h"
	}
	if c.Timeout == "" {
		c.Timeout = "20s" // a loaded machine is slow
	}
	issuer := ""
	if c.Issuer != nil {
		issuer = c.Issuer.URL
	}
	identity := fmt.Sprintf(`jwt: {issuer: %q, audience: app, algorithms: [ES256], type: at+jwt, jwks: %q`, issuer, issuer+"/jwks.json")
	if c.Cookie != "" {
		identity += ", cookie: " + c.Cookie
	}
	identity += "}"
	if c.Identity != "" {
		identity = c.Identity
	}
	listener := fmt.Sprintf("address: \"127.0.0.1:%d\"", port)
	if c.TLS != "" {
		listener += ", tls: " + c.TLS
	}
	text := fmt.Sprintf(`service: {url: %q, key: {env: GATE_KEY}, timeout: %s}
state: {keys: [{env: GATE_STATE}], ttl: %s}
identity: {%s}
listen: {%s: {%s}, operations: "127.0.0.1:%d"}
%s
routes:
%s`, c.ServiceURL, c.Timeout, c.StateTTL, identity, c.Mode, listener, g.Operations, c.More, strings.ReplaceAll(c.Routes, "UPSTREAM", c.Upstream))
	require.NoError(t, os.WriteFile(g.File, []byte(text), 0o600))
	env := append([]string{"GATE_KEY=" + c.Key, "GATE_STATE=" + strings.Repeat("state-key-", 4)}, c.Env...)
	g.Process = Start(t, port, env, Binary(t, c.Tags), "serve", "--config", g.File)
	return g
}

// Metrics returns the metrics of the gate.
func (g *Gate) Metrics(t testing.TB) string {
	t.Helper()
	res, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/metrics", g.Operations))
	require.NoError(t, err)
	defer func() { _ = res.Body.Close() }()
	return readAll(t, res)
}

// recipe returns the first fenced block of a section of docs/gate.md.
func recipe(t testing.TB, section string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(Repository, "docs", "gate.md"))
	require.NoError(t, err)
	m := regexp.MustCompile("(?s)\n## " + section + "\n.*?\n```[a-z]+\n(.*?)\n```").FindSubmatch(text)
	require.NotNil(t, m, "docs/gate.md has no recipe for %s", section)
	block := string(m[1])
	require.LessOrEqual(t, strings.Count(block, "\n")+1, 20+2, "a recipe is short")
	return block
}
