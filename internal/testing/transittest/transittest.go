// Package transittest is a stand-in for the Transit engine of OpenBao and Vault, written from the documentation of its HTTP API:
// it creates, returns and uses ecdsa-p256 keys, and wraps with one key of type aes256-gcm96.
package transittest

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Server is the stand-in.
type Server struct {
	// URI is the setting of the backend of signing keys, and RootURI that of the root key.
	URI, RootURI string
	// Sealed makes the server refuse every request.
	Sealed atomic.Bool
	// TokenFile has the token. A test that writes other text to it withdraws the right to use the keys.
	TokenFile string

	failAt atomic.Int32 // requests until one is refused, that one too; 0: none
	delay  atomic.Int64 // of a signature, as a time.Duration
	token  string
	secret []byte // of the root key
	root   cipher.AEAD
	mu     sync.Mutex
	keys   map[string]*ecdsa.PrivateKey
}

// rootName is the name of the key that encrypts.
const rootName = "root"

// Start starts a server that ends with the test.
func Start(t testing.TB) *Server {
	t.Helper()
	s, stop, err := New(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return s
}

// New starts a server whose token is in a folder. The caller calls stop.
func New(folder string) (_ *Server, stop func(), err error) {
	s := &Server{token: rand.Text(), secret: make([]byte, 32), keys: map[string]*ecdsa.PrivateKey{}, TokenFile: filepath.Join(folder, "token")}
	_, _ = rand.Read(s.secret)
	block, err := aes.NewCipher(s.secret)
	if err != nil {
		return nil, nil, err
	}
	if s.root, err = cipher.NewGCMWithRandomNonce(block); err != nil {
		return nil, nil, err
	}
	if err := os.WriteFile(s.TokenFile, []byte(s.token+"\n"), 0o600); err != nil {
		return nil, nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/transit/keys/{name}", s.create)
	mux.HandleFunc("GET /v1/transit/keys/{name}", s.read)
	mux.HandleFunc("GET /v1/transit/keys/"+rootName, s.readRoot)
	mux.HandleFunc("POST /v1/transit/sign/{name}", s.sign)
	mux.HandleFunc("POST /v1/transit/encrypt/"+rootName, s.encrypt)
	mux.HandleFunc("POST /v1/transit/decrypt/"+rootName, s.decrypt)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case s.Sealed.Load(), s.failAt.Load() > 0 && s.failAt.Add(-1) == 0:
			refuse(w, http.StatusServiceUnavailable, "Vault is sealed")
		case r.Header.Get("X-Vault-Token") != s.token:
			refuse(w, http.StatusForbidden, "permission denied")
		default:
			mux.ServeHTTP(w, r)
		}
	}))
	mount, parameters := "vault+transit://"+strings.TrimPrefix(server.URL, "http://")+"/transit", "?tls=off&token-file="+s.TokenFile
	s.URI, s.RootURI = mount+parameters, mount+"/"+rootName+parameters
	return s, server.Close, nil
}

// SlowBy has each signature take a time.
func (s *Server) SlowBy(d time.Duration) { s.delay.Store(int64(d)) }

// FailAt has the server refuse the nth request from now on, once; 0 refuses none.
func (s *Server) FailAt(n int32) { s.failAt.Store(n) }

// Secrets returns what must be in no other process: the root key and the private scalars.
func (s *Server) Secrets(t testing.TB) [][]byte {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	out := [][]byte{s.secret}
	for _, key := range s.keys {
		scalar, err := key.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, scalar)
	}
	return out
}

func (s *Server) readRoot(w http.ResponseWriter, _ *http.Request) {
	respond(w, map[string]any{"type": "aes256-gcm96", "latest_version": 1, "exportable": false, "allow_plaintext_backup": false})
}

func (s *Server) encrypt(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Plaintext []byte `json:"plaintext"`
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		refuse(w, http.StatusBadRequest, "invalid request")
		return
	}
	sealed := s.root.Seal(nil, nil, in.Plaintext, nil) // #nosec G407 -- each nonce is drawn at random
	respond(w, map[string]any{"ciphertext": "vault:v1:" + base64.StdEncoding.EncodeToString(sealed)})
}

func (s *Server) decrypt(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Ciphertext string `json:"ciphertext"`
	}
	err := json.NewDecoder(r.Body).Decode(&in)
	sealed, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(in.Ciphertext, "vault:v1:"))
	plaintext, openErr := s.root.Open(nil, nil, sealed, nil)
	if err != nil || openErr != nil {
		refuse(w, http.StatusBadRequest, "cipher: message authentication failed")
		return
	}
	respond(w, map[string]any{"plaintext": plaintext})
}

func (s *Server) create(w http.ResponseWriter, r *http.Request) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		refuse(w, http.StatusInternalServerError, err.Error())
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.keys[r.PathValue("name")] == nil {
		s.keys[r.PathValue("name")] = key
	}
	respond(w, map[string]any{})
}

func (s *Server) key(r *http.Request) *ecdsa.PrivateKey {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.keys[r.PathValue("name")]
}

func (s *Server) read(w http.ResponseWriter, r *http.Request) {
	key := s.key(r)
	if key == nil {
		refuse(w, http.StatusNotFound)
		return
	}
	der, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		refuse(w, http.StatusInternalServerError, err.Error())
		return
	}
	public := string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
	respond(w, map[string]any{
		"type": "ecdsa-p256", "latest_version": 1, "exportable": false, "allow_plaintext_backup": false,
		"keys": map[string]any{"1": map[string]any{"public_key": public}},
	})
}

func (s *Server) sign(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Input      []byte `json:"input"`
		Prehashed  bool   `json:"prehashed"`
		Marshaling string `json:"marshaling_algorithm"`
	}
	key := s.key(r)
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || key == nil || !in.Prehashed || in.Marshaling != "jws" {
		refuse(w, http.StatusBadRequest, "invalid request")
		return
	}
	select {
	case <-time.After(time.Duration(s.delay.Load())):
	case <-r.Context().Done():
		return
	}
	a, b, err := ecdsa.Sign(rand.Reader, key, in.Input)
	if err != nil {
		refuse(w, http.StatusInternalServerError, err.Error())
		return
	}
	signature := append(a.FillBytes(make([]byte, 32)), b.FillBytes(make([]byte, 32))...)
	respond(w, map[string]any{"signature": "vault:v1:" + base64.RawURLEncoding.EncodeToString(signature)})
}

func respond(w http.ResponseWriter, data any) {
	_ = json.NewEncoder(w).Encode(map[string]any{"data": data})
}

func refuse(w http.ResponseWriter, status int, texts ...string) {
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"errors": texts})
}
