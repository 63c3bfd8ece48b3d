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
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/security/keyvault/azkeys"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/signers"
	"github.com/countersign-dev/countersign/signers/devicetest"
)

// standIn is a stand-in for Azure Key Vault, written from the documentation of its REST API. It is not Key Vault and not a recording of it.
type standIn struct {
	mu       sync.Mutex
	keys     map[string]*ecdsa.PrivateKey // by name; nil for an RSA key
	versions int                          // of each RSA key, named 1, 2, ...
	down     bool
}

// markOf stands in place of encryption under a version; empty is the newest.
func (s *standIn) markOf(version string) []byte {
	if version == "" {
		version = strconv.Itoa(s.versions)
	}
	return []byte("wrapped under " + version + ":")
}

func (s *standIn) kid(name string, version int) string {
	return "https://v/keys/" + name + "/" + strconv.Itoa(version)
}

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
		status, out := result(append(bytes.Clone(s.markOf("")), value...))
		out["kid"] = s.kid(name, s.versions)
		return status, out
	case "versions":
		var all []map[string]any
		for n := range s.versions {
			all = append(all, map[string]any{"kid": s.kid(name, n+1), "attributes": map[string]any{"enabled": true}})
		}
		return http.StatusOK, map[string]any{"value": all}
	case "unwrapkey":
		version := ""
		if len(parts) == 3 {
			version = parts[1]
		}
		plaintext, ok := bytes.CutPrefix(value, s.markOf(version))
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

func newDevice(t *testing.T) (device, *standIn) {
	t.Helper()
	s := &standIn{keys: map[string]*ecdsa.PrivateKey{}, versions: 1}
	cloud := httptest.NewTLSServer(s)
	t.Cleanup(cloud.Close)
	o := options
	o.Transport = cloud.Client()
	client, err := azkeys.NewClient(cloud.URL, credential{}, &azkeys.ClientOptions{ClientOptions: o, DisableChallengeResourceVerification: true})
	require.NoError(t, err)
	return device{client, true}, s
}

// A ciphertext is decrypted after the vault has rotated its key, also one that names no version.
func TestCiphertextOutlivesRotationsOfItsKey(t *testing.T) {
	t.Parallel()
	d, s := newDevice(t)
	require.NoError(t, d.Create(t.Context(), "countersign_root", signers.TypeRoot))
	first, err := d.Encrypt(t.Context(), "countersign_root", []byte("master 1"))
	require.NoError(t, err)
	bare := bytes.TrimPrefix(first, []byte("azure:1:"))
	require.NotEqual(t, first, bare)
	s.versions = 3
	second, err := d.Encrypt(t.Context(), "countersign_root", []byte("master 2"))
	require.NoError(t, err)
	for want, ciphertext := range map[string][]byte{"master 1": first, "master 2": second} {
		got, err := d.Decrypt(t.Context(), "countersign_root", ciphertext)
		require.NoError(t, err)
		require.Equal(t, want, string(got))
	}
	got, err := d.Decrypt(t.Context(), "countersign_root", bare)
	require.NoError(t, err)
	require.Equal(t, "master 1", string(got))
	for _, wrong := range []string{"", "azure:", "azure:9:wrapped", "azure:../1:wrapped", "nonsense"} {
		_, err := d.Decrypt(t.Context(), "countersign_root", []byte(wrong))
		require.ErrorIs(t, err, signers.ErrInvalid, "%q", wrong)
	}
}

func TestKeysInAzureKeyVault(t *testing.T) {
	t.Parallel()
	d, s := newDevice(t)
	devicetest.Run(t, d, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.down = true
	})
}
