package integration_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/integration/apitest"
	"github.com/countersign-dev/countersign/internal/delivery/notify"
)

// mailDev is the folder of the program that runs the npm package maildev.
var mailDev = filepath.Join("testdata", "maildev")

// mailPassword is the password at the mail server.
const mailPassword = "a password & more: %2F"

// postOffice is the mail server in the settings of the service. It passes connections on to the mail server of a test, and closes them while
// no test has one.
type postOffice struct {
	listener         net.Listener
	inUse            sync.Mutex // by the mailbox of one test
	target           atomic.Pointer[string]
	certificate, key []byte // PEM of the server that it passes connections on to
}

// newPostOffice starts one, and returns the sender of e-mail that trusts and uses it.
func newPostOffice() (*postOffice, *notify.Mailer, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	o := &postOffice{listener: l}
	if err := o.issue(); err != nil {
		return nil, nil, err
	}
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(o.certificate)
	mailer, err := notify.NewMailer(notify.MailSettings{
		Address: l.Addr().String(), From: "Countersign <countersign@example.com>", Encryption: notify.ImplicitTLS,
		Username: "countersign", Password: mailPassword,
		TLS: &tls.Config{RootCAs: trusted, MinVersion: tls.VersionTLS12},
	})
	go o.run()
	return o, mailer, err
}

// issue makes a certificate for the loopback address.
func (o *postOffice) issue() error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	o.certificate = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw})
	o.key = pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})
	return err
}

func (o *postOffice) run() {
	for {
		c, err := o.listener.Accept()
		if err != nil {
			return
		}
		go o.pass(c)
	}
}

func (o *postOffice) pass(c net.Conn) {
	defer func() { _ = c.Close() }()
	to := o.target.Load()
	if to == nil {
		return
	}
	server, err := net.Dial("tcp", *to)
	if err != nil {
		return
	}
	defer func() { _ = server.Close() }()
	go func() { _, _ = io.Copy(server, c) }()
	_, _ = io.Copy(c, server)
}

// inbox is a running maildev.
type inbox struct {
	t    *testing.T
	smtp string // host:port
	api  string // URL
}

// mailbox runs maildev until the test ends, one test at a time. The service reaches it after open.
func mailbox(t *testing.T) *inbox {
	t.Helper()
	shared.mails.inUse.Lock()
	t.Cleanup(shared.mails.inUse.Unlock)
	dir := t.TempDir()
	certificate, key := filepath.Join(dir, "certificate.pem"), filepath.Join(dir, "key.pem")
	require.NoError(t, os.WriteFile(certificate, shared.mails.certificate, 0o600))
	require.NoError(t, os.WriteFile(key, shared.mails.key, 0o600))
	var ports struct{ SMTP, API int }
	apitest.Node(t, mailDev, "maildev", &ports, "mailserver.mjs", certificate, key, mailPassword, filepath.Join(dir, "mails"))
	t.Cleanup(func() { shared.mails.target.Store(nil) })
	return &inbox{t: t, smtp: fmt.Sprintf("127.0.0.1:%d", ports.SMTP), api: fmt.Sprintf("http://127.0.0.1:%d/api/email", ports.API)}
}

// open lets the service reach the mail server.
func (i *inbox) open() { shared.mails.target.Store(&i.smtp) }

// mailed is a mail as maildev describes it.
type mailed struct {
	Subject string
	Text    string
	To      []struct{ Address string }
	Headers map[string]any
}

// to returns the mails to an address in their order.
func (i *inbox) to(address string) []mailed {
	i.t.Helper()
	res, err := http.Get(i.api)
	require.NoError(i.t, err)
	defer func() { _ = res.Body.Close() }()
	var all, out []mailed
	require.NoError(i.t, json.NewDecoder(res.Body).Decode(&all))
	for _, m := range all {
		if len(m.To) == 1 && m.To[0].Address == address {
			out = append(out, m)
		}
	}
	return out
}
