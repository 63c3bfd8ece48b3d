package gatetest

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// MCPConfig describes an MCP gateway.
type MCPConfig struct {
	ServiceURL, Key string
	Issuer          *Issuer
	Subject         string // of a gateway over stdio
	Servers         string // YAML
	Origin          string // of pages that may send requests; empty for none
	Env             []string
}

// MCP is the file of an MCP gateway, which StartMCP serves over HTTP and Stdio runs for one client.
type MCP struct {
	*Process
	File, URL        string
	Port, Operations int
	env              []string
}

// NewMCP writes the file of an MCP gateway, and accepts the tools of its servers.
func NewMCP(t testing.TB, c MCPConfig) *MCP {
	t.Helper()
	m := &MCP{File: filepath.Join(t.TempDir(), "mcp.yaml"), Port: FreePort(t), Operations: FreePort(t)}
	m.URL = fmt.Sprintf("http://127.0.0.1:%d", m.Port)
	origins := ""
	if c.Origin != "" {
		origins = fmt.Sprintf(", origins: [%q]", c.Origin)
	}
	text := fmt.Sprintf(`service: {url: %q, key: {env: GATE_KEY}, timeout: 20s}
state: {keys: [{env: GATE_STATE}]}
identity:
  jwt: {issuer: %q, audience: app, algorithms: [ES256], type: at+jwt, jwks: %q}
  process: {subject: %q, agent: shopper}
listen: {http: {address: "127.0.0.1:%d"}, url: %q, operations: "127.0.0.1:%d"%s}
servers:
%s`, c.ServiceURL, c.Issuer.URL, c.Issuer.URL+"/jwks.json", c.Subject, m.Port, m.URL, m.Operations, origins, c.Servers)
	require.NoError(t, os.WriteFile(m.File, []byte(text), 0o600))
	m.env = append(append(os.Environ(), "GATE_KEY="+c.Key, "GATE_STATE="+strings.Repeat("state-key-", 4)), c.Env...)
	m.Accept(t)
	return m
}

// Accept accepts the tools of all servers, and returns what is printed.
func (m *MCP) Accept(t testing.TB) string {
	t.Helper()
	cmd := m.Command(t, "mcp", "accept", "--config", m.File)
	output, err := cmd.CombinedOutput()
	require.NoError(t, err, string(output))
	return string(output)
}

// Command returns a run of the program with the secrets of the file.
func (m *MCP) Command(t testing.TB, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(Binary(t, ""), args...)
	cmd.Env = m.env
	return cmd
}

// Stdio returns the gateway in front of one server over stdio.
func (m *MCP) Stdio(t testing.TB, server string) *exec.Cmd {
	t.Helper()
	return m.Command(t, "mcp", server, "--config", m.File)
}

// Serve starts the gateway over HTTP.
func (m *MCP) Serve(t testing.TB) {
	t.Helper()
	m.Process = Start(t, m.Port, m.env, Binary(t, ""), "mcp", "--config", m.File)
}

// Metrics returns the metrics of the gateway.
func (m *MCP) Metrics(t testing.TB) string {
	t.Helper()
	res, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/metrics", m.Operations))
	require.NoError(t, err)
	defer func() { _ = res.Body.Close() }()
	return readAll(t, res)
}
