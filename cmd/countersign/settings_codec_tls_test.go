package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/cmd/countersign/wiring"
)

// issueCertificate writes a certificate for the loopback address and its key over those in the folder.
func issueCertificate(t *testing.T, dir string, serial int64) (pool *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	for name, block := range map[string]*pem.Block{"codec.crt": {Type: "CERTIFICATE", Bytes: raw}, "codec.key": {Type: "PRIVATE KEY", Bytes: private}} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600))
	}
	own, err := x509.ParseCertificate(raw)
	require.NoError(t, err)
	pool = x509.NewCertPool()
	pool.AddCert(own)
	return pool
}

// Decrypted histories leave the machine by TLS 1.2 or later, with the certificate that is on disk when the connection is made.
func TestCodecEndpointServesTLSAndRenewedCertificates(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	trusted := issueCertificate(t, dir, 1)
	free, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := codecSettings{listen: free.Addr().String(), origin: "https://temporal.example", cert: filepath.Join(dir, "codec.crt"), certKey: filepath.Join(dir, "codec.key")}
	require.NoError(t, free.Close())
	require.NoError(t, s.check())
	failed := make(chan error, 1)
	core := &wiring.Core{Settings: wiring.Settings{Log: slog.New(slog.DiscardHandler), BaseURL: "https://countersign.example"}}
	stop, err := s.start(&wiring.Process{Core: core}, failed)
	require.NoError(t, err)
	t.Cleanup(stop)

	get := func(scheme string, roots *x509.CertPool, highest uint16) (*http.Response, error) {
		client := &http.Client{Transport: &http.Transport{
			TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS10, MaxVersion: highest}, DisableKeepAlives: true, // #nosec G402 -- an old client
		}}
		res, err := client.Get(scheme + "://" + s.listen + "/")
		if err == nil {
			_, _ = io.Copy(io.Discard, res.Body)
			_ = res.Body.Close()
		}
		return res, err
	}
	served := func(roots *x509.CertPool) int64 {
		res, err := get("https", roots, 0)
		require.NoError(t, err)
		require.Equal(t, http.StatusNotFound, res.StatusCode)
		return res.TLS.PeerCertificates[0].SerialNumber.Int64()
	}
	require.Equal(t, int64(1), served(trusted))
	renewed := issueCertificate(t, dir, 2)
	require.Equal(t, int64(2), served(renewed), "without a restart")

	_, err = get("https", renewed, tls.VersionTLS11)
	require.ErrorContains(t, err, "protocol version")
	_, err = get("https", trusted, 0)
	require.ErrorContains(t, err, "certificate", "clients check it")
	res, err := get("http", nil, 0)
	require.NoError(t, err)
	require.Equal(t, http.StatusBadRequest, res.StatusCode, "in the clear")
	require.Empty(t, failed)
}
