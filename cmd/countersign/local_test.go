package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/local/dev"
)

// The commands about a running service use the folder of make run if nothing else is set.
func TestCommandsUseTheServiceOfTheFolder(t *testing.T) {
	for _, name := range []string{"COUNTERSIGN_DATABASE_URL", "COUNTERSIGN_MASTER_KEY", "COUNTERSIGN_BASE_URL", "COUNTERSIGN_KEY"} {
		t.Setenv(name, "")
	}
	dir, c := devFolder(t), cli{t: t}
	c.fails("COUNTERSIGN_DATABASE_URL is not set", "backlog", "--dir", dir)
	var screen bytes.Buffer
	err := runDev(t.Context(), devOn(t, dir), &screen, func(ctx context.Context, s dev.State) error {
		require.NoError(t, awaitEngine(ctx, s, func(string) {}))
		sandbox := s.Environments.Sandbox.Environment
		var examined string
		require.Eventually(t, func() bool {
			var err error
			examined, err = c.run("doctor", "--dir", dir)
			return err == nil
		}, time.Minute, 100*time.Millisecond, "the worker asks for tasks")
		require.Contains(t, examined, "nothing is wrong")
		c.ok("backlog", "--dir", dir)
		for _, name := range []string{sandbox, "sandbox", s.Tenant + "/sandbox"} {
			require.Contains(t, c.ok("credential", "list", "--dir", dir, "--environment", name), "crd_", name)
		}
		c.fails("there is no environment", "credential", "list", "--dir", dir, "--environment", "nobody/sandbox")

		require.Equal(t, 201, send(t, s, "POST", "/api/v1/subjects", `{"id": "ada"}`).status)
		file := filepath.Join(t.TempDir(), "ada.json")
		c.ok("subject", "export", "ada", "--out", file, "--dir", dir, "--environment", sandbox)
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		var export struct{ Subject, Digest string }
		require.NoError(t, json.Unmarshal(text, &export))
		require.Equal(t, "ada", export.Subject)
		c.fails("file exists", "subject", "export", "ada", "--out", file, "--dir", dir)
		c.fails("--confirm is \"\": repeat the subject's id", "subject", "erase", "ada", "--dir", dir)
		require.Contains(t, c.ok("subject", "erase", "ada", "--confirm", "ada", "--dir", dir), "erasing ada: ers_")
		c.fails("404", "subject", "export", "ada", "--dir", dir)
		t.Setenv("COUNTERSIGN_KEY", s.Environments.Live.ServerKey)
		c.fails("but COUNTERSIGN_KEY is a key of "+s.Environments.Live.Environment+" (live)", "subject", "erase", "ada", "--confirm", "ada", "--dir", dir, "--environment", "sandbox")
		t.Setenv("COUNTERSIGN_KEY", "")

		receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		t.Cleanup(receiver.Close)
		made, err := http.NewRequestWithContext(ctx, http.MethodPost, s.BaseURL+"/api/v1/webhook-endpoints", strings.NewReader(`{"url": "`+receiver.URL+`", "events": ["*"]}`))
		require.NoError(t, err)
		made.Header.Set("Authorization", "Bearer "+s.Environments.Sandbox.AdminKey)
		made.Header.Set("Content-Type", "application/json")
		answer, err := http.DefaultClient.Do(made)
		require.NoError(t, err)
		var endpoint struct{ ID string }
		require.NoError(t, json.NewDecoder(answer.Body).Decode(&endpoint))
		require.NoError(t, answer.Body.Close())
		require.Regexp(t, endpoint.ID+` +enabled +\* .* +`+receiver.URL, c.ok("webhook", "list", "--dir", dir))
		require.Contains(t, c.ok("webhook", "test", endpoint.ID, "--dir", dir), "was delivered: status 200")
		require.Contains(t, c.ok("webhook", "replay", endpoint.ID, "--since", "2026-01-01T00:00:00Z", "--dir", dir), "0 deliveries to "+endpoint.ID+" are scheduled")
		return nil
	})
	require.NoError(t, err, screen.String())
}
