package main

import (
	"crypto/rand"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/proving/harness"
	countersign "github.com/countersign-dev/countersign/sdk/go"
)

// On a full disk every decision returns 503 with Retry-After. Once there is room again, every decision that was returned is still
// stored. The test needs a small file system of its own, which only root may mount.
func TestServiceIsUnavailableOnAFullDisk(t *testing.T) {
	if testing.Short() {
		t.Skip("starts servers")
	}
	t.Parallel()
	dir := folder(t)
	disk := filepath.Join(dir, "disk")
	require.NoError(t, os.Mkdir(disk, 0o755))
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=160m,mode=0755"); err != nil {
		t.Skip("mounting a file system is not permitted:", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(disk, syscall.MNT_DETACH) })

	r, err := harness.Up(t.Context(), harness.Options{Dir: disk, Binary: built(t), Env: []string{"COUNTERSIGN_LOG_LEVEL=error"}})
	require.NoError(t, err)
	t.Cleanup(func() { _ = r.Down() })
	tenant, err := r.NewTenant(t.Context(), "Full")
	require.NoError(t, err)
	require.NoError(t, r.API.Start(t.Context()))
	sdk, err := harness.NewSDK(r.API.URL, tenant.Server, 30*time.Second)
	require.NoError(t, err)
	require.NoError(t, harness.NewAction(t.Context(), sdk, "payment.release", countersign.PolicyRequirements{CoverageMin: "none"}))
	_, err = sdk.CreateSubject(t.Context(), &countersign.SubjectCreate{ID: "person"})
	require.NoError(t, err)
	raw := harness.NewRawClient(r.API.URL, tenant.Server, 30*time.Second)

	decided := map[string]bool{}
	authorize := func() int {
		key := rand.Text()
		a, err := raw.Do("POST", "/api/v1/authorize", map[string]any{
			"subject": "person", "action": "payment.release", "resource": map[string]string{"type": "resource", "id": key},
			"audience": harness.Audience, "requested_at": time.Now().Unix(), "nonce": rand.Text(), "idempotency_key": key,
		})
		require.NoError(t, err)
		switch a.Status {
		case http.StatusOK:
			var got struct{ ID string }
			require.NoError(t, json.Unmarshal(a.Body, &got))
			decided[got.ID] = true
		case http.StatusServiceUnavailable:
			require.NotEmpty(t, a.RetryAfter)
		default:
			require.Fail(t, "neither a decision nor unavailable", "%d %s", a.Status, a.Body)
		}
		return a.Status
	}
	require.Equal(t, http.StatusOK, authorize())

	filler := filepath.Join(disk, "filler")
	f, err := os.Create(filler)
	require.NoError(t, err)
	piece := make([]byte, 64<<10)
	for err == nil {
		_, err = f.Write(piece)
	}
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.NoError(t, f.Close())
	require.Eventually(t, func() bool { return authorize() == http.StatusServiceUnavailable }, 2*time.Minute, time.Millisecond, "the disk is full")

	require.NoError(t, os.Remove(filler))
	if !r.Postgres.Running() { // it ends if it cannot write its log; in production a supervisor starts it again
		require.NoError(t, r.Postgres.Start(t.Context()))
	}
	require.Eventually(t, func() bool { return authorize() == http.StatusOK }, time.Minute, 50*time.Millisecond, "there is room again")
	for id := range decided {
		_, err := sdk.GetAuthorization(t.Context(), id)
		require.NoError(t, err)
	}
}
