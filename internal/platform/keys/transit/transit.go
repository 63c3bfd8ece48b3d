// Package transit signs with keys in the Transit engine of OpenBao or Vault, which never releases them, and wraps the master keys with one.
// It uses five operations of the HTTP API: create a key, read a key, sign, encrypt, decrypt.
package transit

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/internal/platform/keys"
	"github.com/countersign-dev/countersign/internal/platform/webname"
)

// Scheme is the scheme of the URI of the backend.
const Scheme = "vault+transit"

const maxResponse = 1 << 20 // bytes

// keyName is the form of the names of keys, which become part of a path.
var keyName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$`)

// Signer implements keys.Signer.
type Signer struct {
	name, base, namespace, tokenFile string
	client                           *http.Client
}

// Open returns the signer of a URI, vault+transit://host:port/mount, with the parameters token-file (read for each request, so
// that an agent may renew the token; none if an agent adds the token), namespace, ca (a file) and tls=off, which only an address
// of this machine may have. It does not reach the server.
func Open(u *url.URL) (*Signer, error) {
	mount, q := strings.Trim(u.Path, "/"), u.Query()
	switch {
	case u.Host == "" || mount == "" || u.User != nil || u.Fragment != "":
		return nil, errors.New("want vault+transit://host:port/mount")
	case q.Get("tls") != "" && (q.Get("tls") != "off" || !thisMachine(u.Hostname())):
		return nil, errors.New("tls may only be off, and only for localhost")
	}
	for name := range q {
		if name != "token-file" && name != "namespace" && name != "ca" && name != "tls" {
			return nil, errors.New("a parameter is not known: want token-file, namespace, ca or tls") // it may be a token
		}
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if file := q.Get("ca"); file != "" {
		text, err := os.ReadFile(file) // #nosec G304 G703 -- the operator names the file
		if err != nil {
			return nil, err
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("%s contains no certificate", file)
		}
	}
	scheme := "https"
	if q.Get("tls") == "off" {
		scheme = "http"
	}
	transport := &http.Transport{TLSClientConfig: config, Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: 64, IdleConnTimeout: time.Minute, ForceAttemptHTTP2: true}
	return &Signer{
		name: Scheme + "://" + u.Host + "/" + mount, base: scheme + "://" + u.Host + "/v1/" + mount, namespace: q.Get("namespace"),
		tokenFile: q.Get("token-file"), client: &http.Client{Transport: transport, CheckRedirect: followed},
	}, nil
}

// followed lets a server in standby redirect to the active one. The token, which goes along, leaves this machine over TLS only.
func followed(r *http.Request, via []*http.Request) error {
	if len(via) > 1 || r.URL.Scheme != "https" && (r.URL.Scheme != via[0].URL.Scheme || !thisMachine(r.URL.Hostname())) {
		return errors.New("the server redirects to where the token is not sent")
	}
	return nil
}

func thisMachine(host string) bool { return webname.IsLocal(host) || host == "127.0.0.1" }

// Name implements keys.Signer.
func (s *Signer) Name() string { return s.name }

// Close implements keys.Signer.
func (s *Signer) Close() error { s.client.CloseIdleConnections(); return nil }

// Create implements keys.Signer. The server gives the key the name, with a suffix.
func (s *Signer) Create(ctx context.Context, name string) (reference []byte, key keys.Key, err error) {
	name = "countersign-" + name + "-" + strings.ToLower(rand.Text()[:10])
	if err := s.call(ctx, http.MethodPost, "/keys/"+name, map[string]any{"type": "ecdsa-p256", "exportable": false}, nil); err != nil {
		return nil, nil, err
	}
	return s.Adopt(ctx, name)
}

// Adopt implements keys.Signer. The id is the name of a key, whose latest version is adopted, or name:version. A key that can be
// exported is refused.
func (s *Signer) Adopt(ctx context.Context, id string) (reference []byte, key keys.Key, err error) {
	name, version, _ := strings.Cut(id, ":")
	if !keyName.MatchString(name) {
		return nil, nil, fmt.Errorf("%q is not the name of a key", name)
	}
	var found struct {
		custody
		Type   string `json:"type"`
		Latest int    `json:"latest_version"`
		Keys   map[string]struct {
			PublicKey string `json:"public_key"`
		} `json:"keys"`
	}
	if err := s.call(ctx, http.MethodGet, "/keys/"+name, nil, &found); err != nil {
		return nil, nil, err
	}
	if version == "" {
		version = strconv.Itoa(found.Latest)
	}
	if found.Type != "ecdsa-p256" {
		return nil, nil, fmt.Errorf("the key %s is of type %s, not ecdsa-p256", name, found.Type)
	}
	if err := found.stays(name); err != nil {
		return nil, nil, err
	}
	public, err := parsePublic(found.Keys[version].PublicKey)
	if err != nil {
		return nil, nil, fmt.Errorf("version %s of the key %s: %w", version, name, err)
	}
	reference = []byte(name + ":" + version)
	key, err = s.Open(reference, public)
	return reference, key, err
}

// custody is whether a key can leave the server.
type custody struct {
	Exportable bool `json:"exportable"`
	Plain      bool `json:"allow_plaintext_backup"`
}

// stays returns an error if the key can leave the server.
func (c custody) stays(name string) error {
	if c.Exportable || c.Plain {
		return fmt.Errorf("the key %s can be exported", name)
	}
	return nil
}

func parsePublic(text string) (*ecdsa.PublicKey, error) {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return nil, errors.New("the server returned no public key")
	}
	parsed, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return nil, err
	}
	public, ok := parsed.(*ecdsa.PublicKey)
	if !ok || public.Curve != elliptic.P256() {
		return nil, errors.New("not a P-256 key")
	}
	return public, nil
}

// Open implements keys.Signer.
func (s *Signer) Open(reference []byte, public *ecdsa.PublicKey) (keys.Key, error) {
	name, number, _ := strings.Cut(string(reference), ":")
	version, err := strconv.Atoi(number)
	if err != nil || version < 1 || !keyName.MatchString(name) || public == nil {
		return nil, errors.New("not a reference to a key of the Transit engine")
	}
	return key{s, name, version, public}, nil
}

// Check implements keys.Signer: the server must be unsealed, the engine mounted, and the token must have the right to read keys and
// to sign. It asks for a key that does not exist: a caller without the right is refused before that is noticed.
func (s *Signer) Check(ctx context.Context) error {
	err := s.call(ctx, http.MethodGet, "/keys/countersign-check", nil, nil)
	var refused *statusError
	if !errors.As(err, &refused) || refused.status != http.StatusNotFound || refused.text != "" { // a path without an engine has a text
		return err
	}
	err = s.call(ctx, http.MethodPost, "/sign/countersign-check", map[string]any{"input": ""}, nil)
	if errors.As(err, &refused) && refused.status == http.StatusBadRequest {
		return nil
	}
	return err
}

// key implements keys.Key.
type key struct {
	s       *Signer
	name    string
	version int
	public  *ecdsa.PublicKey
}

// Public implements keys.Key.
func (k key) Public() *ecdsa.PublicKey { return k.public }

// Sign implements keys.Key.
func (k key) Sign(ctx context.Context, digest []byte) ([]byte, error) {
	var made struct {
		Signature string `json:"signature"`
	}
	err := k.s.call(ctx, http.MethodPost, "/sign/"+k.name, map[string]any{
		"input": base64.StdEncoding.EncodeToString(digest), "prehashed": true, "hash_algorithm": "sha2-256", "marshaling_algorithm": "jws", "key_version": k.version,
	}, &made)
	if err != nil {
		return nil, err
	}
	// vault:v1:signature
	return base64.RawURLEncoding.DecodeString(made.Signature[strings.LastIndexByte(made.Signature, ':')+1:])
}

// statusError is a refusal of the server.
type statusError struct {
	status int
	text   string
}

// Error implements error.
func (e *statusError) Error() string {
	return strings.TrimSpace(fmt.Sprintf("the server responded with status %d %s", e.status, e.text))
}

// call calls one operation. The field data of the response is decoded into out, unless that is nil.
func (s *Signer) call(ctx context.Context, method, path string, in, out any) error {
	var body io.Reader
	if in != nil {
		text, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(text)
	}
	r, err := http.NewRequestWithContext(ctx, method, s.base+path, body)
	if err != nil {
		return err
	}
	r.Header.Set("X-Vault-Request", "true") // an agent requires it
	if s.namespace != "" {
		r.Header.Set("X-Vault-Namespace", s.namespace)
	}
	if s.tokenFile != "" {
		token, err := os.ReadFile(s.tokenFile)
		if err != nil {
			return err
		}
		r.Header.Set("X-Vault-Token", strings.TrimSpace(string(token)))
	}
	response, err := s.client.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxResponse))
	if err != nil {
		return err
	}
	if response.StatusCode >= http.StatusMultipleChoices {
		var refused struct {
			Errors []string `json:"errors"`
		}
		_ = json.Unmarshal(text, &refused)
		return &statusError{response.StatusCode, strings.TrimSpace(strings.Join(refused.Errors, "; "))}
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(text, &struct {
		Data any `json:"data"`
	}{out})
}
