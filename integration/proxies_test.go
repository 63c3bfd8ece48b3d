package integration_test

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/cmd/countersign/wiring"
)

// restartsApart is the pause between the restarts of two APIs.
const restartsApart = 2 * time.Second

// proxySample is a sample of docs/go-live.md and how its proxy is started with a file.
type proxySample struct {
	program string
	block   string // the language of the sample
	listens string // what the test replaces by its own address
	file    string // of which %s is the sample
	args    []string
}

var proxySamples = map[string]proxySample{
	"nginx": {
		"nginx", "nginx", "listen 443 ssl;", "daemon off; master_process off; pid nginx.pid; error_log stderr;\nevents {}\nhttp {\naccess_log off;\n%s\n}",
		[]string{"-p", ".", "-c", "proxy.conf"},
	},
	"HAProxy": {"haproxy", "haproxy", "bind :443 ssl crt /etc/haproxy/countersign.pem", "%s", []string{"-db", "-f", "proxy.conf"}},
	"Caddy": {
		"caddy", "caddyfile", "countersign.example {", "{\nadmin off\nauto_https off\n}\n%s", []string{"run", "--adapter", "caddyfile", "--config", "proxy.conf"},
	},
	"Envoy": {
		"envoy", "yaml", "{address: 0.0.0.0, port_value: 443}", "%s", []string{"-c", "proxy.yaml", "--disable-hot-restart", "--concurrency", "2", "-l", "warn"},
	},
}

// listening returns what listens at an address in the sample's language.
func (s proxySample) listening(address string) string {
	switch s.program {
	case "nginx":
		return "listen " + address + ";"
	case "haproxy":
		return "bind " + address
	case "envoy":
		return socket(address)
	}
	return "http://" + address + " {"
}

// socket returns an address as Envoy writes it.
func socket(address string) string {
	host, port, _ := strings.Cut(address, ":")
	return "{address: " + host + ", port_value: " + port + "}"
}

// A rolling restart behind a proxy that is set up as the documentation says.
func TestProxySamplesLoseNoRequest(t *testing.T) {
	t.Parallel()
	if os.Getenv("COUNTERSIGN_TEST_PROXIES") == "" {
		t.Skip("make test-proxies runs it, with proxies of its own and nothing beside it")
	}
	page, err := os.ReadFile("../docs/go-live.md")
	require.NoError(t, err)
	for name, s := range proxySamples {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			program := s.find(t)
			w := newSandbox(t)
			_, action := w.action(t, "enforce", allowing)
			subject := w.subject(t)
			a, b := newRestarted(t), newRestarted(t)
			w.Server.base = s.start(t, program, string(page), a.address, b.address)
			eventually(t, func() bool {
				page, err := w.Server.send(http.MethodGet, "/api/v1/credential", nil)
				return err == nil && page.status == http.StatusOK
			}, "the proxy serves")

			var sent atomic.Int64
			ctx, stop := context.WithCancel(t.Context())
			var clients sync.WaitGroup
			for range 4 {
				clients.Go(func() {
					for ctx.Err() == nil {
						res, err := w.Server.send(http.MethodPost, "/api/v1/authorize", request(subject, action))
						if !assertAnswered(t, res, err) {
							return
						}
						sent.Add(1)
					}
				})
			}
			before := func() int64 { return sent.Load() + 50 }
			for _, r := range []*restarted{a, b, a, b} {
				until := before()
				eventually(t, func() bool { return sent.Load() > until || t.Failed() }, "requests pass")
				r.restart(t)
				<-time.After(restartsApart)
			}
			stop()
			clients.Wait()
			t.Logf("%d requests, none lost", sent.Load())
		})
	}
}

func assertAnswered(t *testing.T, res response, err error) bool {
	switch {
	case err != nil:
		t.Errorf("a request was lost: %v", err)
	case res.status != http.StatusOK:
		t.Errorf("a request was lost: %d %s", res.status, res.body)
	default:
		return true
	}
	return false
}

// find returns the path of the program, or skips the test.
func (s proxySample) find(t *testing.T) string {
	t.Helper()
	for _, dir := range append(filepath.SplitList(os.Getenv("PATH")), "/usr/sbin", "../bin/proxies/bin") {
		if path, err := filepath.Abs(filepath.Join(dir, s.program)); err == nil && exec.Command("test", "-x", path).Run() == nil {
			return path
		}
	}
	t.Skipf("%s is not installed: make proxies", s.program)
	return ""
}

// start runs the proxy with its sample in front of two addresses and returns its URL.
func (s proxySample) start(t *testing.T, program, page string, upstreams ...string) string {
	t.Helper()
	sample := regexp.MustCompile("(?s)```" + s.block + "\n(.*?)```").FindStringSubmatch(page)
	require.NotNil(t, sample, "docs/go-live.md has no sample for %s", s.program)
	l := listen(t)
	address := l.Addr().String()
	require.NoError(t, l.Close())
	require.Contains(t, sample[1], s.listens)
	config := strings.NewReplacer(s.listens, s.listening(address), "10.0.1.11:8080", upstreams[0], "10.0.1.12:8080", upstreams[1],
		"server_name countersign.example;", "", `"countersign.example"`, `"*"`,
		"{address: 10.0.1.11, port_value: 8080}", socket(upstreams[0]), "{address: 10.0.1.12, port_value: 8080}", socket(upstreams[1])).Replace(sample[1])
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "logs"), 0o750))
	for _, name := range []string{"proxy.conf", "proxy.yaml"} { // Envoy reads YAML from a file of that name only
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(strings.Replace(s.file, "%s", config, 1)), 0o600))
	}
	var said bytes.Buffer
	cmd := exec.Command(program, s.args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &said, &said
	cmd.Env = append(os.Environ(), "HOME="+dir)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Log(said.String())
		}
	})
	return "http://" + address
}

// restarted is an API that can be restarted at its address.
type restarted struct {
	address string
	stop    func()
}

func newRestarted(t *testing.T) *restarted {
	t.Helper()
	l := listen(t)
	r := &restarted{address: l.Addr().String()}
	r.serve(t, l)
	t.Cleanup(func() { r.stop() })
	return r
}

func (r *restarted) serve(t *testing.T, l net.Listener) {
	t.Helper()
	core, err := wiring.Open(context.WithoutCancel(t.Context()), wiring.Settings{
		Log: shared.log, DatabaseURL: shared.database, Keys: shared.keys, BaseURL: shared.baseURL, MaxConns: 6,
	})
	require.NoError(t, err)
	o := shared.options()
	o.ServeOn = time.Second
	p, err := wiring.New(core, o)
	require.NoError(t, err)
	stop, err := p.StartAPI(context.WithoutCancel(t.Context()), make(chan error, 1), l)
	require.NoError(t, err)
	r.stop = func() {
		stop()
		p.Close()
		core.Close()
	}
}

func (r *restarted) restart(t *testing.T) {
	t.Helper()
	r.stop()
	l, err := net.Listen("tcp", r.address)
	require.NoError(t, err)
	r.serve(t, l)
}
