package integration_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestExampleWithoutAnSDK runs the program of examples/plain, which needs only the standard library of Python.
func TestExampleWithoutAnSDK(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("python3 is not installed")
	}
	folder, err := filepath.Abs("../examples/plain")
	require.NoError(t, err)
	w := newSandbox(t)
	action, subject := "payout.release", w.subject(t)
	path := "/api/v1/actions/" + w.Server.post(t, "/api/v1/actions", object{
		"key": action, "name": "Release a payout", "consequence": "Money leaves the account.", "resource_type": "account", "allowed_audiences": []string{"payments"},
	}).is(201).string("id")
	w.Server.post(t, path+"/policy-versions", object{"requirements": object{"coverage_min": "none", "explicit_approval_required": true}}).is(201)
	w.Server.post(t, path+"/policy-versions/1/activate", nil).is(200)
	w.Server.patch(t, path, object{"mode": "enforce"}).is(200)
	output := runShell(t, folder, "python3 payout.py "+subject+" "+action, "BASE="+shared.baseURL, "KEY="+w.Server.key)
	require.Contains(t, output, "paid to acc-1")
}

// What stands between an example and the service may send anything: it is no decision, and the program ends with its own error.
func TestTheExampleWithoutAnSDKTakesNothingElseForADecision(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("python3 is not installed")
	}
	folder, err := filepath.Abs("../examples/plain")
	require.NoError(t, err)
	const head, refusal = "HTTP/1.1 %s\r\nConnection: close\r\nContent-Length: %d\r\n%s\r\n%s", `{"code": "not_found", "title": "Not found"}`
	page := func(status, headers, body string) string { return fmt.Sprintf(head, status, len(body), headers, body) }
	for name, sent := range map[string][]string{
		"a page":                 {page("200 OK", "Content-Type: text/html\r\n", "<html>\"decision\": \"allow\"</html>")},
		"a list":                 {page("200 OK", "", `[{"decision": "allow"}]`)},
		"a text":                 {page("200 OK", "", `"allow"`)},
		"a response cut off":     {"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 500\r\n\r\n{\"decision\": "},
		"a refusal cut off":      {"HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 500\r\n\r\n{\"code\": "},
		"no HTTP":                {"220 mail.example ESMTP\r\n"},
		"bytes that are no text": {page("403 Forbidden", "Content-Type: application/problem+json\r\n", "\xff\xfe{")},
		"a wait of no number":    {page("503 Service Unavailable", "Retry-After: nan\r\n", ""), page("404 Not Found", "", refusal)},
		"an old form of date":    {page("429 Too Many Requests", "Retry-After: Sunday, 06-Nov-94 08:49:37 GMT\r\n", "busy"), page("404 Not Found", "", refusal)},
		"a date out of range":    {page("503 Service Unavailable", "Retry-After: Mon, 31 Feb 2026 99:00:00 GMT\r\n", ""), page("404 Not Found", "", refusal)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := exec.CommandContext(t.Context(), "python3", "payout.py", "user-1", "payout.release")
			run.Dir, run.Env = folder, append(os.Environ(), "BASE="+rawServer(t, sent), "KEY=sk_test_x")
			output, err := run.CombinedOutput()
			require.Error(t, err, "%s", output)
			require.Contains(t, string(output), "NoDecision")
			require.NotContains(t, string(output), "paid to")
		})
	}
}

// rawServer sends one text for each connection, the last again and again, and returns its address.
func rawServer(t *testing.T, texts []string) string {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for n := 0; ; n++ {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = http.ReadRequest(bufio.NewReader(c))
			_, _ = io.WriteString(c, texts[min(n, len(texts)-1)])
			_ = c.Close()
		}
	}()
	return "http://" + listener.Addr().String()
}
