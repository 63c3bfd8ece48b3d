package gatetest

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Proxies are the names of the proxies.
var Proxies = []string{"nginx", "caddy", "traefik", "haproxy", "envoy"}

// ModeOf is how a proxy asks the gate.
func ModeOf(proxy string) string {
	switch proxy {
	case "inline":
		return "inline"
	case "envoy":
		return "ext_authz"
	}
	return "forward_auth"
}

// program finds a proxy: in the folder of make proxies, or on the PATH.
func program(proxy string) (string, bool) {
	for _, folder := range append([]string{filepath.Join(Repository, "bin", "proxies", "bin"), "/usr/sbin"}, filepath.SplitList(os.Getenv("PATH"))...) {
		path := filepath.Join(folder, proxy)
		if found, err := exec.LookPath(path); err == nil {
			return found, true
		}
	}
	return "", false
}

// Proxy is a running proxy.
type Proxy struct {
	*Process
	Name string
	Port int
}

// StartProxy starts a proxy with its recipe, in front of an application at a port, with a gate at a port. The test is skipped if the proxy is not
// installed.
func StartProxy(t testing.TB, name string, upstream, gate int) *Proxy {
	t.Helper()
	path, ok := program(name)
	if !ok {
		t.Skipf("%s is not installed: make proxies installs it", name)
	}
	p := &Proxy{Name: name, Port: FreePort(t)}
	folder := t.TempDir()
	fill := func(text string) string {
		return strings.NewReplacer(":8081", fmt.Sprintf(":%d", gate), ":3000", fmt.Sprintf(":%d", upstream), "listen 8080", fmt.Sprintf("listen 127.0.0.1:%d", p.Port),
			"bind :8080", fmt.Sprintf("bind 127.0.0.1:%d", p.Port), ":8080 {", fmt.Sprintf("http://:%d {", p.Port),
			"/etc/haproxy/countersign.lua", filepath.Join(Repository, "gate", "recipes", "countersign.lua")).Replace(text)
	}
	write := func(file, text string) string {
		file = filepath.Join(folder, file)
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		return file
	}
	var args []string
	switch name {
	case "nginx":
		file := write("nginx.conf", "daemon off;\nmaster_process off;\nerror_log stderr warn;\npid "+folder+"/pid;\nevents {}\nhttp {\naccess_log off;\n"+temporary(folder)+fill(recipe(t, "nginx"))+"\n}\n")
		args = []string{"-p", folder, "-c", file}
	case "caddy":
		file := write("Caddyfile", "{\n\tadmin off\n\tauto_https off\n\tpersist_config off\n}\n"+fill(recipe(t, "Caddy"))+"\n")
		args = []string{"run", "--config", file, "--adapter", "caddyfile"}
	case "traefik":
		dynamic := write("dynamic.yaml", fill(recipe(t, "Traefik")))
		static := fmt.Sprintf("entryPoints: {web: {address: \"127.0.0.1:%d\"}}\nproviders: {file: {filename: %q}}\nlog: {level: WARN}\nglobal: {checkNewVersion: false, sendAnonymousUsage: false}\n", p.Port, dynamic)
		args = []string{"--configFile=" + write("traefik.yaml", static)}
	case "haproxy":
		args = []string{"-db", "-f", write("haproxy.cfg", fill(recipe(t, "HAProxy"))+"\n")}
	case "envoy":
		args = []string{"-c", write("envoy.yaml", envoyConfig(p.Port, upstream, gate, recipe(t, "Envoy and Istio"))), "--disable-hot-restart", "--concurrency", "1", "-l", "warn"}
	}
	p.Process = Start(t, p.Port, []string{"HOME=" + folder, "XDG_DATA_HOME=" + folder}, path, args...)
	if name == "traefik" { // listens before it has read its routers
		require.Eventually(t, func() bool {
			res, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/", p.Port)) //nolint:noctx // a probe
			return err == nil && res.Body.Close() == nil && res.StatusCode != http.StatusNotFound
		}, patience, 20*time.Millisecond, "Traefik has its router")
	}
	return p
}

// temporary puts the temporary files of nginx into a folder.
func temporary(folder string) string {
	var b strings.Builder
	for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		fmt.Fprintf(&b, "%s_temp_path %s/%s;\n", kind, folder, kind)
	}
	return b.String()
}

// envoyConfig is a bootstrap with the filter of the recipe.
func envoyConfig(port, upstream, gate int, filter string) string {
	lines := strings.Split(filter, "\n")
	return fmt.Sprintf(`static_resources:
  listeners:
  - address: {socket_address: {address: 127.0.0.1, port_value: %d}}
    filter_chains:
    - filters:
      - name: envoy.filters.network.http_connection_manager
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
          stat_prefix: web
          route_config: {virtual_hosts: [{name: app, domains: ["*"], routes: [{match: {prefix: "/"}, route: {cluster: app}}]}]}
          http_filters:
          - %s
          - name: envoy.filters.http.router
            typed_config: {"@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router}
  clusters:
  - {name: app, type: STATIC, load_assignment: {cluster_name: app, endpoints: [{lb_endpoints: [{endpoint: {address: {socket_address: {address: 127.0.0.1, port_value: %d}}}}]}]}}
  - name: countersign
    type: STATIC
    typed_extension_protocol_options:
      envoy.extensions.upstreams.http.v3.HttpProtocolOptions:
        "@type": type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions
        explicit_http_config: {http2_protocol_options: {}}
    load_assignment: {cluster_name: countersign, endpoints: [{lb_endpoints: [{endpoint: {address: {socket_address: {address: 127.0.0.1, port_value: %d}}}}]}]}
`, port, strings.Join(lines, "\n            "), upstream, gate)
}
