package webhook

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/models"
)

func newRing(t *testing.T) *keyring.Keyring {
	t.Helper()
	ring, err := keyring.Parse(keyring.Generate())
	require.NoError(t, err)
	return ring
}

// The library of the Standard Webhooks project verifies our signatures with every secret of a rotation, and rejects
// altered requests.
func TestSignVerifiesWithTheStandardWebhooksLibrary(t *testing.T) {
	t.Parallel()
	ring := newRing(t)
	oldText, oldRow, err := newSecret(ring, "whe_1", noon)
	require.NoError(t, err)
	newText, newRow, err := newSecret(ring, "whe_1", noon)
	require.NoError(t, err)
	require.Regexp(t, `^whsec_[A-Za-z0-9+/]{43}=$`, newText)
	require.NotContains(t, string(newRow.Sealed), newText)
	secrets, err := openSecrets(ring, "whe_1", []models.WebhookSecret{newRow, oldRow})
	require.NoError(t, err)
	_, err = openSecrets(ring, "whe_2", []models.WebhookSecret{newRow})
	require.Error(t, err, "a secret is bound to its endpoint")

	body, now := []byte(`{"type":"webhook.test","timestamp":"2026-03-01T12:00:00.000Z","data":{}}`), time.Now()
	header := http.Header{}
	header.Set(headerID, "evt_1")
	header.Set(headerTimestamp, fmt.Sprint(now.Unix()))
	header.Set(headerSignature, sign(secrets, "evt_1", now, body))
	for _, text := range []string{oldText, newText} {
		wh, err := standardwebhooks.NewWebhook(text)
		require.NoError(t, err)
		require.NoError(t, wh.Verify(body, header))
		require.Error(t, wh.Verify([]byte(strings.Replace(string(body), "test", "tset", 1)), header))
		for _, name := range []string{headerID, headerTimestamp} {
			changed := header.Clone()
			changed.Set(name, strings.Replace(header.Get(name), "1", "2", 1))
			require.Error(t, wh.Verify(body, changed), name)
		}
		changed := header.Clone()
		changed.Set(headerSignature, strings.ToLower(header.Get(headerSignature)))
		require.Error(t, wh.Verify(body, changed))
	}
	stranger, _, err := newSecret(ring, "whe_1", noon)
	require.NoError(t, err)
	wh, err := standardwebhooks.NewWebhook(stranger)
	require.NoError(t, err)
	require.Error(t, wh.Verify(body, header))
}
