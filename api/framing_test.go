package api

import (
	"bufio"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/countersign-dev/countersign/internal/transport/request"

	"github.com/gofiber/fiber/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/transport/linger"
)

// listening serves pages behind the chain and a lingering listener, and returns the address.
func listening(t *testing.T, pages func(app *fiber.App)) string {
	t.Helper()
	app, err := New(t.Context(), Config{}, Deps{Log: slog.New(slog.DiscardHandler), Metrics: NewMetrics(prometheus.NewRegistry()), Pages: pages})
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
		app.All("/seen/*", func(c *fiber.Ctx) error { return c.SendString("saw " + c.Method() + " " + string(c.Body())) })
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
		"a NUL in a value":          "X: a\x00b\r\nContent-Length: 0\r\n\r\n",
		"a folded line":             "X: a\r\n Content-Length: 5\r\n\r\n",
		"a size that is no number":  "Transfer-Encoding: chunked\r\n\r\n0x1\r\nX\r\n" + end,
		"a size beyond any integer": "Transfer-Encoding: chunked\r\n\r\n10000000000000001\r\nX\r\n" + end,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			statuses, bodies := all(t, first+head+next)
			require.Equal(t, []int{400}, statuses, bodies)
			require.NotContains(t, bodies, "saw")
		})
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
