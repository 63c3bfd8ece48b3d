package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/security/keyvault/azkeys"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/signers/devicetest"
)

// standIn is a stand-in for Azure Key Vault, written from the documentation of its REST API. It is not Key Vault and not a recording of it.
type standIn struct {
	mu   sync.Mutex
	keys map[string]*ecdsa.PrivateKey // by name; nil for an RSA key
	down bool
}

var mark = []byte("wrapped:") // in place of encryption

func (s *standIn) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if r.Header.Get("Authorization") != "Bearer t" {
		w.Header().Set("WWW-Authenticate", `Bearer authorization="https://login.microsoftonline.com/tenant", resource="https://vault.azure.net"`)
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	status, out := http.StatusServiceUnavailable, map[string]any{}
	if !s.down {
		status, out = s.respond(r)
	}
	if status != http.StatusOK {
		out = map[string]any{"error": map[string]any{"code": http.StatusText(status)}}
	}
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(out)
}

func (s *standIn) respond(r *http.Request) (int, map[string]any) {
	var in struct {
		Kty   string `json:"kty"`
		Crv   string `json:"crv"`
		Alg   string `json:"alg"`
		Value string `json:"value"`
	}
	if r.Method == http.MethodPost && json.NewDecoder(r.Body).Decode(&in) != nil {
		return http.StatusBadRequest, nil
	}
	value, _ := base64.RawURLEncoding.DecodeString(in.Value)
	result := func(b []byte) (int, map[string]any) {
		return http.StatusOK, map[string]any{"value": base64.RawURLEncoding.EncodeToString(b)}
	}
	// /keys/{name}, /keys/{name}/create, /keys/{name}/{version}/{operation}; the version is empty.
	parts := strings.Split(strings.TrimPrefix(r.URL.Path, "/keys/"), "/")
	name, operation := parts[0], parts[len(parts)-1]
	if strings.Contains(name, "_") {
		return http.StatusBadRequest, nil
	}
	if operation == "create" {
		var made *ecdsa.PrivateKey
		if in.Kty == "EC-HSM" && in.Crv == "P-256" {
			made, _ = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		}
		s.keys[name] = made
	}
	key, ok := s.keys[name]
	if !ok {
		return http.StatusNotFound, nil
	}
	switch operation {
	case "sign":
		if in.Alg != "ES256" || key == nil {
			return http.StatusBadRequest, nil
		}
		a, b, _ := ecdsa.Sign(rand.Reader, key, value)
		return result(append(a.FillBytes(make([]byte, 32)), b.FillBytes(make([]byte, 32))...))
	case "wrapkey":
		return result(append(bytes.Clone(mark), value...))
	case "unwrapkey":
		plaintext, ok := bytes.CutPrefix(value, mark)
		if !ok {
			return http.StatusBadRequest, nil
		}
		return result(plaintext)
	}
	jwk := map[string]any{"kid": "https://v/keys/" + name + "/1", "kty": "RSA-HSM"}
	if key != nil {
		point, _ := key.PublicKey.Bytes()
		jwk["kty"], jwk["crv"] = "EC-HSM", "P-256"
		jwk["x"], jwk["y"] = base64.RawURLEncoding.EncodeToString(point[1:33]), base64.RawURLEncoding.EncodeToString(point[33:])
	}
	return http.StatusOK, map[string]any{"key": jwk, "attributes": map[string]any{"enabled": true, "exportable": false}}
}

type credential struct{}

// GetToken implements azcore.TokenCredential.
func (credential) GetToken(context.Context, policy.TokenRequestOptions) (azcore.AccessToken, error) {
	return azcore.AccessToken{Token: "t", ExpiresOn: time.Now().Add(time.Hour)}, nil
}

func TestKeysInAzureKeyVault(t *testing.T) {
	t.Parallel()
	s := &standIn{keys: map[string]*ecdsa.PrivateKey{}}
	cloud := httptest.NewTLSServer(s)
	t.Cleanup(cloud.Close)
	o := options
	o.Transport = cloud.Client()
	client, err := azkeys.NewClient(cloud.URL, credential{}, &azkeys.ClientOptions{ClientOptions: o, DisableChallengeResourceVerification: true})
	require.NoError(t, err)
	devicetest.Run(t, device{client, true}, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.down = true
	})
}
