package integration_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// peer is a different implementation of the Authorization API.
type peer struct{ base string }

// startCerbos starts the Cerbos of bin/cerbos with the policies of testdata/authzen/cerbos. Without the binary the test is skipped:
// building it takes minutes.
func startCerbos(t *testing.T) peer {
	t.Helper()
	binary, err := filepath.Abs("../bin/cerbos")
	require.NoError(t, err)
	if _, err := os.Stat(binary); err != nil {
		t.Skip("bin/cerbos is not built: make test-peers builds it")
	}
	policies, err := filepath.Abs("testdata/authzen/cerbos")
	require.NoError(t, err)
	address := [2]string{}
	for i := range address {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		address[i] = l.Addr().String()
		require.NoError(t, l.Close())
	}
	cmd := exec.Command(binary, "server", "--set=telemetry.disabled=true", "--set=storage.driver=disk", "--set=storage.disk.directory="+policies,
		"--set=server.httpListenAddr="+address[0], "--set=server.grpcListenAddr="+address[1])
	cmd.Dir, cmd.Stdout, cmd.Stderr = t.TempDir(), t.Output(), t.Output()
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	})
	p := peer{"http://" + address[0]}
	eventually(t, func() bool {
		res, err := http.Get(p.base + "/_cerbos/health") //nolint:noctx // a probe
		if err != nil {
			return false
		}
		return res.Body.Close() == nil && res.StatusCode == http.StatusOK
	}, "Cerbos is healthy")
	return p
}

// decide returns the decisions of a response, one if it is no batch; none if the status is not 200.
func (p peer) decide(t *testing.T, path, body string) (out []bool, status int) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.base+path, bytes.NewReader([]byte(body)))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	res, err := (&http.Client{Timeout: time.Minute}).Do(req)
	require.NoError(t, err)
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	if res.StatusCode != http.StatusOK {
		return nil, res.StatusCode
	}
	type evaluation struct {
		Decision bool `json:"decision"`
	}
	var parsed struct {
		evaluation
		Evaluations []evaluation `json:"evaluations"`
	}
	require.NoError(t, json.Unmarshal(text, &parsed), "response: %s", text)
	for _, e := range parsed.Evaluations {
		out = append(out, e.Decision)
	}
	if out == nil && path == accessSingle {
		out = []bool{parsed.Decision}
	}
	return out, res.StatusCode
}

// semanticCases are batches whose option ends them early.
func semanticCases() map[string]accessBatchCase {
	batch := func(semantic string) string {
		return `{"subject":` + bob + `,"resource":` + record1 + `,"options":{"evaluations_semantic":"` + semantic + `"},"evaluations":[{"action":` + read +
			`},{"action":` + write + `},{"action":` + read + `}]}`
	}
	return map[string]accessBatchCase{
		"options/execute_all":            {batch("execute_all"), []bool{true, false, true}},
		"options/deny_on_first_deny":     {batch("deny_on_first_deny"), []bool{true, false}},
		"options/permit_on_first_permit": {batch("permit_on_first_permit"), []bool{true}},
	}
}

// differs lists the requests of the table for which Cerbos 0.55 returns something else, with what it returns. docs/authzen.md
// names them: an entry that disappears is a change of Cerbos, a new one is a fault of either.
var differs = map[string]string{
	"core/unknown fields": "400 []",      // "unknown field"
	"core/an invalid one": "400 []",      // refuses the batch, not the evaluation
	"properties/merging":  "400 []",      // a default entity has to be complete
	"properties/rule 7":   "200 [false]", // policies do not see the properties of an action
}

// TestAccessAgreesWithCerbos puts every request of the certification scenario and of the interop to this service and to Cerbos, each
// with the same rules as a policy of its own, and compares the decisions.
func TestAccessAgreesWithCerbos(t *testing.T) {
	t.Parallel()
	other := startCerbos(t)
	fixture, todo := certified(t), todoApplication(t)
	compared, found := 0, map[string]string{}
	compare := func(name string, ours []bool, path, body string, want []bool) {
		compared++
		require.Equal(t, want, ours, "%s: %s", name, body)
		theirs, status := other.decide(t, path, body)
		if got := fmt.Sprintf("%d %v", status, theirs); got != fmt.Sprintf("200 %v", want) {
			found[name] = got
		}
	}
	one := func(pdp caller, name string, c accessCase) {
		a := pdp.post(t, accessSingle, []byte(c.body)).is(200)
		compare(name, []bool{a.value("decision").(bool)}, accessSingle, c.body, []bool{c.want})
	}
	many := func(pdp caller, name string, c accessBatchCase) {
		compare(name, pdp.post(t, accessBatch, []byte(c.body)).decisions(), accessBatch, c.body, c.want)
	}
	for name, c := range basicCases() {
		one(fixture, name, c)
	}
	for _, batches := range []map[string]accessBatchCase{batchCases(), semanticCases()} {
		for name, c := range batches {
			many(fixture, name, c)
		}
	}
	single, batches := todoDecisions(t)
	for i, c := range single {
		one(todo, fmt.Sprintf("todo/%d", i+1), c)
	}
	for i, c := range batches {
		many(todo, fmt.Sprintf("todo/batch %d", i+1), c)
	}
	t.Logf("%d requests compared, %d differ", compared, len(found))
	require.Equal(t, differs, found)
}
