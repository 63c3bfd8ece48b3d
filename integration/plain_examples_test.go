package integration_test

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestExamplesWithoutAnSDK runs the programs of examples/plain, which need only the standard library of their language.
func TestExamplesWithoutAnSDK(t *testing.T) {
	t.Parallel()
	folder, err := filepath.Abs("../examples/plain")
	require.NoError(t, err)
	w := newSandbox(t)
	action, subject := "payout.release", w.subject(t)
	path := "/api/v1/actions/" + w.Server.post(t, "/api/v1/actions", object{
		"key": action, "name": "Release a payout", "consequence": "Money leaves the account.", "resource_type": "account", "allowed_audiences": []string{"payments"},
	}).is(201).string("id")
	w.Server.post(t, path+"/policy-versions", object{"requirements": object{"coverage_min": "none", "explicit_approval_required": true}}).is(201)
	w.Server.post(t, path+"/policy-versions/1/activate", nil).is(200)
	w.Server.patch(t, path, object{"mode": "enforce"}).is(200)
	for program, source := range map[string]string{"python3": "payout.py", "java": "Payout.java"} {
		t.Run(program, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(program); err != nil {
				t.Skip(program + " is not installed")
			}
			output := runShell(t, folder, program+" "+source+" "+subject+" "+action, "BASE="+shared.baseURL, "KEY="+w.Server.key)
			require.Contains(t, output, "paid to acc-1")
		})
	}
}
