//go:build cgo

package main

import (
	"crypto/ecdsa"
	"crypto/rand"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/ThalesGroup/crypto11"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/signers"
)

// softToken is a token of SoftHSM2 that is not open, and the file with its PIN.
func softToken(t *testing.T) (*token, string) {
	t.Helper()
	found, err := filepath.Glob("/usr/lib/*/softhsm/libsofthsm2.so")
	require.NoError(t, err)
	if len(found) == 0 {
		t.Skip("libsofthsm2.so is not on this machine: apt-get install softhsm2")
	}
	dir := t.TempDir()
	config, pin := filepath.Join(dir, "softhsm2.conf"), filepath.Join(dir, "pin")
	require.NoError(t, os.WriteFile(config, []byte("directories.tokendir = "+dir+"\nlog.level = ERROR\n"), 0o600))
	require.NoError(t, os.WriteFile(pin, []byte("1234\n"), 0o600))
	t.Setenv("SOFTHSM2_CONF", config)
	out, err := exec.CommandContext(t.Context(), "softhsm2-util", "--init-token", "--free", "--label", "t", "--pin", "1234", "--so-pin", "1234").CombinedOutput()
	require.NoError(t, err, "%s", out)
	k := &token{config: crypto11.Config{Path: found[0], TokenLabel: "t", MaxSessions: 8}, pinFile: pin, slots: make(chan struct{}, 4)}
	t.Cleanup(func() { k.drop(k.open) })
	return k, pin
}

// A token locks after a few wrong PINs: a refused one is not tried twice, and the file is read again.
func TestRefusedPINIsTriedOnce(t *testing.T) {
	k, pin := softToken(t)
	require.NoError(t, os.WriteFile(pin, []byte("9999"), 0o600))
	_, err := k.Find(t.Context(), "x")
	require.ErrorContains(t, err, "CKR_PIN_INCORRECT")
	for range 3 {
		_, err = k.Find(t.Context(), "x")
		require.ErrorIs(t, err, errRefused)
	}
	require.NoError(t, os.WriteFile(pin, []byte("1234"), 0o600))
	_, err = k.Find(t.Context(), "x")
	require.ErrorIs(t, err, signers.ErrNoKey)
}

// A wrong ciphertext is the fault of its sender: others keep their sessions with the token.
func TestWrongCiphertextDoesNotCloseTheToken(t *testing.T) {
	k, _ := softToken(t)
	require.NoError(t, k.Create(t.Context(), "root", signers.TypeRoot))
	sealed, err := k.Encrypt(t.Context(), "root", []byte("master"))
	require.NoError(t, err)
	open := k.open
	for _, wrong := range [][]byte{nil, make([]byte, 5), make([]byte, 12), make([]byte, 40), append([]byte{sealed[0] ^ 1}, sealed[1:]...), sealed[:len(sealed)-1]} {
		_, err := k.Decrypt(t.Context(), "root", wrong)
		require.ErrorIs(t, err, signers.ErrInvalid)
	}
	require.Same(t, open, k.open)
	plain, err := k.Decrypt(t.Context(), "root", sealed)
	require.NoError(t, err)
	require.Equal(t, "master", string(plain))
}

// Creations of one name at once make one key, whose signatures verify.
func TestNameIsCreatedOnce(t *testing.T) {
	k, _ := softToken(t)
	digest := make([]byte, 32)
	_, _ = rand.Read(digest)
	secret := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(secret, []byte("t"), 0o600))
	server := (&signers.Server{Device: k, Mount: "pkcs11", TokenFile: secret, Log: slog.New(slog.DiscardHandler)}).Handler()
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/pkcs11/keys/env", strings.NewReader(`{"type":"ecdsa-p256"}`))
			r.Header.Set("X-Vault-Token", "t")
			server.ServeHTTP(httptest.NewRecorder(), r)
		})
	}
	all.Wait()
	pairs, err := k.open.FindKeyPairs(nil, []byte("env"))
	require.NoError(t, err)
	require.Len(t, pairs, 1)
	key, err := k.Find(t.Context(), "env")
	require.NoError(t, err)
	signature, err := k.Sign(t.Context(), "env", digest)
	require.NoError(t, err)
	require.True(t, ecdsa.VerifyASN1(key.Public, digest, signature))
}
