package transit_test

import (
	"crypto/sha256"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/keys"
	"github.com/countersign-dev/countersign/internal/platform/keys/transit"
	"github.com/countersign-dev/countersign/internal/testing/transittest"
)

func open(t *testing.T, uri string) *keys.Guard {
	t.Helper()
	u, err := url.Parse(uri)
	require.NoError(t, err)
	s, err := transit.Open(u)
	require.NoError(t, err)
	return keys.NewGuard(s)
}

// TestKeysSign runs against the stand-in, or against the server of COUNTERSIGN_TEST_TRANSIT.
func TestKeysSign(t *testing.T) {
	t.Parallel()
	uri := os.Getenv("COUNTERSIGN_TEST_TRANSIT")
	if uri == "" {
		uri = transittest.Start(t).URI
	}
	s := open(t, uri)
	require.NoError(t, s.Check(t.Context()))
	reference, key, err := s.Create(t.Context(), "env_test")
	require.NoError(t, err)
	digest := sha256.Sum256([]byte("text"))
	for range 20 { // the guard verifies each
		_, err := key.Sign(t.Context(), digest[:])
		require.NoError(t, err)
	}
	again, err := s.Open(reference, key.Public())
	require.NoError(t, err)
	_, err = again.Sign(t.Context(), digest[:])
	require.NoError(t, err)
	other, _, err := s.Create(t.Context(), "env_other")
	require.NoError(t, err)
	wrong, err := s.Open(other, key.Public())
	require.NoError(t, err)
	_, err = wrong.Sign(t.Context(), digest[:])
	require.ErrorIs(t, err, keys.ErrUnavailable, "the signature of another key is not returned")
	_, _, err = s.Adopt(t.Context(), "countersign-unknown")
	require.ErrorContains(t, err, "404")
}

func TestUnavailableIsReportedAtOnceAndPasses(t *testing.T) {
	t.Parallel()
	server := transittest.Start(t)
	s := open(t, server.URI)
	_, key, err := s.Create(t.Context(), "env_test")
	require.NoError(t, err)
	digest := sha256.Sum256([]byte("text"))
	server.Sealed.Store(true)
	for range 20 {
		start := time.Now()
		_, err := key.Sign(t.Context(), digest[:])
		require.ErrorIs(t, err, keys.ErrUnavailable)
		require.Less(t, time.Since(start), time.Second)
	}
	require.ErrorIs(t, s.Check(t.Context()), keys.ErrUnavailable)
	server.Sealed.Store(false)
	require.Eventually(t, func() bool { _, err := key.Sign(t.Context(), digest[:]); return err == nil }, 10*time.Second, 50*time.Millisecond)
}

func TestCheckRefuses(t *testing.T) {
	t.Parallel()
	server := transittest.Start(t)
	for name, uri := range map[string]string{
		"no token":       strings.Split(server.URI, "&")[0],
		"another mount":  strings.Replace(server.URI, "/transit?", "/other?", 1),
		"nothing there":  "vault+transit://127.0.0.1:1/transit?tls=off",
		"no such a file": strings.Split(server.URI, "&")[0] + "&token-file=/nonexistent",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.ErrorIs(t, open(t, uri).Check(t.Context()), keys.ErrUnavailable)
		})
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	for name, uri := range map[string]string{
		"no mount":             "vault+transit://bao.example:8200",
		"a password":           "vault+transit://user:secret@bao.example/transit",
		"plain text elsewhere": "vault+transit://bao.example/transit?tls=off",
		"unknown parameters":   "vault+transit://bao.example/transit?token=secret",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u, err := url.Parse(uri)
			require.NoError(t, err)
			_, err = transit.Open(u)
			require.Error(t, err)
		})
	}
}
