package browser_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/tenancy"
)

// siteBrowser starts a browser that finds the hosts at one HTTPS server on this machine: a blank page, and behind the path of related
// origins the service, as a relying party forwards it. Browsers read that path at port 443 only.
func siteBrowser(t *testing.T, hosts ...string) *tab {
	t.Helper()
	needChromium(t)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), DNSNames: hosts}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	require.NoError(t, err)
	trusted := sha256.Sum256(public)

	service, err := url.Parse(shared.baseURL)
	require.NoError(t, err)
	mux := http.NewServeMux()
	mux.Handle("/.well-known/webauthn", &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(service)
		r.Out.Host = r.In.Host
	}})
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte(`<!doctype html><title>Site</title><link rel="icon" href="data:,">`)) // the browser may have gone
	})
	server := httptest.NewUnstartedServer(mux)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	server.StartTLS()
	t.Cleanup(server.Close)

	rules := "EXCLUDE 127.0.0.1"
	for _, host := range hosts {
		rules += ", MAP " + host + ":443 " + server.Listener.Addr().String()
	}
	ctx, cancel, err := startBrowser(chromedp.Flag("host-resolver-rules", rules),
		chromedp.Flag("ignore-certificate-errors-spki-list", base64.StdEncoding.EncodeToString(trusted[:])))
	require.NoError(t, err)
	t.Cleanup(func() {
		for _, f := range cancel {
			f()
		}
	})
	return &tab{t: t, ctx: ctx}
}

// ceremony runs a ceremony in the page with options of the API, and returns what the relying party's page would send; the name of
// the browser's error if it refuses.
func (b *tab) ceremony(kind string, publicKey any) (credential json.RawMessage, refused string) {
	b.t.Helper()
	options, err := json.Marshal(publicKey)
	require.NoError(b.t, err)
	parse := map[string]string{"create": "parseCreationOptionsFromJSON", "get": "parseRequestOptionsFromJSON"}[kind]
	var out struct {
		Credential json.RawMessage `json:"credential"`
		Refused    string          `json:"refused"`
	}
	b.eval(fmt.Sprintf(`navigator.credentials.%s({publicKey: PublicKeyCredential.%s(%s)}).then((c) => ({credential: c.toJSON()}), (e) => ({refused: e.name}))`,
		kind, parse, options), &out)
	return out.Credential, out.Refused
}

// A passkey of one site confirms on a second site, which the environment lists as related: Chromium reads the list at the RP ID's
// own host and refuses before.
func TestPasskeyOfARelatedOrigin(t *testing.T) {
	t.Parallel()
	alder, birch := "alder-"+unique()+".example", "birch-"+unique()+".test"
	b := siteBrowser(t, alder, birch)
	device := b.authenticator(true)
	made, err := shared.Tenancy.Create(t.Context(), tenancy.Spec{Name: "Alder Bank", RPID: alder, Origins: []string{"https://" + alder}}, "cli:test")
	require.NoError(t, err)
	w := newWorld(t, made.Sandbox)
	subject := w.subject(t)
	passkeys := "/api/v1/subjects/" + subject + "/passkeys/"

	b.run(chromedp.Navigate("https://" + alder + "/"))
	grant := w.post(t, passkeys+"registration-grants", nil).is(201).string("token")
	shared.secret(grant)
	credential, refused := b.ceremony("create", w.post(t, passkeys+"register/options", object{"registration_grant": grant}).is(200).object()["publicKey"])
	require.Empty(t, refused)
	w.post(t, passkeys+"register/complete", object{"registration_grant": grant, "credential": credential}).is(201)
	require.Len(t, device.credentials(), 1)

	challenge := w.challenge(t, subject, w.payment(t), nil)
	path := "/api/v1/challenges/" + challenge.challenge
	options := w.post(t, path+"/passkey/options", nil).is(200).object()["publicKey"]
	b.run(chromedp.Navigate("https://" + birch + "/"))
	_, refused = b.ceremony("get", options)
	require.Equal(t, "SecurityError", refused, "nothing lists the second site yet")

	w.do(t, http.MethodPatch, "/api/v1/environment", object{"passkeys": object{"related_origins": []string{"https://" + birch}}}).is(200)
	b.run(chromedp.Navigate("https://" + birch + "/"))
	credential, refused = b.ceremony("get", options)
	require.Empty(t, refused)
	w.post(t, path+"/complete", object{"method": "passkey", "assertion": credential}).is(200)
	w.requireAllowed(t, challenge, "phishing_resistant")
}
