package api

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/transport/linger"
	"github.com/countersign-dev/countersign/internal/transport/request"
)

// listening serves pages behind the chain and a lingering listener, and returns the address.
func listening(t *testing.T, pages func(app *fiber.App)) string {
	t.Helper()
	app, err := New(t.Context(), Config{}, Deps{Deps: quiet(), Pages: pages})
	require.NoError(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	served := make(chan error, 1)
	go func() { served <- app.Listener(linger.NewListener(l)) }()
	t.Cleanup(func() {
		require.NoError(t, app.Shutdown())
		require.NoError(t, <-served)
	})
	return l.Addr().String()
}

// A request with ambiguous framing gets a 400 and its connection is closed: the bytes behind it are never handled as a request.
func TestAmbiguousFramingIsRefused(t *testing.T) {
	t.Parallel()
	at := listening(t, func(app *fiber.App) {
		app.All("/seen/*", func(c *fiber.Ctx) error { return c.SendString("saw " + c.Method() + " " + string(request.Body(c))) })
	})
	const (
		end   = "0\r\n\r\n"
		first = "POST /seen/first HTTP/1.1\r\nHost: x\r\n"
		next  = "GET /seen/next HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
	)
	// all sends the text and returns the statuses and bodies received until the server closes the connection.
	all := func(t *testing.T, text string) (statuses []int, bodies string) {
		t.Helper()
		conn, err := net.Dial("tcp", at)
		require.NoError(t, err)
		defer func() { _ = conn.Close() }()
		require.NoError(t, conn.SetDeadline(time.Now().Add(time.Minute)))
		_, err = io.WriteString(conn, text)
		require.NoError(t, err)
		for r := bufio.NewReader(conn); ; {
			res, err := http.ReadResponse(r, nil)
			if err != nil {
				return statuses, bodies
			}
			body, err := io.ReadAll(res.Body)
			require.NoError(t, err)
			require.NoError(t, res.Body.Close())
			statuses, bodies = append(statuses, res.StatusCode), bodies+string(body)
		}
	}
	for name, head := range map[string]string{
		"length and encoding":       "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n" + end,
		"encoding and length":       "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n" + end,
		"encoding twice":            "Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n\r\n" + end,
		"chunked is not the last":   "Transfer-Encoding: chunked, identity\r\n\r\n" + end,
		"an encoding before it":     "Transfer-Encoding: gzip, chunked\r\n\r\n" + end,
		"another encoding":          "Transfer-Encoding: xchunked\r\nContent-Length: 0\r\n\r\n",
		"nearly chunked":            "Transfer-Encoding: \x0bchunked\r\n\r\n" + end,
		"a bare return in front":    "Transfer-Encoding: \rchunked\r\n\r\n" + end,
		"a space before the colon":  "Transfer-Encoding : chunked\r\nContent-Length: 0\r\n\r\n",
		"two lengths":               "Content-Length: 5\r\nContent-Length: 0\r\n\r\n",
		"the same length twice":     "Content-Length: 0\r\nContent-Length: 0\r\n\r\n",
		"a length in another case":  "Content-Length: 5\r\ncontent-length: 0\r\n\r\n",
		"a list of lengths":         "Content-Length: 0, 5\r\n\r\n",
		"a signed length":           "Content-Length: +0\r\n\r\n",
		"two hosts":                 "Host: y\r\nContent-Length: 0\r\n\r\n",
		"two credentials":           "Authorization: Bearer a\r\nauthorization: Bearer b\r\nContent-Length: 0\r\n\r\n",
		"the same credential twice": "Authorization: Bearer a\r\nX: y\r\nAuthorization: Bearer a\r\nContent-Length: 0\r\n\r\n",
		"two keys of a repeat":      "Idempotency-Key: a\r\nIdempotency-Key: b\r\nContent-Length: 0\r\n\r\n",
		"two types of the body":     "Content-Type: text/plain\r\nContent-Type: application/json\r\nContent-Length: 0\r\n\r\n",
		"two origins":               "Origin: https://a\r\nOrigin: https://b\r\nContent-Length: 0\r\n\r\n",
		"two encodings of the body": "Content-Encoding:\r\nContent-Encoding: gzip\r\nContent-Length: 0\r\n\r\n",
		"two last events":           "Last-Event-ID: 1\r\nLAST-EVENT-ID: 2\r\nContent-Length: 0\r\n\r\n",
		"a NUL in a value":          "X: a\x00b\r\nContent-Length: 0\r\n\r\n",
		"a folded line":             "X: a\r\n Content-Length: 5\r\n\r\n",
		"a size that is no number":  "Transfer-Encoding: chunked\r\n\r\n0x1\r\nX\r\n" + end,
		"a size beyond any integer": "Transfer-Encoding: chunked\r\n\r\n10000000000000001\r\nX\r\n" + end,
		"a bare LF in an extension": "Transfer-Encoding: chunked\r\n\r\n2;\nxx\r\nNN\n" + end,
		"a bare CR in an extension": "Transfer-Encoding: chunked\r\n\r\n2;\rxx\r\nNN\r\n" + end,
		"a NUL in an extension":     "Transfer-Encoding: chunked\r\n\r\n2;a\x00\r\nNN\r\n" + end,
		"an empty extension":        "Transfer-Encoding: chunked\r\n\r\n2;\r\nNN\r\n" + end,
		"a long extension":          "Transfer-Encoding: chunked\r\n\r\n2;" + strings.Repeat("x", 300) + "\r\nNN\r\n" + end,
		"a space behind the size":   "Transfer-Encoding: chunked\r\n\r\n2 \r\nNN\r\n" + end,
		"a signed size":             "Transfer-Encoding: chunked\r\n\r\n+2\r\nNN\r\n" + end,
		"a bare LF behind the size": "Transfer-Encoding: chunked\r\n\r\n2\nNN\r\n" + end,
		"a bare LF behind a chunk":  "Transfer-Encoding: chunked\r\n\r\n2\r\nNN\n" + end,
		"a chunk beyond its size":   "Transfer-Encoding: chunked\r\n\r\n2\r\nNNN\r\n" + end,
		"a trailer":                 "Transfer-Encoding: chunked\r\n\r\n0\r\nCookie: a=b\r\n\r\n",
		"a trailer that ends early": "Transfer-Encoding: chunked\r\n\r\n0\r\n\n",
		"a bare LF in the header":   "X: a\nContent-Length: 0\r\n\r\n",
		"a bare LF at its end":      "Content-Length: 0\r\n\n",
		"a name with a space":       "Content Length: 0\r\n\r\n",
		"no name":                   ": a\r\n\r\n",
		"no colon":                  "Content-Length\r\n\r\n",
		"an empty length":           "Content-Length: \r\n\r\n",
		"a hexadecimal length":      "Content-Length: 0x0\r\n\r\n",
		"a length beyond all":       "Content-Length: 99999999999999999999\r\n\r\n",
		"a control character":       "X: a\x7fb\r\nContent-Length: 0\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			statuses, bodies := all(t, first+head+next)
			require.Equal(t, []int{400}, statuses, bodies)
			require.NotContains(t, bodies, "saw")
		})
	}
	for name, text := range map[string]string{
		"no host":                  "GET /seen HTTP/1.1\r\n\r\n",
		"an empty host":            "GET /seen HTTP/1.1\r\nHost:\r\n\r\n",
		"a host with a user":       "GET /seen HTTP/1.1\r\nHost: a@b\r\n\r\n",
		"a list of hosts":          "GET /seen HTTP/1.1\r\nHost: a, b\r\n\r\n",
		"another host in the line": "GET http://y/seen HTTP/1.1\r\nHost: x\r\n\r\n",
		"HTTP/0.9":                 "GET /seen\r\n",
		"HTTP/2":                   "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
		"HTTP/1.2":                 "GET /seen HTTP/1.2\r\nHost: x\r\n\r\n",
		"a target with a space":    "GET /seen a HTTP/1.1\r\nHost: x\r\n\r\n",
		"a tab for a space":        "GET\t/seen HTTP/1.1\r\nHost: x\r\n\r\n",
		"a fragment":               "GET /seen#a HTTP/1.1\r\nHost: x\r\n\r\n",
		"no path":                  "GET seen HTTP/1.1\r\nHost: x\r\n\r\n",
		"a bare LF":                "GET /seen HTTP/1.1\nHost: x\r\n\r\n",
		"a space in front":         " GET /seen HTTP/1.1\r\nHost: x\r\n\r\n",
	} {
		statuses, bodies := all(t, text+next)
		require.Equal(t, []int{400}, statuses, "%s: %s", name, bodies)
		statuses, bodies = all(t, strings.Replace(next, "Connection: close\r\n", "", 1)+text+next)
		require.Equal(t, []int{200, 400}, statuses, "%s, behind a valid request: %s", name, bodies)
	}
	old, _ := all(t, "POST /seen/first HTTP/1.0\r\nHost: x\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n"+end+next)
	require.Equal(t, []int{400}, old, "HTTP/1.0 has no encoding")

	for name, head := range map[string]string{
		"a length":                "Content-Length: 2\r\n\r\nok",
		"chunked":                 "Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n" + end,
		"chunked in another case": "transfer-encoding:   Chunked \r\n\r\n2;name=value\r\nok\r\n" + end,
	} {
		statuses, bodies := all(t, first+head+next)
		require.Equal(t, []int{200, 200}, statuses, "%s: %s", name, bodies)
		require.Equal(t, "saw POST oksaw GET ", bodies, name)
	}
	for name, text := range map[string]string{
		"the target has the host": "GET http://x/seen/ HTTP/1.1\r\nHost: X\r\nConnection: close\r\n\r\n",
		"HTTP/1.0 without a host": "GET /seen/ HTTP/1.0\r\n\r\n",
		"an empty line in front":  "\r\nGET /seen/ HTTP/1.1\r\nHost: [::1]:80\r\nConnection: close\r\n\r\n",
	} {
		statuses, bodies := all(t, text)
		require.Equal(t, []int{200}, statuses, "%s: %s", name, bodies)
	}
}

// A body that claims a content coding is refused on every route, and never expanded.
func TestEncodedBodiesAreRefused(t *testing.T) {
	t.Parallel()
	at := listening(t, func(app *fiber.App) {
		app.All("/seen", func(c *fiber.Ctx) error { return c.Send(request.Body(c)) })
	})
	for name, c := range map[string]struct {
		codings []string
		status  int
	}{
		"none": {nil, 200}, "identity": {[]string{"Identity"}, 200}, "gzip": {[]string{"gzip"}, 415}, "twice": {[]string{"gzip, gzip"}, 415},
		"two lines": {[]string{"identity", "gzip"}, 400}, "br": {[]string{"br"}, 415}, "unknown": {[]string{"x"}, 415}, "a list": {[]string{"identity, deflate"}, 415},
	} {
		for _, path := range []string{"/seen", "/api/v1/authorize", "/api/v1/openapi.json", "/nowhere"} {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+at+path, strings.NewReader("plain"))
			require.NoError(t, err)
			req.Header["Content-Encoding"] = c.codings
			res, err := http.DefaultClient.Do(req)
			require.NoError(t, err)
			body, err := io.ReadAll(res.Body)
			require.NoError(t, err)
			require.NoError(t, res.Body.Close())
			if path == "/seen" || c.status != 200 {
				require.Equal(t, c.status, res.StatusCode, "%s %s: %s", name, path, body)
			}
		}
	}
}

// A segment of a path is one segment for every reader: an encoded slash never selects another operation.
func TestAmbiguousPathsAreNotFound(t *testing.T) {
	t.Parallel()
	at := listening(t, func(app *fiber.App) {
		app.Get("/seen/:name", func(c *fiber.Ctx) error { return c.SendString(c.Params("name")) })
		app.Get("/seen/:name/more/:part", func(c *fiber.Ctx) error { return c.SendString("another operation") })
	})
	ask := func(target string) (int, string) {
		conn, err := net.Dial("tcp", at)
		require.NoError(t, err)
		defer func() { _ = conn.Close() }()
		_, err = io.WriteString(conn, "GET "+target+" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
		require.NoError(t, err)
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		require.NoError(t, err)
		defer func() { _ = res.Body.Close() }()
		body, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		return res.StatusCode, string(body)
	}
	for _, path := range []string{
		"/seen/a%2Fmore%2Fb", "/seen/a%2fmore%2fb", "/seen/a%5Cmore%5cb", `/seen/a\more\b`, "/seen/a/more%2Fb", "/seen%2Fa", "/%2e/seen/a", "/seen/..", "/seen/%2E%2e",
		"/seen/.%2e/x", "/seen/.", "//seen/a", "/seen//a", "/seen/a%", "/seen/a%zz", "/seen/a%2", "/SEEN/a", "/seen/a/", "/x/../seen/a", "/seen/a/./more/b", "/seen/a%2F",
	} {
		status, body := ask(path)
		require.Equal(t, 404, status, "%s: %s", path, body)
	}
	for path, want := range map[string]string{
		"/seen/a%252Fb": "a%2Fb", "/seen/a;b=c": "a;b=c", "/seen/a+b": "a+b", "/seen/a%2Bb%20c": "a+b c", "/seen/%C3%BC": "ü", "/seen/...": "...", "/seen/a?b=/..//%2F": "a",
	} {
		status, body := ask(path)
		require.Equal(t, 200, status, path)
		require.Equal(t, want, body, path)
	}
	for _, query := range []string{"a=%00", "%00=a", "a=%ff", "a=b&c=%c0%af"} {
		status, _ := ask("/seen/a?" + query)
		require.Equal(t, 422, status, query)
	}
}

// A request that does not arrive in time gets a response that says so. A connection that was only opened gets none: it could be taken
// for the response to the request that the client is about to send.
func TestRequestThatDoesNotArriveInTime(t *testing.T) {
	t.Parallel()
	at := listening(t, func(app *fiber.App) { app.Server().ReadTimeout = 50 * time.Millisecond })
	for name, c := range map[string]struct{ sent, detail string }{
		"nothing":              {},
		"a part of the header": {"POST /seen HTTP/1.1\r\nHost", "did not arrive completely in time"},
		"a part of the body":   {"POST /seen HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{", "did not arrive completely in time"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn, err := net.Dial("tcp", at)
			require.NoError(t, err)
			defer func() { _ = conn.Close() }()
			require.NoError(t, conn.SetDeadline(time.Now().Add(time.Minute)))
			_, err = io.WriteString(conn, c.sent)
			require.NoError(t, err)
			received, err := io.ReadAll(conn)
			require.NoError(t, err)
			if c.detail == "" {
				require.Empty(t, string(received))
				return
			}
			require.True(t, strings.HasPrefix(string(received), "HTTP/1.1 400 "), string(received))
			require.Contains(t, string(received), c.detail)
		})
	}
}

func TestHeaderSizeLimit(t *testing.T) {
	t.Parallel()
	at := listening(t, func(app *fiber.App) {
		app.Get("/seen", func(c *fiber.Ctx) error { return c.SendStatus(fiber.StatusNoContent) })
	})
	ask := func(size int) (int, string) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+at+"/seen", nil)
		require.NoError(t, err)
		req.Header.Set("X-Large", strings.Repeat("x", size))
		res, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		defer func() { _ = res.Body.Close() }()
		body, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		return res.StatusCode, string(body)
	}
	status, _ := ask(request.MaxHeaderBytes - 512)
	require.Equal(t, http.StatusNoContent, status)
	status, body := ask(request.MaxHeaderBytes)
	require.Equal(t, http.StatusBadRequest, status)
	require.Contains(t, body, "8 KiB")
}
