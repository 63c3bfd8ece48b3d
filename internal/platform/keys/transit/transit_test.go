package transit_test

import (
	"crypto/sha256"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
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

// uris returns the settings of signing keys and of a root key: of the stand-in, or of the server whose mount and parameters
// COUNTERSIGN_TEST_SIGNING_KEYS names, which then has a key countersign-root.
func uris(t *testing.T) (signing, root string) {
	t.Helper()
	signing = os.Getenv("COUNTERSIGN_TEST_SIGNING_KEYS")
	if signing == "" {
		server := transittest.Start(t)
		return server.URI, server.RootURI
	}
	return signing, strings.Replace(signing, "?", "/countersign-root?", 1)
}

func TestRootKeyWraps(t *testing.T) {
	t.Parallel()
	_, uri := uris(t)
	u, err := url.Parse(uri)
	require.NoError(t, err)
	root, err := transit.OpenRoot(u)
	require.NoError(t, err)
	wrapped, err := root.Wrap(t.Context(), []byte("master"))
	require.NoError(t, err)
	again, err := root.Wrap(t.Context(), []byte("master"))
	require.NoError(t, err)
	require.NotEqual(t, wrapped, again)
	master, err := root.Unwrap(t.Context(), wrapped)
	require.NoError(t, err)
	require.Equal(t, "master", string(master))
	for name, text := range map[string]string{"not wrapped": "master", "altered": wrapped[:len(wrapped)-8] + "AAAAAAA="} {
		_, err := root.Unwrap(t.Context(), text)
		require.ErrorContains(t, err, "400", name)
	}
}

// TestKeysSign signs with the stand-in, or with a real server: see uris.
func TestKeysSign(t *testing.T) {
	t.Parallel()
	uri, _ := uris(t)
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

// A server that redirects gets no token sent to where others could read it.
func TestRedirectsKeepTheToken(t *testing.T) {
	t.Parallel()
	var to atomic.Value
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", to.Load().(string)+r.URL.Path)
		w.WriteHeader(http.StatusTemporaryRedirect)
	}))
	t.Cleanup(server.Close)
	active := transittest.Start(t)
	s := open(t, strings.Replace(active.URI, hostOf(t, active.URI), strings.TrimPrefix(server.URL, "http://"), 1))
	to.Store("http://" + hostOf(t, active.URI))
	_, _, err := s.Create(t.Context(), "env_test")
	require.NoError(t, err, "the active server of this machine")
	for _, elsewhere := range []string{"http://bao.example:8200", "ftp://127.0.0.1", server.URL} {
		to.Store(elsewhere)
		_, _, err := s.Create(t.Context(), "env_test")
		require.ErrorContains(t, err, "redirects", elsewhere)
	}
}

func hostOf(t *testing.T, uri string) string {
	t.Helper()
	u, err := url.Parse(uri)
	require.NoError(t, err)
	return u.Host
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	for name, uri := range map[string]string{
		"no mount":             "vault+transit://bao.example:8200",
		"a password":           "vault+transit://user:secret@bao.example/transit",
		"plain text elsewhere": "vault+transit://bao.example/transit?tls=off",
		"unknown parameters":   "vault+transit://bao.example/transit?token=secret",
		"a token alone":        "vault+transit://bao.example/transit?hvs.secret",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u, err := url.Parse(uri)
			require.NoError(t, err)
			_, err = transit.Open(u)
			require.Error(t, err)
			require.NotContains(t, err.Error(), "secret")
		})
	}
}
