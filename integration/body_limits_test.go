package integration_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// tooLarge is the size of a body that every operation refuses.
const tooLarge = 6 << 20

// requireTooLarge requires the problem body_too_large.
func requireTooLarge(t *testing.T, status int, body []byte) {
	t.Helper()
	require.Equal(t, http.StatusRequestEntityTooLarge, status, "%s", body)
	var problem struct {
		Code string `json:"code"`
	}
	require.NoError(t, json.Unmarshal(body, &problem), "%s", body)
	require.Equal(t, "body_too_large", problem.Code)
}

// A client that is still sending its body gets a response and not a broken connection, also through a proxy.
func TestOversizedBodyGetsAResponse(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	target, err := url.Parse(shared.baseURL)
	require.NoError(t, err)
	// Now and then Go's transport closes the connection that it still writes to, and loses the response that it has read. What the service closes is
	// another error.
	const lost = "Lost"
	behind := httputil.NewSingleHostReverseProxy(target)
	behind.ErrorHandler = func(res http.ResponseWriter, _ *http.Request, err error) {
		if errors.Is(err, net.ErrClosed) {
			res.Header().Set(lost, err.Error())
		}
		res.WriteHeader(http.StatusBadGateway)
	}
	proxy := httptest.NewServer(behind)
	t.Cleanup(proxy.Close)
	for name, base := range map[string]string{"directly": shared.baseURL, "through a proxy": proxy.URL} {
		for form, size := range map[string]int64{"of known length": tooLarge, "chunked": -1} {
			t.Run(name+"/"+form, func(t *testing.T) {
				t.Parallel()
				client := &http.Client{Transport: &http.Transport{}}
				t.Cleanup(client.CloseIdleConnections)
				for tries, refused := 0, 0; refused < 10; tries++ {
					require.Less(t, tries, 30)
					body := io.LimitReader(endless('x'), tooLarge)
					req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"/api/v1/subjects", body)
					require.NoError(t, err)
					req.ContentLength = size
					req.Header.Set("Authorization", "Bearer "+w.Server.key)
					req.Header.Set("Content-Type", "application/json")
					res, err := client.Do(req)
					require.NoError(t, err)
					answered, err := io.ReadAll(res.Body)
					require.NoError(t, err)
					require.NoError(t, res.Body.Close())
					if res.Header.Get(lost) != "" {
						continue
					}
					requireTooLarge(t, res.StatusCode, answered)
					refused++
				}
			})
		}
	}
}

// endless is a reader that repeats one byte without end.
type endless byte

func (e endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(e)
	}
	return len(p), nil
}

// A simple client writes the whole request before it reads the response.
func TestOversizedBodyIsReadBeforeClosing(t *testing.T) {
	t.Parallel()
	body := strings.Repeat("x", tooLarge)
	for name, request := range map[string]string{
		"of known length": fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body),
		"chunked":         fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(body), body),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := dial(t)
			_, err := io.WriteString(conn, "POST /api/v1/subjects HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"+request)
			require.NoError(t, err, "the whole body is read")
			res, err := http.ReadResponse(bufio.NewReader(conn), nil)
			require.NoError(t, err)
			answered, err := io.ReadAll(res.Body)
			require.NoError(t, err)
			requireTooLarge(t, res.StatusCode, answered)
			require.True(t, res.Close, "the connection is closed")
		})
	}
	t.Run("headers", func(t *testing.T) {
		t.Parallel()
		conn := dial(t)
		_, err := io.WriteString(conn, "POST /api/v1/subjects HTTP/1.1\r\nHost: x\r\nX-Large: "+body+"\r\n\r\n")
		require.NoError(t, err)
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		require.NoError(t, err)
		require.Equal(t, http.StatusBadRequest, res.StatusCode)
		require.NoError(t, res.Body.Close())
	})
}

// The service reads a bounded part of an oversized body and then closes the connection.
func TestEndlessBodyIsCutOff(t *testing.T) {
	t.Parallel()
	conn := dial(t)
	_, err := io.WriteString(conn, "POST /api/v1/subjects HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000000\r\n\r\n")
	require.NoError(t, err)
	_, err = io.Copy(conn, io.LimitReader(endless('x'), 1<<30))
	require.Error(t, err, "a gigabyte is not read")
}

// The service does not wait for a client that stops sending: it responds and closes the connection.
func TestIdleClientIsDisconnected(t *testing.T) {
	t.Parallel()
	conn := dial(t)
	_, err := io.WriteString(conn, "POST /api/v1/subjects HTTP/1.1\r\nHost: x\r\nContent-Length: 2000000\r\n\r\nx")
	require.NoError(t, err)
	answered, err := io.ReadAll(conn)
	require.NoError(t, err, "the server closes its side")
	require.Contains(t, string(answered), "body_too_large")
	eventually(t, func() bool {
		_, err := conn.Write([]byte("x"))
		return err != nil
	}, "the connection is closed")
}

func dial(t *testing.T) net.Conn {
	t.Helper()
	u, err := url.Parse(shared.baseURL)
	require.NoError(t, err)
	conn, err := net.Dial("tcp", u.Host)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func TestOversizedBodyGetsAResponseInNode(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("Node is not installed")
	}
	const program = `
const [url, size] = process.argv.slice(1);
for (let i = 0; i < 10; i++) {
  const r = await fetch(url, {method: 'POST', headers: {'content-type': 'application/json'}, body: 'x'.repeat(Number(size))});
  console.log(r.status, (await r.json()).code);
}`
	cmd := exec.CommandContext(t.Context(), "node", "--input-type=module", "-e", program, shared.baseURL+"/api/v1/subjects", fmt.Sprint(tooLarge))
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Equal(t, strings.Repeat("413 body_too_large\n", 10), string(out))
}

func TestBodySizeLimits(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	session := w.Server.post(t, "/api/v1/sessions", object{"subject": w.subject(t)}).is(201).string("id")
	frame := func(size int) []byte {
		body := `{"frame_id":"f","timestamp":1,"duration_ms":1,"features":{"x":""},"pad":"`
		return []byte(body + strings.Repeat("a", size-len(body)-2) + `"}`)
	}
	path := "/api/v1/sessions/" + session + "/evidence"
	require.Equal(t, "rejected", w.Server.post(t, path, frame(256<<10)).is(200).string("status"), "a frame may have 256 KiB")
	w.Server.post(t, path, frame(256<<10+1)).problem(413, "body_too_large")
	w.Server.post(t, "/api/v1/subjects", frame(64<<10+1)).problem(413, "body_too_large")
}
