// Package signers serves keys that never leave their device to Countersign. Its protocol is the part of the HTTP API of the Transit engine
// of OpenBao and Vault that Countersign uses, so that the service needs neither cgo nor the client of a vendor. Each command below cmd
// serves one kind of device. They know nothing of the service, and log no token and no key.
package signers

import (
	"context"
	"crypto/ecdsa"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/x509"
	"encoding/asn1"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"log/slog"
	"math/big"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync"
)

// The types of keys, as Transit names them.
const (
	TypeSigning = "ecdsa-p256"
	TypeRoot    = "aes256-gcm96"
)

// Errors of a Device. Every other error means that the device cannot be used at present.
var (
	ErrNoKey   = errors.New("there is no such key")
	ErrInvalid = errors.New("invalid request")
)

// Key describes a key.
type Key struct {
	Type       string
	Exportable bool
	Public     *ecdsa.PublicKey // of a signing key
}

// Device holds keys and never releases them. It is safe for concurrent use.
type Device interface {
	// Create creates a key, unless there is one of this name. It is not called twice at a time.
	Create(ctx context.Context, name, kind string) error
	Find(ctx context.Context, name string) (Key, error)
	// Sign returns the signature of a SHA-256 digest in ASN.1 DER.
	Sign(ctx context.Context, name string, digest []byte) ([]byte, error)
	Encrypt(ctx context.Context, name string, plaintext []byte) ([]byte, error)
	Decrypt(ctx context.Context, name string, ciphertext []byte) ([]byte, error)
}

// Server serves a device.
type Server struct {
	Device    Device
	Mount     string // first segment of the paths, such as pkcs11
	TokenFile string // read for each request
	Log       *slog.Logger

	creating sync.Mutex
}

const (
	maxBody       = 1 << 16 // bytes
	signatureHalf = 32
	versionPrefix = "vault:v1:" // every key has one version
)

var keyName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$`)

// Handler returns the routes of the server.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	for pattern, f := range map[string]func(r *http.Request, name string) (any, error){
		"POST /v1/{mount}/keys/{name}": s.create, "GET /v1/{mount}/keys/{name}": s.find, "POST /v1/{mount}/sign/{name}": s.sign,
		"POST /v1/{mount}/encrypt/{name}": s.encrypt, "POST /v1/{mount}/decrypt/{name}": s.decrypt,
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			r.Body = http.MaxBytesReader(w, r.Body, maxBody)
			s.respond(w, r, f)
		})
	}
	return mux
}

// respond authenticates a request, calls f and writes the response or the refusal.
func (s *Server) respond(w http.ResponseWriter, r *http.Request, f func(r *http.Request, name string) (any, error)) {
	token, err := os.ReadFile(s.TokenFile)
	want, given := strings.TrimSpace(string(token)), r.Header.Get("X-Vault-Token")
	if err != nil || want == "" || r.PathValue("mount") != s.Mount || subtle.ConstantTimeCompare([]byte(want), []byte(given)) != 1 {
		refuse(w, http.StatusForbidden, "permission denied")
		return
	}
	name := r.PathValue("name")
	err = ErrInvalid
	var data any
	if keyName.MatchString(name) {
		data, err = f(r, name)
	}
	switch {
	case err == nil:
		_ = json.NewEncoder(w).Encode(map[string]any{"data": data})
	case errors.Is(err, ErrNoKey) && r.Method == http.MethodGet:
		refuse(w, http.StatusNotFound)
	case errors.Is(err, ErrNoKey), errors.Is(err, ErrInvalid):
		refuse(w, http.StatusBadRequest, err.Error())
	default:
		s.Log.Error("the device failed", "operation", r.Method+" "+r.URL.Path, "error", err)
		refuse(w, http.StatusServiceUnavailable, "the device cannot be used at present")
	}
}

func refuse(w http.ResponseWriter, status int, texts ...string) {
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"errors": texts})
}

// read decodes the body of a request.
func read(r *http.Request, into any) error {
	if json.NewDecoder(r.Body).Decode(into) != nil {
		return ErrInvalid
	}
	return nil
}

func (s *Server) create(r *http.Request, name string) (any, error) {
	var in struct {
		Type string `json:"type"`
	}
	if err := read(r, &in); err != nil {
		return nil, err
	}
	if in.Type != TypeSigning && in.Type != TypeRoot {
		return nil, ErrInvalid
	}
	// One at a time: a device has no unique names, and two requests would each find none and create a key.
	s.creating.Lock()
	defer s.creating.Unlock()
	s.Log.Info("create key", "name", name, "type", in.Type)
	return map[string]any{}, s.Device.Create(r.Context(), name, in.Type)
}

func (s *Server) find(r *http.Request, name string) (any, error) {
	key, err := s.Device.Find(r.Context(), name)
	if err != nil {
		return nil, err
	}
	version := map[string]any{}
	if key.Public != nil {
		der, err := x509.MarshalPKIXPublicKey(key.Public)
		if err != nil {
			return nil, err
		}
		version["public_key"] = string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
	}
	return map[string]any{
		"name": name, "type": key.Type, "latest_version": 1, "exportable": key.Exportable, "allow_plaintext_backup": key.Exportable,
		"keys": map[string]any{"1": version},
	}, nil
}

func (s *Server) sign(r *http.Request, name string) (any, error) {
	var in struct {
		Input      []byte `json:"input"`
		Prehashed  bool   `json:"prehashed"`
		Hash       string `json:"hash_algorithm"`
		Marshaling string `json:"marshaling_algorithm"`
		Version    int    `json:"key_version"`
	}
	if err := read(r, &in); err != nil {
		return nil, err
	}
	if !in.Prehashed || in.Hash != "sha2-256" || in.Marshaling != "jws" || in.Version != 1 || len(in.Input) != sha256.Size {
		return nil, ErrInvalid
	}
	der, err := s.Device.Sign(r.Context(), name, in.Input)
	if err != nil {
		return nil, err
	}
	var parts struct{ R, S *big.Int }
	if rest, err := asn1.Unmarshal(der, &parts); err != nil || len(rest) > 0 || parts.R.BitLen() > 8*signatureHalf || parts.S.BitLen() > 8*signatureHalf {
		return nil, errors.New("the device returned no signature")
	}
	signature := make([]byte, 2*signatureHalf)
	parts.R.FillBytes(signature[:signatureHalf])
	parts.S.FillBytes(signature[signatureHalf:])
	return map[string]any{"signature": versionPrefix + base64.RawURLEncoding.EncodeToString(signature)}, nil
}

func (s *Server) encrypt(r *http.Request, name string) (any, error) {
	var in struct {
		Plaintext []byte `json:"plaintext"`
	}
	if err := read(r, &in); err != nil {
		return nil, err
	}
	ciphertext, err := s.Device.Encrypt(r.Context(), name, in.Plaintext)
	return map[string]any{"ciphertext": versionPrefix + base64.StdEncoding.EncodeToString(ciphertext)}, err
}

func (s *Server) decrypt(r *http.Request, name string) (any, error) {
	var in struct {
		Ciphertext string `json:"ciphertext"`
	}
	if err := read(r, &in); err != nil {
		return nil, err
	}
	ciphertext, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(in.Ciphertext, versionPrefix))
	if err != nil {
		return nil, ErrInvalid
	}
	s.Log.Info("decrypt", "name", name)
	plaintext, err := s.Device.Decrypt(r.Context(), name, ciphertext)
	return map[string]any{"plaintext": plaintext}, err
}
