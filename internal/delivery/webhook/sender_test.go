package webhook

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/url"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"
)

// lax permits the sender to call the test's own receivers.
var lax = Policy{AllowLoopback: true}

func message(url string) Message {
	return Message{URL: url, ID: "evt_1", At: time.Now(), Body: []byte(`{"type":"t"}`), Secrets: [][]byte{bytes.Repeat([]byte{7}, 32)}}
}

func receiver(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return srv.URL
}

func TestSendSignsTheRequest(t *testing.T) {
	t.Parallel()
	wh, err := standardwebhooks.NewWebhookRaw(bytes.Repeat([]byte{7}, 32))
	require.NoError(t, err)
	seen := make(chan error, 1)
	url := receiver(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		err := wh.Verify(body, r.Header)
		if r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json" {
			err = fmt.Errorf("%s %v", r.Method, r.Header)
		}
		seen <- err
		_, _ = w.Write([]byte("thanks"))
	})
	o := NewSender(lax).Send(t.Context(), message(url))
	require.NoError(t, <-seen)
	require.True(t, o.Succeeded)
	require.Equal(t, 200, o.StatusCode)
	require.Equal(t, "sha256:", o.Digest[:7])
	require.Empty(t, o.Error)
}

func TestSendClassifiesResponses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status int
		header map[string]string
		want   AttemptResult
	}{
		"no content":          {204, nil, AttemptResult{Succeeded: true, StatusCode: 204}},
		"accepted":            {202, nil, AttemptResult{Succeeded: true, StatusCode: 202}},
		"server error":        {500, nil, AttemptResult{StatusCode: 500, Error: "status_500"}},
		"client error":        {404, nil, AttemptResult{StatusCode: 404, Error: "status_404"}},
		"redirect":            {302, map[string]string{"Location": "http://169.254.169.254/"}, AttemptResult{StatusCode: 302, Error: ErrorRedirect}},
		"permanent redirect":  {308, map[string]string{"Location": "/elsewhere"}, AttemptResult{StatusCode: 308, Error: ErrorRedirect}},
		"gone":                {410, nil, AttemptResult{StatusCode: 410, Error: "status_410", Gone: true, Abort: true}},
		"abort":               {400, map[string]string{"webhook-delivery": "abort-message"}, AttemptResult{StatusCode: 400, Error: "status_400", Abort: true}},
		"busy":                {429, map[string]string{"Retry-After": "90"}, AttemptResult{StatusCode: 429, Error: "status_429", RetryAfter: 90 * time.Second}},
		"unavailable":         {503, map[string]string{"Retry-After": "7"}, AttemptResult{StatusCode: 503, Error: "status_503", RetryAfter: 7 * time.Second}},
		"retry-after on 500":  {500, map[string]string{"Retry-After": "7"}, AttemptResult{StatusCode: 500, Error: "status_500"}},
		"abort on a success":  {200, map[string]string{"webhook-delivery": "abort-message"}, AttemptResult{Succeeded: true, StatusCode: 200}},
		"multiple choices":    {300, nil, AttemptResult{StatusCode: 300, Error: ErrorRedirect}},
		"teapot with cookies": {418, map[string]string{"Set-Cookie": "a=b"}, AttemptResult{StatusCode: 418, Error: "status_418"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var calls atomic.Int32
			url := receiver(t, func(w http.ResponseWriter, _ *http.Request) {
				calls.Add(1)
				for k, v := range c.header {
					w.Header().Set(k, v)
				}
				w.WriteHeader(c.status)
			})
			o := NewSender(lax).Send(t.Context(), message(url))
			require.EqualValues(t, 1, calls.Load(), "no redirect is followed and no request repeated")
			o.Latency = 0
			require.Equal(t, c.want, o)
		})
	}
}

func TestSendReportsFailuresAsCodes(t *testing.T) {
	t.Parallel()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, closed.Close())
	hangUp := raw(t, func(c net.Conn) { _ = c.Close() })
	babble := raw(t, func(c net.Conn) {
		_, _ = c.Write([]byte("SSH-2.0-OpenSSH_9\r\n\r\n"))
		_ = c.Close()
	})
	floods := raw(t, func(c net.Conn) {
		_, _ = c.Write([]byte("HTTP/1.1 200 OK\r\n"))
		for i := 0; ; i++ {
			if _, err := fmt.Fprintf(c, "X-%d: %s\r\n", i, strings.Repeat("a", 1000)); err != nil {
				return
			}
		}
	})
	untrusted := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(untrusted.Close)
	for name, c := range map[string]struct{ url, want string }{
		"no listener":          {"http://" + closed.Addr().String(), ErrorConnect},
		"hangs up":             {"http://" + hangUp, ErrorConnect},
		"does not speak HTTP":  {"http://" + babble, ErrorResponse},
		"endless headers":      {"http://" + floods, ErrorResponse},
		"untrusted":            {untrusted.URL, ErrorTLS},
		"plain on TLS":         {strings.Replace("http://"+babble, "http:", "https:", 1), ErrorTLS},
		"not a URL to be sent": {"http://hooks.example.com/", ErrorURL},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := NewSender(lax).Send(t.Context(), message(c.url))
			require.Equal(t, c.want, o.Error)
			require.False(t, o.Succeeded)
			require.Zero(t, o.StatusCode)
		})
	}
}

// Depending on whether the request or the close comes first, net/http returns different errors.
func TestSendReportsAConnectionClosedEarly(t *testing.T) {
	t.Parallel()
	gone := make(chan struct{}, 1)
	url := "http://" + raw(t, func(c net.Conn) {
		_ = c.Close()
		gone <- struct{}{}
	})
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) {
		<-gone
		runtime.Gosched()
	}})
	for range 100 {
		require.Equal(t, ErrorConnect, NewSender(lax).Send(ctx, message(url)).Error)
	}
}

// raw listens and passes each connection to f without reading the request.
func raw(t *testing.T, f func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go f(c)
		}
	}()
	return l.Addr().String()
}

func TestSendLimitsSlowAndEndlessResponses(t *testing.T) {
	t.Parallel()
	bomb := func() []byte {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		_, _ = z.Write(make([]byte, 50<<20))
		_ = z.Close()
		return b.Bytes()
	}()
	for name, c := range map[string]struct {
		h    http.HandlerFunc
		want AttemptResult
	}{
		"an endless body after 200 is a success": {func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 32<<10)); err != nil {
					return
				}
			}
		}, AttemptResult{Succeeded: true, StatusCode: 200}},
		"a dripping body after 200 is a success": {func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusOK)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}, AttemptResult{Succeeded: true, StatusCode: 200}},
		"a gzip bomb stays packed": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(bomb)
		}, AttemptResult{Succeeded: true, StatusCode: 200}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := NewSender(lax).Send(t.Context(), message(receiver(t, c.h)))
			o.Latency, o.Digest = 0, ""
			require.Equal(t, c.want, o)
		})
	}
	t.Run("no response", func(t *testing.T) {
		t.Parallel()
		url := receiver(t, func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // a server sees the caller leave only once it has read the body
			<-r.Context().Done()
		})
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond) // stands in for the sender's own deadline
		defer cancel()
		o := NewSender(lax).Send(ctx, message(url))
		require.Equal(t, ErrorTimeout, o.Error)
	})
}

func TestSenderIgnoresProxyEnvironment(t *testing.T) {
	url := receiver(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	t.Setenv("HTTPS_PROXY", "http://127.0.0.1:1")
	t.Setenv("NO_PROXY", "none")
	require.True(t, NewSender(lax).Send(t.Context(), message(url)).Succeeded)
}

func TestSenderRejectsLoopbackByDefault(t *testing.T) {
	t.Parallel()
	srv := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(srv.Close)
	o := NewSender(Policy{}).Send(t.Context(), message(srv.URL))
	require.Equal(t, ErrorURL, o.Error, "by its literal address")
	o = newSender(Policy{}, answering(t, "127.0.0.1"), nil).Send(t.Context(), message("https://hooks.example.com/"))
	require.Equal(t, ErrorAddress, o.Error, "by a name that resolves to it")
}

// A name that is public when the endpoint is saved and internal when it is called: the address of every connection is
// checked, whatever the name resolved to before.
func TestSenderRejectsDNSRebinding(t *testing.T) {
	t.Parallel()
	var hits atomic.Int32
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { hits.Add(1); w.WriteHeader(http.StatusNoContent) }))
	srv.StartTLS()
	t.Cleanup(srv.Close)
	at, err := url.Parse(srv.URL)
	require.NoError(t, err)
	roots := x509.NewCertPool()
	roots.AddCert(srv.Certificate())
	target := "https://example.com:" + at.Port() + "/" // the test certificate is for example.com

	// With loopback allowed the name reaches the receiver, so the rejections below are of the address.
	open := newSender(Policy{AllowLoopback: true, Ports: []uint16{port(t, at.Port())}}, answering(t, "127.0.0.1"), &tls.Config{RootCAs: roots})
	require.True(t, open.Send(t.Context(), message(target)).Succeeded)
	require.EqualValues(t, 1, hits.Load())

	shut := Policy{Ports: []uint16{port(t, at.Port())}}
	for _, turns := range []string{"127.0.0.1", "169.254.169.254", "10.0.0.1", "100.64.0.1", "0.0.0.0", "::1", "::ffff:127.0.0.1", "fd00::1", "64:ff9b::7f00:1"} {
		resolver := answering(t, "192.0.2.0", turns) // first an address that goes nowhere, then the one inside
		s := newSender(shut, resolver, &tls.Config{RootCAs: roots})
		require.Empty(t, shut.CheckURL(target), "the name itself is accepted")
		for range 3 {
			o := s.Send(t.Context(), message(target))
			require.Equal(t, ErrorAddress, o.Error, turns)
		}
	}
	require.EqualValues(t, 1, hits.Load(), "nothing inside was ever called")
}

func port(t *testing.T, s string) uint16 {
	t.Helper()
	var n uint16
	_, err := fmt.Sscan(s, &n)
	require.NoError(t, err)
	return n
}

// answering is a resolver with changing responses: each query for an address gets the next address of the list, and the
// last one from then on. It speaks DNS over its own socket.
func answering(t *testing.T, addresses ...string) *net.Resolver {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	var asked [2]int // for A and for AAAA
	go func() {
		buf := make([]byte, 1500)
		for {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			turn := &asked[0]
			if kindOf(buf[:n]) == typeAAAA {
				turn = &asked[1]
			}
			_, _ = conn.WriteTo(answer(buf[:n], net.ParseIP(addresses[min(*turn, len(addresses)-1)])), from)
			*turn++
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

const (
	typeA    = 1
	typeAAAA = 28
)

// questionEnd returns the offset after the question of a DNS message: its name, type and class.
func questionEnd(question []byte) int {
	end := 12
	for question[end] != 0 {
		end += int(question[end]) + 1
	}
	return end + 5
}

func kindOf(question []byte) uint16 {
	return binary.BigEndian.Uint16(question[questionEnd(question)-4:])
}

// answer returns the DNS response to a query for A or AAAA: one record if the address is of that kind, otherwise none.
func answer(question []byte, ip net.IP) []byte {
	end, kind := questionEnd(question), kindOf(question)
	out := append([]byte(nil), question[:end]...)
	copy(out[2:], []byte{0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}) // an answer, one question, no records yet
	data := ip.To4()
	if kind == typeAAAA {
		data = nil
		if ip.To4() == nil {
			data = ip.To16()
		}
	}
	if kind != typeA && kind != typeAAAA || data == nil {
		return out
	}
	out[7] = 1
	out = append(out, 0xc0, 12, byte(kind>>8), byte(kind), 0, 1, 0, 0, 0, 0, 0, byte(len(data)))
	return append(out, data...)
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	for v, want := range map[string]time.Duration{
		"": 0, "120": 2 * time.Minute, "0": 0, "-5": 0, "soon": 0, "1.5": 0, "99999999999999999999": maxRetryAfter, "4294967296": maxRetryAfter,
		noon.Add(time.Minute).Format(http.TimeFormat): time.Minute, noon.Add(-time.Minute).Format(http.TimeFormat): 0,
	} {
		require.Equal(t, want, RetryAfter(v, noon), "%q", v)
	}
}
