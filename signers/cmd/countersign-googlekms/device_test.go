package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/api/cloudkms/v1"
	"google.golang.org/api/option"

	"github.com/countersign-dev/countersign/signers/devicetest"
)

const ring = "projects/p/locations/europe-west3/keyRings/countersign"

// standIn is a stand-in for Google Cloud KMS, written from the documentation of its REST API. It is not KMS and not a recording of it.
type standIn struct {
	mu   sync.Mutex
	keys map[string]*ecdsa.PrivateKey // by name; nil for a symmetric key
	// pending is how often a new key still has no public key.
	pending int
	down    bool
}

var mark = []byte("encrypted:") // in place of encryption

func (s *standIn) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	status, out := http.StatusServiceUnavailable, map[string]any{}
	if !s.down {
		status, out = s.respond(r)
	}
	if status != http.StatusOK {
		out = map[string]any{"error": map[string]any{"code": status, "message": http.StatusText(status)}}
	}
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(out)
}

func (s *standIn) respond(r *http.Request) (int, map[string]any) {
	path, _ := strings.CutPrefix(r.URL.Path, "/v1/"+ring+"/cryptoKeys")
	var in struct {
		Purpose         string `json:"purpose"`
		Plaintext       []byte `json:"plaintext"`
		Ciphertext      []byte `json:"ciphertext"`
		VersionTemplate struct {
			Algorithm       string `json:"algorithm"`
			ProtectionLevel string `json:"protectionLevel"`
		} `json:"versionTemplate"`
		Digest struct {
			Sha256 []byte `json:"sha256"`
		} `json:"digest"`
	}
	if r.Method == http.MethodPost && json.NewDecoder(r.Body).Decode(&in) != nil {
		return http.StatusBadRequest, nil
	}
	if path == "" {
		if in.VersionTemplate.ProtectionLevel != "HSM" {
			return http.StatusBadRequest, nil
		}
		var made *ecdsa.PrivateKey
		if in.Purpose == purposeSign && in.VersionTemplate.Algorithm == algorithmSign {
			made, _ = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
			s.pending = 2
		}
		s.keys[r.URL.Query().Get("cryptoKeyId")] = made
		return http.StatusOK, map[string]any{}
	}
	name, operation, _ := strings.Cut(strings.TrimPrefix(path, "/"), ":")
	name, rest, _ := strings.Cut(name, "/")
	key, ok := s.keys[name]
	if !ok {
		return http.StatusNotFound, nil
	}
	switch rest + ":" + operation {
	case ":":
		if key == nil {
			return http.StatusOK, map[string]any{"purpose": purposeEncrypt, "primary": map[string]any{"algorithm": algorithmRoot}}
		}
		return http.StatusOK, map[string]any{"purpose": purposeSign}
	case ":encrypt":
		return http.StatusOK, map[string]any{"ciphertext": append(bytes.Clone(mark), in.Plaintext...)}
	case ":decrypt":
		plaintext, ok := bytes.CutPrefix(in.Ciphertext, mark)
		if !ok {
			return http.StatusBadRequest, nil
		}
		return http.StatusOK, map[string]any{"plaintext": plaintext}
	case "cryptoKeyVersions/1:":
		return http.StatusOK, map[string]any{"algorithm": algorithmSign, "state": "ENABLED"}
	case "cryptoKeyVersions/1/publicKey:":
		if s.pending--; s.pending >= 0 {
			return http.StatusBadRequest, nil
		}
		der, _ := x509.MarshalPKIXPublicKey(key.Public())
		return http.StatusOK, map[string]any{"pem": string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))}
	case "cryptoKeyVersions/1:asymmetricSign":
		signature, _ := ecdsa.SignASN1(rand.Reader, key, in.Digest.Sha256)
		return http.StatusOK, map[string]any{"signature": base64.StdEncoding.EncodeToString(signature)}
	}
	return http.StatusNotFound, nil
}

func TestKeysInGoogleKMS(t *testing.T) {
	t.Parallel()
	s := &standIn{keys: map[string]*ecdsa.PrivateKey{}}
	cloud := httptest.NewServer(s)
	t.Cleanup(cloud.Close)
	service, err := cloudkms.NewService(t.Context(), option.WithEndpoint(cloud.URL), option.WithoutAuthentication())
	require.NoError(t, err)
	devicetest.Run(t, device{service.Projects.Locations.KeyRings.CryptoKeys, ring, "HSM"}, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.down = true
	})
}
