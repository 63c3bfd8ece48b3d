package gate_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	traces "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/countersign-dev/countersign/integration/gatetest"
)

// authority issues certificates.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	folder      string
}

func newAuthority(t testing.TB) *authority {
	t.Helper()
	a := &authority{folder: t.TempDir()}
	a.certificate = &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, NotAfter: time.Now().Add(time.Hour), IsCA: true,
		KeyUsage: x509.KeyUsageCertSign, BasicConstraintsValid: true}
	a.write(t, "ca", a.certificate, nil)
	return a
}

// write writes a certificate and its key, and returns them.
func (a *authority) write(t testing.TB, name string, c *x509.Certificate, by *authority) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	parent, signer := c, key
	if by != nil {
		parent, signer = by.certificate, by.key
	} else {
		a.key = key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, signer)
	require.NoError(t, err)
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	private := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw})
	require.NoError(t, os.WriteFile(filepath.Join(a.folder, name+".pem"), certificate, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(a.folder, name+".key"), private, 0o600))
	pair, err := tls.X509KeyPair(certificate, private)
	require.NoError(t, err)
	return pair
}

// issue issues a certificate for a name.
func (a *authority) issue(t testing.TB, name string, usage x509.ExtKeyUsage) tls.Certificate {
	return a.write(t, name, &x509.Certificate{SerialNumber: big.NewInt(2), DNSNames: []string{name}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{usage}}, a)
}

// TestCertificateOfTheTrustedProxy takes the subject from a header only if the proxy that sends it has the client certificate that the file names.
func TestCertificateOfTheTrustedProxy(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	subject, ours, others := w.subject(t), newAuthority(t), newAuthority(t)
	ours.issue(t, "gate.internal", x509.ExtKeyUsageServerAuth)
	proxy, laptop, stranger := ours.issue(t, "proxy.internal", x509.ExtKeyUsageClientAuth), ours.issue(t, "laptop.internal", x509.ExtKeyUsageClientAuth), others.issue(t, "proxy.internal", x509.ExtKeyUsageClientAuth)
	at := func(name string) string { return filepath.Join(ours.folder, name) }
	upstream := gatetest.StartUpstream(t, "released")
	gate := gatetest.StartGate(t, gatetest.Config{ServiceURL: shared.url, Key: w.gate, Mode: "inline", Upstream: upstream.URL, Routes: routes(map[string]string{"allow": w.action(t, "enforce", allowing)}),
		Identity: "header: {name: X-User, from: [127.0.0.0/8], certificates: [proxy.internal]}",
		TLS:      fmt.Sprintf("{certificate: %q, key: %q, client_ca: %q}", at("gate.internal.pem"), at("gate.internal.key"), at("ca.pem"))})
	roots := x509.NewCertPool()
	text, err := os.ReadFile(at("ca.pem"))
	require.NoError(t, err)
	require.True(t, roots.AppendCertsFromPEM(text))
	for name, c := range map[string]struct {
		certificates []tls.Certificate
		status       int // 0: the connection is refused
	}{
		"of the proxy": {[]tls.Certificate{proxy}, 200}, "of another machine": {[]tls.Certificate{laptop}, 401},
		"of a different authority": {[]tls.Certificate{stranger}, 0}, "none": {nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			client := &http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: c.certificates}}}
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, fmt.Sprintf("https://127.0.0.1:%d/allow/4711", gate.Inline), nil)
			require.NoError(t, err)
			req.Host = host
			req.Header.Set("X-User", subject)
			res, err := client.Do(req)
			if c.status == 0 {
				require.Error(t, err)
				require.Empty(t, upstream.Take())
				return
			}
			require.NoError(t, err)
			require.NoError(t, res.Body.Close())
			require.Equal(t, c.status, res.StatusCode)
			require.Len(t, upstream.Take(), map[bool]int{true: 1}[c.status == 200])
		})
	}
}

// TestTracesReachTheCollector sends a request with a trace: its span, those of the two calls of the service, and the request to the application
// continue the trace, without personal data.
func TestTracesReachTheCollector(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	issuer, subject := gatetest.StartIssuer(t), w.subject(t)
	var mu sync.Mutex
	var spans []*traces.Span
	received := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		var sent collector.ExportTraceServiceRequest
		text, _ := io.ReadAll(r.Body)
		if r.URL.Path != "/v1/traces" || proto.Unmarshal(text, &sent) != nil {
			rw.WriteHeader(http.StatusBadRequest)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		for _, resource := range sent.GetResourceSpans() {
			for _, scope := range resource.GetScopeSpans() {
				spans = append(spans, scope.GetSpans()...)
			}
		}
		rw.Header().Set("Content-Type", "application/x-protobuf")
	}))
	t.Cleanup(received.Close)
	e := enter(t, "inline", gatetest.Config{ServiceURL: shared.url, Key: w.gate, Issuer: issuer, Routes: routes(map[string]string{"allow": w.action(t, "enforce", allowing)}),
		More: fmt.Sprintf("traces: {endpoint: %q}", received.URL)})
	const trace = "4bf92f3577b34da6a3ce929d0e0e4736"
	require.Equal(t, 200, e.send(t, call{"POST", "/allow/4711", map[string]string{"Authorization": "Bearer " + issuer.Token(t, subject, nil), "Traceparent": "00-" + trace + "-00f067aa0ba902b7-01"}, ""}).status)
	require.Contains(t, e.upstream.Take()[0].Header.Get("Traceparent"), trace)
	names := map[string]int{}
	require.Eventually(t, func() bool {
		mu.Lock()
		defer mu.Unlock()
		clear(names)
		for _, s := range spans {
			if fmt.Sprintf("%x", s.GetTraceId()) == trace {
				names[s.GetName()]++
			}
		}
		return names["gate inline"] == 1 && names["POST service"] == 2
	}, time.Minute, 50*time.Millisecond, "%v", names)
	mu.Lock()
	defer mu.Unlock()
	for _, s := range spans {
		require.NotContains(t, s.String(), subject)
		require.NotContains(t, s.String(), "4711")
	}
}
