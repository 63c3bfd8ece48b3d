package webhook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/models"
)

// The npm package of the Standard Webhooks project verifies our signatures. The test requires `npm ci` in testdata/npm.
func TestSignVerifiesWithTheStandardWebhooksNPMPackage(t *testing.T) {
	t.Parallel()
	dir := filepath.Join("testdata", "npm")
	if _, err := os.Stat(filepath.Join(dir, "node_modules", "standardwebhooks")); err != nil {
		t.Skip("npm ci has not been run in internal/delivery/webhook/testdata/npm")
	}
	ring := newRing(t)
	text, row, err := newSecret(ring, "whe_1", noon)
	require.NoError(t, err)
	otherText, otherRow, err := newSecret(ring, "whe_1", noon)
	require.NoError(t, err)
	secrets, err := openSecrets(ring, "whe_1", []models.WebhookSecret{row, otherRow})
	require.NoError(t, err)
	body, now := `{"type":"webhook.test","timestamp":"2026-03-01T12:00:00.000Z","data":{"name":"Ålesund"}}`, time.Now()
	headers := map[string]string{headerID: "evt_1", headerTimestamp: fmt.Sprint(now.Unix()), headerSignature: sign(secrets, "evt_1", now, []byte(body))}
	verify := func(secret, body string) error {
		input, err := json.Marshal(map[string]any{"secret": secret, "headers": headers, "body": body})
		require.NoError(t, err)
		cmd := exec.CommandContext(t.Context(), "node", "verify.mjs")
		cmd.Dir, cmd.Stdin = dir, bytes.NewReader(input)
		return cmd.Run()
	}
	require.NoError(t, verify(text, body))
	require.NoError(t, verify(otherText, body))
	require.Error(t, verify(text, strings.Replace(body, "test", "tset", 1)))
	stranger, _, err := newSecret(ring, "whe_1", noon)
	require.NoError(t, err)
	require.Error(t, verify(stranger, body))
}
