package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/local/dev"
)

// devOn are the options of a development machine on any ports.
func devOn(t *testing.T, dir string) devOptions {
	t.Helper()
	binary, err := filepath.Abs("../../bin/devstack")
	require.NoError(t, err)
	if _, err := os.Stat(binary); err != nil {
		t.Skip("bin/devstack is not built: run make devstack")
	}
	return devOptions{dir: dir, devstack: binary}
}

func TestDevKeepsKeysAndData(t *testing.T) {
	t.Parallel()
	dir := devFolder(t)
	var first dev.State
	var screen bytes.Buffer
	err := runDev(t.Context(), devOn(t, dir), &screen, func(ctx context.Context, s dev.State) error {
		first = s
		require.NotEqual(t, s.Environments.Sandbox.Environment, s.Try.Environment, "a reviewer does not see the holds of visitors")
		for _, k := range []dev.Keys{s.Environments.Sandbox, s.Environments.Live, s.Try} {
			for _, key := range []string{k.ServerKey, k.AdminKey, k.PublishableKey} {
				require.NoError(t, probe(ctx, s.BaseURL+"/api/v1/credential", key))
			}
		}
		stored, err := dev.ReadState(dir)
		require.NoError(t, err)
		require.Equal(t, s, stored)
		require.NoError(t, awaitEngine(ctx, s, func(string) {}))
		ready := readiness(t, s.OpsURL+"/readyz")
		require.Equal(t, map[string]string{"postgres": "ok", "schema": "ok", "writes": "ok", "temporal": "ok", "workers": "ok", "search_attributes": "ok",
			"master_key": "ok", "signing": "ok"}, ready)
		require.Error(t, runDev(ctx, devOn(t, dir), &bytes.Buffer{}, nil), "the folder is taken")
		return nil
	})
	require.NoError(t, err, screen.String())
	require.Error(t, probe(t.Context(), first.BaseURL+"/api/v1/credential", first.Environments.Sandbox.ServerKey), "everything has stopped")

	err = runDev(t.Context(), devOn(t, dir), &screen, func(_ context.Context, s dev.State) error {
		require.Equal(t, first.Tenant, s.Tenant)
		require.Equal(t, first.Environments, s.Environments)
		require.Equal(t, first.Try, s.Try)
		return nil
	})
	require.NoError(t, err, screen.String())

	// Keys that are lost are replaced, for the tenant that is there.
	require.NoError(t, os.Remove(dev.StatePath(dir)))
	err = runDev(t.Context(), devOn(t, dir), &screen, func(ctx context.Context, s dev.State) error {
		require.Equal(t, first.Tenant, s.Tenant)
		require.NotEqual(t, first.Environments.Live.ServerKey, s.Environments.Live.ServerKey)
		return probe(ctx, s.BaseURL+"/api/v1/credential", s.Environments.Live.ServerKey)
	})
	require.NoError(t, err, screen.String())
}

func readiness(t *testing.T, url string) map[string]string {
	t.Helper()
	resp, err := http.Get(url) // #nosec G107 -- our own
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	require.Equal(t, http.StatusOK, resp.StatusCode)
	var body struct{ Checks map[string]string }
	require.NoError(t, json.NewDecoder(resp.Body).Decode(&body))
	return body.Checks
}

func TestASchemaIsNotRaisedWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	in, _, err := os.Pipe() // no terminal
	require.NoError(t, err)
	t.Cleanup(func() { _ = in.Close() })
	err = mayRaise(1000, 1001, in, io.Discard)
	require.ErrorIs(t, err, errUsage)
	require.ErrorContains(t, err, "this build needs 1001; an earlier build may refuse it afterwards: give --migrate")
}
