package destination_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log/slog"
	"math/big"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/action"
	"github.com/countersign-dev/countersign/internal/authz/change"
	"github.com/countersign-dev/countersign/internal/delivery/destination"
	"github.com/countersign-dev/countersign/internal/delivery/webhook"
	"github.com/countersign-dev/countersign/internal/platform/audit"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/testing/fixture"
	_ "github.com/countersign-dev/countersign/internal/testing/tables" // the rows of all tables are checked
	"github.com/countersign-dev/countersign/internal/testing/testenv"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// world is an environment with a service that sends its log.
type world struct {
	*fixture.World
	t       *testing.T
	service *destination.Service
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{World: fixture.New(t, testenv.Store(t), noon), t: t}
	w.service = w.another()
	return w
}

// another returns the service of another process.
func (w *world) another() *destination.Service {
	s := destination.New(destination.Deps{
		Store: w.Store, Keys: testenv.Keys(), Clock: clock.System(), Policy: webhook.Policy{AllowLoopback: true, Ports: destination.Ports},
		Log: slog.New(slog.NewTextHandler(io.Discard, nil)), BaseURL: "https://countersign.example",
	})
	s.Hasten()
	return s
}

// by is the author of changes.
func (w *world) by() action.Author {
	return action.Author{Scope: w.Scope, Actor: "cli:test", At: time.Now()}
}

func (w *world) set(in change.Destination) {
	w.t.Helper()
	require.NoError(w.t, w.Store.Write(w.t.Context(), func(q *pg.Q) error { return w.service.SetIn(w.t.Context(), q, w.by(), in) }))
}

func (w *world) secret(c destination.Credentials) {
	w.t.Helper()
	require.NoError(w.t, w.service.SetCredentials(w.t.Context(), w.by(), "siem", c))
}

func (w *world) get() destination.Destination {
	w.t.Helper()
	d, err := w.service.Get(w.t.Context(), w.Scope, "siem")
	require.NoError(w.t, err)
	return d
}

// log writes n entries and seals them.
func (w *world) log(n int) {
	w.t.Helper()
	require.NoError(w.t, w.Store.Write(w.t.Context(), func(q *pg.Q) error {
		for range n {
			if err := events.Append(w.t.Context(), q, events.Entry{Scope: w.Scope, At: noon, Actor: "credential:crd_1", Data: events.AuditExportedData{Entries: 1}}); err != nil {
				return err
			}
		}
		return nil
	}))
	_, err := (&audit.Sealer{Store: w.Store, Clock: clock.System()}).SealNow(w.t.Context(), w.Scope.Environment)
	require.NoError(w.t, err)
}

// run sends in the background until the test ends, as a worker does.
func (w *world) run(s *destination.Service) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.Run(w.t.Context(), "test")
	}()
	w.t.Cleanup(func() { <-done })
}

// until waits for a condition of the destination.
func (w *world) until(met func(d destination.Destination) bool) destination.Destination {
	w.t.Helper()
	var last destination.Destination
	require.Eventually(w.t, func() bool { last = w.get(); return met(last) }, time.Minute, 10*time.Millisecond)
	return last
}

// authority signs certificates.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	PEM  string
}

func newAuthority(t *testing.T) authority {
	t.Helper()
	a := authority{t: t}
	a.cert = &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	a.PEM, _ = a.sign(a.cert, &a)
	return a
}

// sign returns the certificate and its key in PEM.
func (a authority) sign(template *x509.Certificate, self *authority) (cert, key string) {
	a.t.Helper()
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(a.t, err)
	if self != nil {
		self.key, a.key = own, own
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &own.PublicKey, a.key)
	require.NoError(a.t, err)
	raw, err := x509.MarshalPKCS8PrivateKey(own)
	require.NoError(a.t, err)
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw}))
}

// leaf returns the certificate of a server or a client on this machine.
func (a authority) leaf() (cert, key string) {
	return a.sign(&x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "localhost"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}, nil)
}
