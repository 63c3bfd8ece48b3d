package apitest

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// OIDCProviders runs two identity providers of the npm package oidc-provider until the test ends and returns their issuers. The
// folder is integration/testdata/oidcprovider; the test is skipped if its packages are not installed.
func OIDCProviders(t testing.TB, folder string, client Object) (issuers []string) {
	t.Helper()
	registered, err := json.Marshal(client)
	require.NoError(t, err)
	Node(t, folder, "oidc-provider", &issuers, "provider.mjs", string(registered))
	return issuers
}
