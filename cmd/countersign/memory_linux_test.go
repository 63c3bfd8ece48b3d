package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/authz/signing"
	"github.com/countersign-dev/countersign/internal/local/dev"
	"github.com/countersign-dev/countersign/internal/local/subprocess"
	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/platform/keys/software"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/testing/testenv"
	"github.com/countersign-dev/countersign/internal/testing/testenv/temporaltest"
	"github.com/countersign-dev/countersign/internal/testing/transittest"
)

// commandEnv has the command line with which this binary is the service and not its tests, for tests of whole processes.
const commandEnv = "COUNTERSIGN_TEST_COMMAND"

func TestMain(m *testing.M) {
	if line := os.Getenv(commandEnv); line != "" {
		os.Args = append(os.Args[:1], strings.Fields(line)...)
		main()
		return
	}
	os.Exit(m.Run())
}

// The memory of serve and of worker, after each has signed a proof, has neither a private key that is in a backend nor the root key. It does
// have software keys and the unwrapped master key, which also shows that the search finds what is there.
func TestMemoryHasNoKeyThatIsInABackend(t *testing.T) {
	for _, backend := range []string{"transit", software.Name} {
		t.Run(backend, func(t *testing.T) {
			server := transittest.Start(t)
			url := testenv.Database(t)
			c := newCLI(t, url)
			master := os.Getenv("COUNTERSIGN_MASTER_KEY")
			if backend != software.Name {
				t.Setenv("COUNTERSIGN_SIGNING_KEYS", server.URI)
			}
			t.Setenv("COUNTERSIGN_ROOT_KEY", server.RootURI)
			t.Setenv("COUNTERSIGN_MASTER_KEY", strings.TrimSpace(c.ok("key", "wrap")))
			processes, api := startProcesses(t)
			signProofs(t, c, dev.State{BaseURL: api, DatabaseURL: url})
			inBackend, inSoftware := server.Secrets(t), softwareKeys(t, url, master)
			require.Equal(t, backend == software.Name, len(inBackend) == 1, "beside the root key the backend has the keys that signed")
			require.Equal(t, backend == software.Name, len(inSoftware) > 0)
			raw, err := base64.StdEncoding.DecodeString(master)
			require.NoError(t, err)
			for name, p := range processes {
				for i, secret := range inBackend {
					require.False(t, inMemory(t, p, secret)[0], "%s has secret %d of the backend in memory", name, i)
				}
				require.True(t, inMemory(t, p, raw)[0], "%s: the unwrapped master key", name)
				require.Equal(t, backend == software.Name, slices.Contains(inMemory(t, p, inSoftware...), true), "%s: software keys", name)
			}
		})
	}
}

// startProcesses starts serve and worker as processes of their own and returns them with the URL of the API.
func startProcesses(t *testing.T) (processes map[string]*subprocess.Process, api string) {
	t.Helper()
	address, namespace := temporaltest.Namespace(t)
	self, err := os.Executable()
	require.NoError(t, err)
	listen := freeAddress(t)
	processes = map[string]*subprocess.Process{}
	for name, line := range map[string]string{"serve": "serve --listen " + listen, "worker": "worker"} {
		ops := freeAddress(t)
		p, err := subprocess.Start(subprocess.Spec{Path: self, Orphaned: syscall.SIGKILL, Output: io.Discard, Env: append(os.Environ(),
			commandEnv+"="+line+" --ops-listen "+ops, "COUNTERSIGN_TEMPORAL_ADDRESS="+address, "COUNTERSIGN_TEMPORAL_NAMESPACE="+namespace)})
		require.NoError(t, err)
		t.Cleanup(func() { _ = p.Stop(syscall.SIGKILL, time.Second) })
		processes[name] = p
		t.Setenv("COUNTERSIGN_OPS_LISTEN", ops)
		require.Eventually(t, func() bool {
			_, err := cli{t}.run("healthcheck")
			return err == nil
		}, time.Minute, 50*time.Millisecond, "%s is ready", name)
	}
	return processes, "http://" + listen
}

// signProofs has serve sign the proof of an allow, and worker that of an approved hold.
func signProofs(t *testing.T, c cli, s dev.State) {
	t.Helper()
	env := environmentID.FindString(c.ok("tenant", "create", "--background", "prior", "--name", "n", "--rp-id", "bank.example", "--origin", "https://bank.example"))
	s.Environments.Sandbox.ServerKey = regexp.MustCompile(`sk_test_\S+`).FindString(c.ok("credential", "create", "--environment", env))
	r := running{t, s}
	r.made("POST", "/api/v1/subjects", `{"id":"user-1"}`)
	decide := func(key, requirements, decision string) map[string]any {
		id := r.made("POST", "/api/v1/actions", `{"key":"`+key+`","name":"Pay","consequence":"Money leaves.","allowed_audiences":["bank"]}`)["id"].(string)
		r.made("POST", "/api/v1/actions/"+id+"/policy-versions", `{"requirements":`+requirements+`}`)
		r.made("POST", "/api/v1/actions/"+id+"/policy-versions/1/activate", "")
		r.made("PATCH", "/api/v1/actions/"+id, `{"mode":"enforce"}`)
		a := r.made("POST", "/api/v1/authorize", fmt.Sprintf(`{"subject":"user-1","action":"%s","resource":{"type":"resource","id":"1"},"audience":"bank",
			"requested_at":%d,"nonce":"0123456789abcdef%s","idempotency_key":"key-12345678-%s"}`, key, now(t, s), key, key))
		require.Equal(t, decision, a["decision"])
		return a
	}
	require.NotEmpty(t, decide("pay", `{"coverage_min":"none"}`, "allow")["proof"])
	held := decide("wire", `{"coverage_min":"partial","insufficient_evidence":"hold"}`, "hold")["id"].(string)
	require.Eventually(t, func() bool {
		status, _ := r.send("POST", "/api/v1/authorizations/"+held+"/review", s.Environments.Sandbox.ServerKey, `{"resolution":"approve"}`)
		return status == 200
	}, time.Minute, 50*time.Millisecond, "the hold is approved")
}

// softwareKeys returns the private scalars of the signing keys that are in the database.
func softwareKeys(t *testing.T, url, master string) [][]byte {
	t.Helper()
	ring, err := keyring.Parse(master)
	require.NoError(t, err)
	st, err := pg.Open(t.Context(), url, pg.Options{MaxConns: 1, Keys: ring})
	require.NoError(t, err)
	defer st.Close()
	envs, err := tenancy.ListEnvironments(t.Context(), st.Q, "")
	require.NoError(t, err)
	var out [][]byte
	for _, e := range envs {
		rows, err := signing.AllSigningKeys(context.WithoutCancel(t.Context()), st.Q, pg.Scope{Tenant: e.TenantID, Environment: e.ID})
		require.NoError(t, err)
		for _, row := range rows {
			if row.Backend != software.Name {
				continue
			}
			der, err := ring.Open("signing-key", row.Sealed, []byte(row.KID))
			require.NoError(t, err)
			key, err := software.Parse(der)
			require.NoError(t, err)
			scalar, err := key.Bytes()
			require.NoError(t, err)
			out = append(out, scalar)
		}
	}
	return out
}

// inMemory reports for each secret whether the writable memory of a process has it: as it is, in the reverse order, which is that of the
// words of a big number, or in a common encoding.
func inMemory(t *testing.T, p *subprocess.Process, secrets ...[]byte) []bool {
	t.Helper()
	found := make([]bool, len(secrets))
	var forms [][][]byte
	for _, s := range secrets {
		reversed := slices.Clone(s)
		slices.Reverse(reversed)
		forms = append(forms, [][]byte{s, reversed, []byte(hex.EncodeToString(s)), []byte(base64.RawStdEncoding.EncodeToString(s)), []byte(base64.RawURLEncoding.EncodeToString(s))})
	}
	readMemory(t, p.PID(), func(region []byte) {
		for i := range forms {
			found[i] = found[i] || slices.ContainsFunc(forms[i], func(form []byte) bool { return bytes.Contains(region, form) })
		}
	})
	return found
}

// readMemory calls f with each writable region of the memory of a process, which is stopped meanwhile.
func readMemory(t *testing.T, pid int, f func(region []byte)) {
	t.Helper()
	require.NoError(t, syscall.Kill(pid, syscall.SIGSTOP))
	defer func() { require.NoError(t, syscall.Kill(pid, syscall.SIGCONT)) }()
	mem, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
	if errors.Is(err, fs.ErrPermission) {
		t.Skip("this user may not read the memory of its own processes")
	}
	require.NoError(t, err)
	defer func() { _ = mem.Close() }()
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	require.NoError(t, err)
	read := 0
	for lines := bufio.NewScanner(bytes.NewReader(maps)); lines.Scan(); {
		var from, to int64
		var rights string
		if n, _ := fmt.Sscanf(lines.Text(), "%x-%x %s", &from, &to, &rights); n != 3 || !strings.HasPrefix(rights, "rw") {
			continue
		}
		region := make([]byte, to-from)
		n, err := mem.ReadAt(region, from)
		if err != nil && n == 0 {
			continue // a region of the kernel
		}
		read += n
		f(region[:n])
	}
	require.Greater(t, read, 1<<20, "the memory was read")
}
