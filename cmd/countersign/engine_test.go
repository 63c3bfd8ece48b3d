package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/local/dev"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/ids"
)

// slowBuild makes the options build devstack when release is closed, as on a machine that has never built it.
func slowBuild(t *testing.T, o devOptions) (slow devOptions, release chan struct{}) {
	t.Helper()
	built := o.devstack
	o.devstack = filepath.Join(t.TempDir(), "devstack")
	release = make(chan struct{})
	o.build = func(ctx context.Context, report func(step string)) error {
		report("building, 62 %")
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-release:
			return os.Symlink(built, o.devstack)
		}
	}
	return o, release
}

// sent is a response of the development machine.
type sent struct {
	status int
	header http.Header
	body   string
}

// send sends a request with the sandbox's server key.
func send(t *testing.T, s dev.State, method, path, body string) sent {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.BaseURL+path, strings.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer "+s.Environments.Sandbox.ServerKey)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return sent{resp.StatusCode, resp.Header, string(text)}
}

// decide requests a decision about an action that the person approves each time.
func decide(t *testing.T, s dev.State) (challenge string) {
	t.Helper()
	var made struct{ ID string }
	action := send(t, s, "POST", "/api/v1/actions", `{"key": "payment.release", "name": "Release a payment", "consequence": "Money leaves.", "allowed_audiences": ["payments"]}`)
	require.NoError(t, json.Unmarshal([]byte(action.body), &made), action.body)
	path := "/api/v1/actions/" + made.ID + "/policy-versions"
	require.Equal(t, 201, send(t, s, "POST", path, `{"requirements": {"coverage_min": "none", "explicit_approval_required": true}}`).status)
	require.Equal(t, 200, send(t, s, "POST", path+"/1/activate", "").status)
	require.Equal(t, 201, send(t, s, "POST", "/api/v1/subjects", `{"id": "ada"}`).status)
	ask, err := json.Marshal(map[string]any{
		"subject": "ada", "action": "payment.release", "resource": map[string]string{"type": "resource", "id": "payment-1"}, "audience": "payments",
		"requested_at": clock.System().Now().Unix(), "nonce": ids.New(ids.Authorization), "idempotency_key": ids.New(ids.Authorization),
	})
	require.NoError(t, err)
	decision := send(t, s, "POST", "/api/v1/authorize", string(ask))
	require.Equal(t, 200, decision.status, decision.body)
	var decided struct {
		Decision  string
		Challenge struct{ ID string }
	}
	require.NoError(t, json.Unmarshal([]byte(decision.body), &decided))
	require.Equal(t, "challenge", decided.Decision)
	return decided.Challenge.ID
}

func TestDecisionsAreServedWhileTemporalIsBuilt(t *testing.T) {
	t.Parallel()
	o, release := slowBuild(t, devOn(t, devFolder(t)))
	var screen bytes.Buffer
	err := runDev(t.Context(), o, &screen, func(ctx context.Context, s dev.State) error {
		challenge := decide(t, s)
		const confirm = `{"method": "sandbox_confirm"}`
		refused := send(t, s, "POST", "/api/v1/challenges/"+challenge+"/complete", confirm)
		require.Equal(t, 503, refused.status, refused.body)
		require.Equal(t, "5", refused.header.Get("Retry-After"))
		require.Contains(t, refused.body, `"code":"unavailable"`)
		require.Contains(t, refused.body, "The workflow engine is starting: building, 62 %.")
		ready := send(t, dev.State{BaseURL: s.OpsURL}, "GET", "/readyz", "")
		require.Equal(t, 200, ready.status, "decisions are served, so the process is ready")
		require.Contains(t, ready.body, `"temporal":"starting"`)
		require.Contains(t, ready.body, "the workflow engine is starting: building, 62 %")
		require.Contains(t, send(t, s, "GET", "/api/v1/meta", "").body, `"challenges":"unavailable"`)
		require.Contains(t, send(t, s, "GET", "/try", "").body, "The workflow engine is starting: building, 62 %.")
		require.Contains(t, send(t, s, "GET", "/try/engine", "").body, "building, 62 %")

		close(release)
		require.NoError(t, awaitEngine(ctx, s, func(string) {}))
		require.JSONEq(t, `{"starting": ""}`, send(t, s, "GET", "/try/engine", "").body)
		require.Equal(t, "ok", readiness(t, s.OpsURL+"/readyz")["temporal"])
		require.Eventually(t, func() bool {
			return send(t, s, "POST", "/api/v1/challenges/"+challenge+"/complete", confirm).status == 200
		}, time.Minute, 50*time.Millisecond, "the challenge of before is completed")
		return nil
	})
	require.NoError(t, err, screen.String())
}

func TestMachineEndsIfTemporalCannotBeBuilt(t *testing.T) {
	t.Parallel()
	o := devOptions{dir: devFolder(t), devstack: filepath.Join(t.TempDir(), "devstack")}
	o.build = func(context.Context, func(string)) error { return errors.New("main.go:3: undefined: x") }
	err := runDev(t.Context(), o, io.Discard, func(ctx context.Context, s dev.State) error {
		return awaitEngine(ctx, s, func(string) {})
	})
	require.EqualError(t, err, "the Temporal server cannot be built: main.go:3: undefined: x")
}

func TestInterruptStopsABuild(t *testing.T) {
	t.Parallel()
	o, _ := slowBuild(t, devOptions{dir: devFolder(t)})
	ctx, interrupt := context.WithCancel(t.Context())
	err := runDev(ctx, o, io.Discard, func(context.Context, dev.State) error {
		interrupt()
		return nil
	})
	require.NoError(t, err)
	again, err := dev.Acquire(o.dir)
	require.NoError(t, err, "everything has stopped")
	again.Release()
}
