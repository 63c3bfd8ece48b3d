package apitest

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// OIDCProviders runs two identity providers of the npm package oidc-provider until the test ends and returns their issuers. The
// folder is integration/testdata/oidcprovider; the test is skipped if its packages are not installed.
func OIDCProviders(t testing.TB, folder string, client Object) (issuers []string) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(folder, "node_modules", "oidc-provider")); err != nil {
		t.Skip("npm ci has not been run in integration/testdata/oidcprovider")
	}
	registered, err := json.Marshal(client)
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), "node", "provider.mjs", string(registered))
	cmd.Dir = folder
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = stdin.Close(); _ = cmd.Wait() })
	require.NoError(t, json.NewDecoder(out).Decode(&issuers), "%s", &complaints)
	return issuers
}
