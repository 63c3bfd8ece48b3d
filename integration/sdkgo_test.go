package integration_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/models"
)

// The SDKs are modules of their own, so that their users do not depend on the service. Their live tests run here.
func TestGoSDKLive(t *testing.T) {
	t.Parallel()
	testGoSDK(t, "../sdk")
}

// The gate for agents' tools is a module of its own as well. Its tests use the official MCP client and server.
func TestGoMCPGateLive(t *testing.T) {
	t.Parallel()
	testGoMCPGate(t, "../sdk")
}

// The SDKs of the last release call this service. make test-upgrade unpacks them.
func TestEarlierSDKsLive(t *testing.T) {
	t.Parallel()
	sdks := os.Getenv("COUNTERSIGN_TEST_EARLIER_SDKS")
	if sdks == "" {
		t.Skip("COUNTERSIGN_TEST_EARLIER_SDKS names no folder: make test-upgrade unpacks the SDKs of the last release")
	}
	for name, test := range map[string]func(*testing.T, string){"Go": testGoSDK, "Go MCP gate": testGoMCPGate, "JavaScript MCP gate": testJavaScriptMCPGate} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, sdks)
		})
	}
}

func testGoSDK(t *testing.T, sdks string) {
	t.Helper()
	w := newSandbox(t)
	requireLive(t, exec.CommandContext(t.Context(), "go", "test", "-C", filepath.Join(sdks, "go"), "-count=1", "-v", "-run", "^TestLive", "."),
		"COUNTERSIGN_KEY="+w.issue(t, models.ScopeAdmin, nil))
}

func testGoMCPGate(t *testing.T, sdks string) {
	t.Helper()
	w := newSandbox(t)
	requireLive(t, exec.CommandContext(t.Context(), "go", "test", "-C", filepath.Join(sdks, "go", "mcpgate"), "-count=1", "-v", "-run", "^TestLive", "."),
		"COUNTERSIGN_AHEAD_URL="+replicaAhead(t, time.Hour), "COUNTERSIGN_KEY="+w.issue(t, models.ScopeAdmin, nil), "COUNTERSIGN_REVIEWER_KEY="+w.Server.key)
}

// requireLive runs the tests of an SDK against this service and fails if one fails or is skipped.
func requireLive(t *testing.T, run *exec.Cmd, environment ...string) {
	t.Helper()
	run.Env = append(append(os.Environ(), "COUNTERSIGN_URL="+shared.baseURL), environment...)
	output, err := run.CombinedOutput()
	require.NoError(t, err, "%s", output)
	require.NotContains(t, string(output), "SKIP")
}
