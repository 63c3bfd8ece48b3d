package integration_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/cookiejar"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestExamplesPage runs the commands of examples/README.md with the Go shop, and buys what a reviewer must approve: only a forwarded
// event settles that order. integration/browser buys in both shops.
func TestExamplesPage(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	work, bin := developerFolder(t, w), t.TempDir()
	repository, err := filepath.Abs("..")
	require.NoError(t, err)
	require.NoError(t, os.Symlink(filepath.Join(repository, "examples"), filepath.Join(work, "examples")))
	require.NoError(t, os.Symlink(bin, filepath.Join(work, "bin")))
	buildService(t, bin)
	runShell(t, "..", `go build -o "$BIN/shop" ./examples/shop/go`, "BIN="+bin)

	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	port := l.Addr().(*net.TCPAddr).Port
	require.NoError(t, l.Close())
	origin := fmt.Sprintf("http://localhost:%d", port)
	script := strings.NewReplacer(
		"(cd examples/shop/express && npm ci --ignore-scripts && npm start)   # or: go run ./examples/shop/go", "bin/shop",
		"http://localhost:3000", origin, "http://localhost:8080", shared.baseURL,
	).Replace(codeBlocks(t, "../examples/README.md", "sh"))
	require.Contains(t, script, "\nbin/shop\n")
	cmd := exec.Command("bash", "-eo", "pipefail", "-c", script)
	cmd.Dir, cmd.Env = work, append(os.Environ(), fmt.Sprintf("PORT=%d", port))
	out := startScript(t, cmd)

	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	customer := &http.Client{Jar: jar, Timeout: time.Minute}
	ask := func(method, path string, body object) (answer map[string]string, err error) {
		text, err := json.Marshal(body)
		require.NoError(t, err)
		req, err := http.NewRequestWithContext(t.Context(), method, origin+path, bytes.NewReader(text))
		require.NoError(t, err)
		res, err := customer.Do(req)
		if err != nil {
			return nil, err
		}
		defer func() { _ = res.Body.Close() }()
		return answer, json.NewDecoder(res.Body).Decode(&answer)
	}
	eventually(t, func() bool {
		_, err := ask(http.MethodPost, "/sign-in", nil)
		return err == nil
	}, "the shop listens")
	eventually(t, func() bool { // events are forwarded from the moment that the stream is open
		_, err := ask(http.MethodPost, "/orders", object{"item": "book"})
		return err == nil && strings.Contains(out.String(), "authorization.decided")
	}, "the forwarder listens")
	order, err := ask(http.MethodPost, "/orders", object{"item": "gift_card"})
	require.NoError(t, err)
	require.Equal(t, "held", order["status"])
	held := w.Server.get(t, "/api/v1/reviews").is(200).list()
	require.Len(t, held, 1)
	w.Admin.post(t, "/api/v1/authorizations/"+held[0]["authorization"].(string)+"/review", object{"resolution": "approve"}).is(200)
	eventually(t, func() bool {
		now, err := ask(http.MethodGet, "/orders/"+order["id"], nil)
		return err == nil && now["status"] == "paid"
	}, "the forwarded event settles the order")
}
