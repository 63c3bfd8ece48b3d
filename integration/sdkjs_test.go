package integration_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/models"
)

const packageJS = "../sdk/js"

// examples returns the programs in the README of the JavaScript package, by name.
func examples(t *testing.T) map[string]string {
	t.Helper()
	readme, err := os.ReadFile(filepath.Join(packageJS, "README.md"))
	require.NoError(t, err)
	out := map[string]string{}
	for _, part := range strings.Split(string(readme), "<!-- example: ")[1:] {
		name, rest, _ := strings.Cut(part, " -->\n```js\n")
		code, _, found := strings.Cut(rest, "\n```")
		require.True(t, found, "example %q has no code", name)
		out[name] = code
	}
	return out
}

// node prepares an example as a program, not yet started. It is in the package's folder, so that it imports the package by name.
func node(t *testing.T, code string, env ...string) (*exec.Cmd, *syncBuffer) {
	t.Helper()
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("Node is not installed")
	}
	if _, err := os.Stat(filepath.Join(packageJS, "dist", "server.js")); err != nil {
		t.Skip("the package is not built: make test-js builds it")
	}
	require.NoError(t, os.MkdirAll(filepath.Join(packageJS, ".build"), 0o755))
	dir, err := os.MkdirTemp(filepath.Join(packageJS, ".build"), "example-")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	require.NoError(t, os.WriteFile(filepath.Join(dir, "example.mjs"), []byte(code), 0o644))
	cmd := exec.CommandContext(t.Context(), "node", "example.mjs")
	out := &syncBuffer{}
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, append(os.Environ(), env...), out, out
	return cmd, out
}

func TestJavaScriptSDKExamples(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, allowed := w.action(t, "enforce", allowing)
	_, challenged := w.action(t, "enforce", challenging)
	subject := w.subject(t)
	for name, c := range map[string]struct {
		example, action string
		wants           []string
	}{
		"client":                   {"client", allowed, []string{"active 900", "404 not_found", allowed}},
		"decide":                   {"decide", allowed, []string{"allow", "requirements_met"}},
		"proof":                    {"proof", allowed, []string{"verified " + allowed, "used true"}},
		"proof behind a challenge": {"proof", challenged, []string{"verified " + challenged, "used true"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd, out := node(t, examples(t)[c.example], "COUNTERSIGN_URL="+shared.baseURL, "COUNTERSIGN_KEY="+w.Server.key, "SUBJECT="+subject, "ACTION="+c.action)
			require.NoError(t, cmd.Run(), "%s", out)
			for _, want := range c.wants {
				require.Contains(t, out.String(), want)
			}
		})
	}
	t.Run("webhook", func(t *testing.T) {
		t.Parallel()
		port := freePort(t)
		endpoint := w.Admin.post(t, "/api/v1/webhook-endpoints", object{"url": fmt.Sprintf("http://127.0.0.1:%d/countersign", port)}).is(201)
		out := served(t, "webhook", port, "WEBHOOK_SECRET="+endpoint.string("secret"))
		test := w.Admin.post(t, "/api/v1/webhook-endpoints/"+endpoint.string("id")+"/test", nil).is(200)
		require.EqualValues(t, 204, test.value("status_code"), "response: %s; output of the receiver: %s", test.body, out)
		require.Contains(t, out.String(), "webhook.test")
	})
	t.Run("gate", func(t *testing.T) {
		t.Parallel()
		port := freePort(t)
		origin := fmt.Sprintf("http://127.0.0.1:%d", port)
		w := newSandbox(t)
		w.Admin.patch(t, "/api/v1/environment", object{"return_origins": []string{origin}}).is(200)
		_, action := w.action(t, "enforce", challenging)
		env := []string{"COUNTERSIGN_URL=" + shared.baseURL, "COUNTERSIGN_KEY=" + w.Server.key, "ACTION=" + action, "ORIGIN=" + origin}
		served(t, "gate", port, append(env, "SUBJECT="+w.subject(t))...)
		shop := func(method, path, proof string, body any) response {
			t.Helper()
			a, err := caller{base: origin, header: map[string]string{"Countersign-Proof": proof}}.send(method, path, body)
			require.NoError(t, err)
			a.t = t
			return a
		}
		transfer := object{"to": "acc-1", "amount": 250}
		refused := shop("POST", "/transfer", "", transfer).is(401)
		confirmation := "/confirmations/" + refused.string("authorization")
		shop("GET", confirmation, "", nil).is(404)
		require.Contains(t, shop("POST", confirmation, "", nil).is(200).string("url"), "/challenge/chl_")
		w.Server.post(t, "/api/v1/challenges/"+refused.string("challenge.id")+"/complete", object{"method": "sandbox_confirm"}).is(200)
		proof := shop("GET", confirmation, "", nil).is(200).string("proof")
		shop("POST", "/transfer", proof, object{"to": "acc-1", "amount": 9999}).is(403)
		require.EqualValues(t, 250, shop("POST", "/transfer", proof, transfer).is(200).value("sent"))
		shop("POST", "/transfer", proof, transfer).is(403)
		foreign := "/confirmations/" + w.authorize(t, w.subject(t), action, "challenge").string("id")
		shop("GET", foreign, "", nil).is(404)
		shop("POST", foreign, "", nil).is(404)
	})
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	return l.Addr().(*net.TCPAddr).Port
}

// served runs an example that listens on a port until the test ends, and returns its output.
func served(t *testing.T, example string, port int, env ...string) *syncBuffer {
	t.Helper()
	cmd, out := node(t, examples(t)[example], append(env, fmt.Sprintf("PORT=%d", port))...)
	cmd.WaitDelay = time.Second
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	})
	eventually(t, func() bool { return strings.Contains(out.String(), "listening") }, "the example listens")
	return out
}

// The gate of the JavaScript package is tested with the official MCP client and server.
func TestJavaScriptMCPGateLive(t *testing.T) {
	t.Parallel()
	requireMCP(t)
	testJavaScriptMCPGate(t, filepath.Dir(packageJS))
}

func testJavaScriptMCPGate(t *testing.T, sdks string) {
	t.Helper()
	w := newSandbox(t)
	run := exec.CommandContext(t.Context(), "node", "scripts/test.mjs", "mcp")
	run.Dir = filepath.Join(sdks, "js")
	requireLive(t, run, "REPORTER=tap", "BUILD=.build-live", "COUNTERSIGN_AHEAD_URL="+replicaAhead(t, time.Hour),
		"COUNTERSIGN_KEY="+w.issue(t, models.ScopeAdmin, nil), "COUNTERSIGN_REVIEWER_KEY="+w.Server.key)
}

// requireMCP skips a test that needs the MCP SDK for JavaScript.
func requireMCP(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("Node is not installed")
	}
	if _, err := os.Stat(filepath.Join(packageJS, "node_modules", "@modelcontextprotocol")); err != nil {
		t.Skip("the packages are not installed: make test installs them")
	}
}
