package integration_test

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/local/demo"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/models"
)

// The demonstration leaves records of every kind that the console shows.
func TestDemonstrationLeavesSomethingOnEveryPage(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	people, err := demo.Load(t.TempDir(), 3) // simulated: the folder has no recordings
	require.NoError(t, err)
	require.NoError(t, demo.Run(t.Context(), demo.Options{
		BaseURL: shared.baseURL, Key: w.Server.key, AdminKey: w.Admin.key, ApproverKey: w.issue(t, models.ScopeAdmin, nil),
		People: people, Now: clock.System().Now, Out: io.Discard,
	}))
	env := w.Admin.get(t, "/api/v1/environment").is(200)
	require.Equal(t, false, env.value("second_approver_required"), "the demonstration leaves the requirement off")
	require.NotEmpty(t, env.string("brand.logo"))
	require.Len(t, w.Admin.get(t, "/api/v1/teams").is(200).list(), 2)
	require.Len(t, w.Admin.get(t, "/api/v1/changes?status=pending").is(200).list(), 1)
	require.NotEmpty(t, w.Admin.get(t, "/api/v1/evaluations").is(200).list())
	require.NotEmpty(t, w.Admin.get(t, "/api/v1/authorizations?decision=allow").is(200).list())
	attempts := map[string]int{}
	for _, e := range w.Admin.get(t, "/api/v1/webhook-endpoints").is(200).list() {
		path := "/api/v1/webhook-endpoints/" + e["id"].(string) + "/attempts?status="
		for _, status := range []string{"succeeded", "failed"} {
			attempts[status] += len(w.Admin.get(t, path+status).is(200).list())
		}
	}
	require.Positive(t, attempts["succeeded"])
}
