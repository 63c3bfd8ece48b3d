package integration_test

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/models"
)

// The Go SDK is a module of its own, so that its users do not depend on the service. Its live tests run here.
func TestGoSDKLive(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	run := exec.CommandContext(t.Context(), "go", "test", "-C", "../sdk/go", "-count=1", "-v", "-run", "^TestLive", ".")
	run.Env = append(os.Environ(), "COUNTERSIGN_URL="+shared.baseURL, "COUNTERSIGN_KEY="+w.issue(t, models.ScopeAdmin, nil))
	output, err := run.CombinedOutput()
	require.NoError(t, err, "%s", output)
	require.NotContains(t, string(output), "SKIP")
}

// The gate for agents' tools is a module of its own as well. Its tests use the official MCP client and server.
func TestGoMCPGateLive(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	run := exec.CommandContext(t.Context(), "go", "test", "-C", "../sdk/go/mcpgate", "-count=1", "-v", "-run", "^TestLive", ".")
	run.Env = append(os.Environ(), "COUNTERSIGN_URL="+shared.baseURL, "COUNTERSIGN_AHEAD_URL="+replicaAhead(t, time.Hour),
		"COUNTERSIGN_KEY="+w.issue(t, models.ScopeAdmin, nil), "COUNTERSIGN_REVIEWER_KEY="+w.Server.key)
	output, err := run.CombinedOutput()
	require.NoError(t, err, "%s", output)
	require.NotContains(t, string(output), "SKIP")
}
