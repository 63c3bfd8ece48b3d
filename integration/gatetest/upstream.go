package gatetest

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lestrrat-go/jwx/v2/jwa"
	"github.com/lestrrat-go/jwx/v2/jwk"
	"github.com/lestrrat-go/jwx/v2/jws"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/clock"
)

// Reached is a request that reached the application.
type Reached struct {
	Method, Target, Host string
	Header, Trailer      http.Header
	Body                 string
}

// Upstream is an application that knows nothing of Countersign and records its requests. It accepts upgrades to h2c, as some do.
type Upstream struct {
	URL  string
	Port int

	mu      sync.Mutex
	reached []Reached
	page    string
}

// StartUpstream starts an application that responds with a page.
func StartUpstream(t testing.TB, page string) *Upstream {
	t.Helper()
	u := &Upstream{page: page}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := &http.Server{Handler: u}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
	u.Port = l.Addr().(*net.TCPAddr).Port
	u.URL = fmt.Sprintf("http://127.0.0.1:%d", u.Port)
	return u
}

// ServeHTTP records the request.
func (u *Upstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	u.record(r, body)
	if strings.Contains(strings.ToLower(r.Header.Get("Upgrade")), "h2c") {
		u.tunnel(w)
		return
	}
	if strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
			_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
			_ = conn.Close()
		}
		return
	}
	w.Header().Set("Content-Type", "text/html")
	_, _ = io.WriteString(w, u.page)
}

func (u *Upstream) record(r *http.Request, body []byte) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.reached = append(u.reached, Reached{Method: r.Method, Target: r.RequestURI, Host: r.Host, Header: r.Header.Clone(), Trailer: r.Trailer.Clone(), Body: string(body)})
}

// tunnel switches the protocol and records every request that follows on the connection.
func (u *Upstream) tunnel(w http.ResponseWriter) {
	conn, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer func() { _ = conn.Close() }()
	_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n")
	_ = conn.SetDeadline(clock.System().Now().Add(2 * time.Second))
	reader := bufio.NewReader(rw)
	for {
		r, err := http.ReadRequest(reader)
		if err != nil {
			return
		}
		body, _ := io.ReadAll(r.Body)
		u.record(r, body)
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
	}
}

// Take returns the requests since the last call.
func (u *Upstream) Take() []Reached {
	u.mu.Lock()
	defer u.mu.Unlock()
	all := u.reached
	u.reached = nil
	return all
}

// Issuer is an issuer of tokens.
type Issuer struct {
	URL string
	key *ecdsa.PrivateKey
}

// StartIssuer starts an issuer.
func StartIssuer(t testing.TB) *Issuer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	public, err := jwk.FromRaw(key.PublicKey)
	require.NoError(t, err)
	require.NoError(t, public.Set(jwk.KeyIDKey, "k1"))
	set := jwk.NewSet()
	require.NoError(t, set.AddKey(public))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(set) }))
	t.Cleanup(server.Close)
	return &Issuer{URL: server.URL, key: key}
}

// Token signs a token of a subject, with further claims.
func (i *Issuer) Token(t testing.TB, subject string, more map[string]any) string {
	t.Helper()
	now := clock.System().Now().Unix()
	claims := map[string]any{"iss": i.URL, "aud": "app", "sub": subject, "iat": now, "exp": now + 3600}
	for name, value := range more {
		claims[name] = value
	}
	payload, err := json.Marshal(claims)
	require.NoError(t, err)
	headers := jws.NewHeaders()
	require.NoError(t, headers.Set("kid", "k1"))
	require.NoError(t, headers.Set("typ", "at+jwt"))
	compact, err := jws.Sign(payload, jws.WithKey(jwa.ES256, i.key, jws.WithProtectedHeaders(headers)))
	require.NoError(t, err)
	return string(compact)
}

func readAll(t testing.TB, res *http.Response) string {
	t.Helper()
	text, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return string(text)
}
