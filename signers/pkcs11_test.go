package signers_test

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/keys"
	"github.com/countersign-dev/countersign/internal/platform/keys/software"
	"github.com/countersign-dev/countersign/internal/platform/keys/transit"
)

// softHSM is a token of SoftHSM2 and the command that serves it.
type softHSM struct {
	testing.TB
	binary, module, dir, address string
}

func startToken(t testing.TB) *softHSM {
	t.Helper()
	h := &softHSM{TB: t, binary: filepath.Join(t.TempDir(), "countersign-pkcs11"), dir: t.TempDir()}
	for _, tool := range []string{"gcc", "softhsm2-util"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(tool + " is not on this machine: apt-get install gcc softhsm2")
		}
	}
	found, err := filepath.Glob("/usr/lib/*/softhsm/libsofthsm2.so")
	require.NoError(t, err)
	if len(found) == 0 {
		t.Skip("libsofthsm2.so is not on this machine: apt-get install softhsm2")
	}
	h.module = found[0]
	h.do("go", "build", "-o", h.binary, "./cmd/countersign-pkcs11")
	for name, text := range map[string]string{"pin": "1234", "token": rand.Text(), "softhsm2.conf": "directories.tokendir = " + h.dir + "\nlog.level = ERROR\n"} {
		require.NoError(t, os.WriteFile(filepath.Join(h.dir, name), []byte(text), 0o600))
	}
	h.do("softhsm2-util", "--init-token", "--free", "--label", "countersign", "--pin", "1234", "--so-pin", "1234")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	h.address = l.Addr().String()
	require.NoError(t, l.Close())
	return h
}

func (h *softHSM) command(name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(h.Context(), name, args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=1", "SOFTHSM2_CONF="+filepath.Join(h.dir, "softhsm2.conf"))
	return cmd
}

func (h *softHSM) do(name string, args ...string) {
	h.Helper()
	out, err := h.command(name, args...).CombinedOutput()
	require.NoError(h, err, "%s", out)
}

// serve starts the command, and returns when it responds.
func (h *softHSM) serve() (stop func()) {
	h.Helper()
	var log bytes.Buffer
	cmd := h.command(h.binary, "-module", h.module, "-token", "countersign", "-pin-file", filepath.Join(h.dir, "pin"), "-auth-token-file", filepath.Join(h.dir, "token"), "-listen", h.address)
	cmd.Stdout, cmd.Stderr = &log, &log
	require.NoError(h, cmd.Start())
	stop = func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }
	h.Cleanup(stop)
	require.Eventually(h, func() bool {
		res, err := http.Get("http://" + h.address + "/v1/pkcs11/keys/x") //nolint:noctx // a probe
		if err == nil {
			_ = res.Body.Close()
		}
		return err == nil
	}, 10*time.Second, 20*time.Millisecond, "the log: %s", &log)
	return stop
}

// uri returns the setting of a backend of Countersign.
func (h *softHSM) uri(key string) *url.URL {
	u, err := url.Parse("vault+transit://" + h.address + "/pkcs11" + key + "?tls=off&token-file=" + filepath.Join(h.dir, "token"))
	require.NoError(h, err)
	return u
}

// The client of Countersign creates, adopts and uses keys in a token, also after the command was started again.
func TestKeysInAToken(t *testing.T) {
	h := startToken(t)
	stop := h.serve()
	s, err := transit.Open(h.uri(""))
	require.NoError(t, err)
	signer := keys.NewGuard(s)
	require.NoError(t, signer.Check(t.Context()))
	reference, key, err := signer.Create(t.Context(), "env_test")
	require.NoError(t, err)
	digest := sha256.Sum256([]byte("text"))
	signs := func() error {
		_, err := key.Sign(t.Context(), digest[:]) // the guard verifies it
		return err
	}
	for range 50 {
		require.NoError(t, signs())
	}
	_, adopted, err := signer.Adopt(t.Context(), strings.TrimSuffix(string(reference), ":1"))
	require.NoError(t, err)
	require.True(t, key.Public().Equal(adopted.Public()))

	root, err := transit.OpenRoot(h.uri("/countersign-root"))
	require.NoError(t, err)
	master := make([]byte, 32)
	_, _ = rand.Read(master)
	_, err = root.Wrap(t.Context(), master)
	require.ErrorContains(t, err, "404", "there is no root key yet")
	h.post("/keys/countersign-root", `{"type":"aes256-gcm96"}`)
	wrapped, err := root.Wrap(t.Context(), master)
	require.NoError(t, err)
	_, err = root.Unwrap(t.Context(), "vault:v1:"+strings.Repeat("A", 80))
	require.Error(t, err)
	require.NoError(t, signs(), "the token was opened again after a failure")

	stop()
	require.ErrorIs(t, signs(), keys.ErrUnavailable)
	h.serve()
	require.Eventually(t, func() bool { return signs() == nil }, 10*time.Second, 50*time.Millisecond)
	unwrapped, err := root.Unwrap(t.Context(), wrapped)
	require.NoError(t, err)
	require.Equal(t, master, unwrapped)

	require.NoError(t, os.WriteFile(filepath.Join(h.dir, "token"), []byte("  "), 0o600))
	require.ErrorContains(t, signer.Check(t.Context()), "403", "an empty token authenticates no one")
}

// The tests of the token itself need cgo, which the other tests do without.
func TestTokenWithCgo(t *testing.T) {
	h := startToken(t)
	h.do("go", "test", "-count", "1", "./cmd/countersign-pkcs11")
}

// post sends one request as an operator would.
func (h *softHSM) post(path, body string) {
	h.Helper()
	r, err := http.NewRequestWithContext(h.Context(), http.MethodPost, "http://"+h.address+"/v1/pkcs11"+path, strings.NewReader(body))
	require.NoError(h, err)
	token, err := os.ReadFile(filepath.Join(h.dir, "token"))
	require.NoError(h, err)
	r.Header.Set("X-Vault-Token", string(token))
	res, err := http.DefaultClient.Do(r)
	require.NoError(h, err)
	require.NoError(h, res.Body.Close())
	require.Equal(h, http.StatusOK, res.StatusCode)
}

// BenchmarkSign shows what a signature takes with a software key and with one in SoftHSM2, which signs in the process of the command.
func BenchmarkSign(b *testing.B) {
	h := startToken(b)
	h.serve()
	remote, err := transit.Open(h.uri(""))
	require.NoError(b, err)
	digest := sha256.Sum256([]byte("text"))
	for name, signer := range map[string]keys.Signer{"software": software.Signer{}, "SoftHSM2": keys.NewGuard(remote)} {
		_, key, err := signer.Create(b.Context(), "env_bench")
		require.NoError(b, err)
		for _, callers := range []int{1, 16} {
			b.Run(fmt.Sprintf("%s/callers=%d", name, callers), func(b *testing.B) {
				var all sync.WaitGroup
				left := atomic.Int64{}
				left.Store(int64(b.N))
				for range callers {
					all.Go(func() {
						for left.Add(-1) >= 0 {
							if _, err := key.Sign(b.Context(), digest[:]); err != nil {
								b.Error(err)
								return
							}
						}
					})
				}
				all.Wait()
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "signatures/s")
			})
		}
	}
}

func TestStartIsRefused(t *testing.T) {
	h := startToken(t)
	all := map[string]string{"-module": h.module, "-token": "countersign", "-pin-file": filepath.Join(h.dir, "pin"), "-auth-token-file": filepath.Join(h.dir, "token"), "-listen": h.address}
	for says, wrong := range map[string][2]string{
		"-cert is not set":            {"-listen", "0.0.0.0:8210"},
		"-auth-token-file is not set": {"-auth-token-file", ""},
		"-pin-file":                   {"-pin-file", "/nonexistent"},
		"the device cannot be used":   {"-token", "another"},
	} {
		args := []string{}
		for name, value := range all {
			if name == wrong[0] {
				value = wrong[1]
			}
			args = append(args, name, value)
		}
		out, err := h.command(h.binary, args...).CombinedOutput()
		require.Error(t, err, says)
		require.Contains(t, string(out), says)
		require.Equal(t, 1, strings.Count(string(out), "\n"), "one sentence")
	}
}
