package integration_test

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/testing/testenv"
	"github.com/countersign-dev/countersign/internal/testing/testenv/temporaltest"
)

// release is a binary of a release on the database and the Temporal namespace of a deployment.
type release struct {
	t       *testing.T
	path    string
	env     []string
	running []*exec.Cmd
}

// run carries out a command and returns its output, of which the last error is part.
func (r *release) run(args ...string) (string, error) {
	cmd := exec.CommandContext(context.WithoutCancel(r.t.Context()), r.path, args...)
	cmd.Env = r.env
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (r *release) must(args ...string) string {
	r.t.Helper()
	out, err := r.run(args...)
	require.NoError(r.t, err, "%s %v: %s", r.path, args, out)
	return out
}

// start starts an API and a worker and returns the URL of the API once both are ready.
func (r *release) start() string {
	r.t.Helper()
	addresses := make([]string, 3)
	for i := range addresses {
		l := listen(r.t)
		addresses[i] = l.Addr().String()
		require.NoError(r.t, l.Close())
	}
	api, ops, worker := addresses[0], addresses[1], addresses[2]
	for _, p := range []struct{ command, ops string }{{"serve", ops}, {"worker", worker}} {
		var said bytes.Buffer
		cmd := exec.CommandContext(context.WithoutCancel(r.t.Context()), r.path, p.command)
		cmd.Env = append(slices.Clone(r.env), "COUNTERSIGN_LISTEN="+api, "COUNTERSIGN_OPS_LISTEN="+p.ops)
		cmd.Stdout, cmd.Stderr = &said, &said
		require.NoError(r.t, cmd.Start())
		r.running = append(r.running, cmd)
		r.t.Cleanup(func() {
			if r.t.Failed() {
				for line := range strings.Lines(said.String()) {
					if !strings.Contains(line, `"level":"INFO"`) {
						r.t.Logf("%s %s: %s", r.path, p.command, line)
					}
				}
			}
		})
		eventually(r.t, func() bool {
			res, err := http.Get("http://" + p.ops + "/readyz")
			if err != nil {
				return false
			}
			_ = res.Body.Close()
			return res.StatusCode == http.StatusOK
		}, r.path+" "+p.command+" is ready")
	}
	r.t.Cleanup(r.stop)
	return "http://" + api
}

// stop ends the processes as a service manager does.
func (r *release) stop() {
	for _, cmd := range r.running {
		_ = cmd.Process.Signal(syscall.SIGTERM)
	}
	for _, cmd := range r.running {
		_ = cmd.Wait()
	}
	r.running = nil
}

// openWork lists the requests that wait while a deployment is upgraded.
type openWork struct{ hold, challenge, proof string }

func (w world) openWork(t *testing.T, actions map[string]string) openWork {
	t.Helper()
	subject := w.subject(t)
	return openWork{
		hold:      w.authorize(t, subject, actions["hold"], "hold").string("id"),
		challenge: w.authorize(t, subject, actions["challenge"], "challenge").string("challenge.id"),
		proof:     w.authorize(t, subject, actions["allow"], "allow").string("proof"),
	}
}

// settle approves, completes and consumes what waits. Like a relying party it repeats what is unavailable.
func (w world) settle(t *testing.T, o openWork) {
	t.Helper()
	post := func(path string, body object) (done response) {
		eventually(t, func() bool {
			res, err := w.Server.send(http.MethodPost, path, body)
			res.t = t
			done = res
			return err == nil && res.status != http.StatusServiceUnavailable
		}, path)
		return done.is(200)
	}
	post("/api/v1/authorizations/"+o.hold+"/review", object{"resolution": "approve"})
	receipt := post("/api/v1/challenges/"+o.challenge+"/complete", object{"method": "sandbox_confirm"})
	followUp := w.Server.get(t, "/api/v1/authorizations/"+receipt.string("authorization")).is(200).string("proof.compact")
	for _, proof := range []string{o.proof, followUp} {
		require.Equal(t, true, post("/api/v1/verify", object{"proof": proof, "consume": true}).value("valid"))
	}
}

// A deployment of an earlier release is upgraded under load while holds, challenges and proofs are open, goes back, and is upgraded again.
func TestReleaseUpgrade(t *testing.T) {
	t.Parallel()
	earlier, this := os.Getenv("COUNTERSIGN_TEST_EARLIER"), os.Getenv("COUNTERSIGN_TEST_THIS")
	if earlier == "" || this == "" {
		t.Skip("make test-upgrade builds the two binaries and runs it")
	}
	address, namespace, err := temporaltest.New(context.WithoutCancel(t.Context()))
	require.NoError(t, err)
	env := append(os.Environ(), "COUNTERSIGN_DATABASE_URL="+testenv.EmptyDatabase(t), "COUNTERSIGN_MASTER_KEY="+keyring.Generate(),
		"COUNTERSIGN_BASE_URL=https://countersign.example", "COUNTERSIGN_TEMPORAL_ADDRESS="+address, "COUNTERSIGN_TEMPORAL_NAMESPACE="+namespace)
	before, after := &release{t: t, path: earlier, env: env}, &release{t: t, path: this, env: env}

	before.must("migrate")
	made := before.must("tenant", "create", "--name", "Upgraded", "--rp-id", "countersign.example", "--origin", "https://countersign.example", "--background", "prior")
	environment := regexp.MustCompile(`sandbox +(env_\S+)`).FindStringSubmatch(made)[1]
	admin := regexp.MustCompile(`sk_test_\S+`).FindString(made)
	key := regexp.MustCompile(`sk_test_\S+`).FindString(before.must("credential", "create", "--environment", environment, "--name", "test", "--rate-limit", "10000000"))
	old := world{Server: caller{base: before.start(), key: key}}

	load := newTraffic(t, old)
	load.start(1)
	first, second := old.openWork(t, load.actions), old.openWork(t, load.actions)

	after.must("migrate")
	upgraded := world{Server: caller{base: after.start(), key: key}}
	beside := &traffic{w: upgraded, subject: load.subject, actions: load.actions, decided: map[string]response{}, bodies: map[string]object{}}
	beside.start(1)
	upgraded.settle(t, first)
	third, fourth := upgraded.openWork(t, load.actions), upgraded.openWork(t, load.actions)
	out, err := after.run("migrate", "--finish")
	require.Error(t, err, "processes of the earlier release are connected")
	require.Contains(t, out, "stop them")

	decided := beside.end(t)
	after.stop()
	require.Empty(t, beside.reasons, "requests failed beside the earlier release")
	old.settle(t, third) // the way back

	upgraded.Server.base = after.start()
	require.Empty(t, load.reasons, "requests failed while the schema changed, or beside this release")
	for decision, responses := range load.end(t) {
		decided[decision] = append(decided[decision], responses...)
	}
	before.stop()
	upgraded.settle(t, second)
	require.Contains(t, after.must("migrate", "--finish"), "the upgrade from version 1.0 is finished")
	eventually(t, func() bool {
		return strings.Contains(string(caller{base: upgraded.Server.base, key: admin}.get(t, "/api/v1/audit?kind=environment.upgraded").is(200).body), `"kind":"environment.upgraded"`)
	}, "the end of the upgrade is sealed in the log")
	upgraded.settle(t, fourth)
	for decision, responses := range decided {
		require.NotEmpty(t, responses, decision)
		for _, r := range responses {
			require.Equal(t, decision, upgraded.Server.get(t, "/api/v1/authorizations/"+r.string("id")).is(200).string("decision"))
		}
	}
	after.must("audit", "verify", "--quiet", "--environment", environment)
	t.Logf("%d, %d and %d decisions allowed, challenged and held under load", len(decided["allow"]), len(decided["challenge"]), len(decided["hold"]))
}
