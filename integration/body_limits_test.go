package integration_test

import (
	"bufio"
	"bytes"
	"encoding/json"
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

// A proof that is not recognised is unknown, whatever its jti looks like.
func TestProofStatusAcceptsAnyJTI(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	const absent = "prf_01jqx3k5v8e2sbyk0c4m7t9wzd"
	want := w.Server.get(t, "/api/v1/proofs/"+absent+"/status").is(200)
	require.Equal(t, "unknown", want.string("status"))
	for name, jti := range map[string]string{
		"long":              strings.Repeat("j", 4000),
		"a UUID":            "0192f0c1-7c1e-7d57-9d7f-2f6c3c1a4b5e",
		"of another kind":   "azn_01jqx3k5v8e2sbyk0c4m7t9wzd",
		"punctuation":       "a=b~c!d'(e)*,;f$&",
		"spaces and quotes": `a "b" <c>`,
		"percent":           "100%",
		"letters beyond":    "прüf🙂",
		"SQL":               "' or 1=1 --",
		"NUL":               "a\x00b",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := w.Server.get(t, "/api/v1/proofs/"+url.PathEscape(jti)+"/status").is(200)
			require.Equal(t, jti, a.string("jti"))
			require.JSONEq(t, string(bytes.Replace(want.body, []byte(`"`+absent+`"`), quoted(t, jti), 1)), string(a.body))
		})
	}
	w.Server.get(t, "/api/v1/proofs/%ff%fe/status").is(200)
}

func quoted(t *testing.T, s string) []byte {
	t.Helper()
	out, err := json.Marshal(s)
	require.NoError(t, err)
	return out
}

// tooLarge is a body that no operation takes.
const tooLarge = 6 << 20

// requireTooLarge holds an answer to be the problem of a body that is too large.
func requireTooLarge(t *testing.T, status int, body []byte) {
	t.Helper()
	require.Equal(t, http.StatusRequestEntityTooLarge, status, "%s", body)
	var problem struct {
		Code string `json:"code"`
	}
	require.NoError(t, json.Unmarshal(body, &problem), "%s", body)
	require.Equal(t, "body_too_large", problem.Code)
}

// A client that is still sending its body gets the answer and no broken connection, also by way of a proxy.
func TestOversizedBodyGetsAResponse(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	target, err := url.Parse(shared.baseURL)
	require.NoError(t, err)
	proxy := httptest.NewServer(httputil.NewSingleHostReverseProxy(target))
	t.Cleanup(proxy.Close)
	for name, base := range map[string]string{"directly": shared.baseURL, "through a proxy": proxy.URL} {
		for form, size := range map[string]int64{"of known length": tooLarge, "chunked": -1} {
			t.Run(name+"/"+form, func(t *testing.T) {
				t.Parallel()
				client := &http.Client{Transport: &http.Transport{}}
				t.Cleanup(client.CloseIdleConnections)
				for range 10 {
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
					requireTooLarge(t, res.StatusCode, answered)
				}
			})
		}
	}
}

// endless is a reader of one byte without end.
type endless byte

func (e endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(e)
	}
	return len(p), nil
}

// A plain client writes everything before it reads.
func TestOversizedBodyIsReadBeforeClosing(t *testing.T) {
	t.Parallel()
	body := strings.Repeat("x", tooLarge)
	for name, request := range map[string]string{
		"of known length": fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body),
		"chunked":         fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(body), body),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := dialled(t)
			_, err := io.WriteString(conn, "POST /api/v1/subjects HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"+request)
			require.NoError(t, err, "the whole body is taken")
			res, err := http.ReadResponse(bufio.NewReader(conn), nil)
			require.NoError(t, err)
			answered, err := io.ReadAll(res.Body)
			require.NoError(t, err)
			requireTooLarge(t, res.StatusCode, answered)
			require.True(t, res.Close, "the connection is not used again")
		})
	}
	t.Run("headers", func(t *testing.T) {
		t.Parallel()
		conn := dialled(t)
		_, err := io.WriteString(conn, "POST /api/v1/subjects HTTP/1.1\r\nHost: x\r\nX-Large: "+body+"\r\n\r\n")
		require.NoError(t, err)
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		require.NoError(t, err)
		require.Equal(t, http.StatusBadRequest, res.StatusCode)
		require.NoError(t, res.Body.Close())
	})
}

// What is read on is bounded: who never ends is cut.
func TestEndlessBodyIsCutOff(t *testing.T) {
	t.Parallel()
	conn := dialled(t)
	_, err := io.WriteString(conn, "POST /api/v1/subjects HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000000\r\n\r\n")
	require.NoError(t, err)
	_, err = io.Copy(conn, io.LimitReader(endless('x'), 1<<30))
	require.Error(t, err, "a gigabyte is not taken")
}

// A client that sends no byte more is not waited for: its connection ends after the answer.
func TestIdleClientIsDisconnected(t *testing.T) {
	t.Parallel()
	conn := dialled(t)
	_, err := io.WriteString(conn, "POST /api/v1/subjects HTTP/1.1\r\nHost: x\r\nContent-Length: 2000000\r\n\r\nx")
	require.NoError(t, err)
	answered, err := io.ReadAll(conn)
	require.NoError(t, err, "the server ends its side")
	require.Contains(t, string(answered), "body_too_large")
	eventually(t, func() bool {
		_, err := conn.Write([]byte("x"))
		return err != nil
	}, "and then the connection")
}

func dialled(t *testing.T) net.Conn {
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
		t.Skip("there is no Node")
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
