// Package devicetest tests a device with the client of Countersign, through the server that its command runs. Only tests may import it.
package devicetest

import (
	"crypto/sha256"
	"log/slog"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/keys"
	"github.com/countersign-dev/countersign/internal/platform/keys/transit"
	"github.com/countersign-dev/countersign/signers"
)

// Run creates and uses a signing key and a root key of a device, and then has it fail.
func Run(t *testing.T, d signers.Device, fail func()) {
	t.Helper()
	token := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(token, []byte("t"), 0o600))
	served := httptest.NewServer((&signers.Server{Device: d, Mount: "device", TokenFile: token, Log: slog.New(slog.DiscardHandler)}).Handler())
	t.Cleanup(served.Close)
	uri := func(key string) *url.URL {
		u, err := url.Parse("vault+transit://" + strings.TrimPrefix(served.URL, "http://") + "/device" + key + "?tls=off&token-file=" + token)
		require.NoError(t, err)
		return u
	}
	s, err := transit.Open(uri(""))
	require.NoError(t, err)
	signer := keys.NewGuard(s)
	require.NoError(t, signer.Check(t.Context()))
	reference, key, err := signer.Create(t.Context(), "env_test")
	require.NoError(t, err)
	digest := sha256.Sum256([]byte("text"))
	for range 20 { // the guard verifies each
		_, err := key.Sign(t.Context(), digest[:])
		require.NoError(t, err)
	}
	_, adopted, err := signer.Adopt(t.Context(), strings.TrimSuffix(string(reference), ":1"))
	require.NoError(t, err)
	require.True(t, key.Public().Equal(adopted.Public()))

	require.NoError(t, d.Create(t.Context(), "countersign-root", signers.TypeRoot))
	root, err := transit.OpenRoot(uri("/countersign-root"))
	require.NoError(t, err)
	wrapped, err := root.Wrap(t.Context(), []byte("master"))
	require.NoError(t, err)
	master, err := root.Unwrap(t.Context(), wrapped)
	require.NoError(t, err)
	require.Equal(t, "master", string(master))
	_, err = root.Unwrap(t.Context(), "vault:v1:AAAA")
	require.ErrorContains(t, err, "400")
	_, _, err = signer.Adopt(t.Context(), "countersign-root")
	require.ErrorContains(t, err, "not ecdsa-p256")

	fail()
	_, err = key.Sign(t.Context(), digest[:])
	require.ErrorIs(t, err, keys.ErrUnavailable)
	require.ErrorIs(t, signer.Check(t.Context()), keys.ErrUnavailable)
}
