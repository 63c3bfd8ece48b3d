package webhook

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/models"
)

const (
	secretPrefix = "whsec_"
	secretSize   = 32               // bytes; Standard Webhooks requires 24 to 64
	purpose      = "webhook-secret" // of the keyring
)

// The request headers of Standard Webhooks.
const (
	headerID        = "webhook-id"
	headerTimestamp = "webhook-timestamp"
	headerSignature = "webhook-signature"
)

// newSecret generates a signing secret. It returns the text that the owner of the endpoint receives once, and the row with
// the sealed secret.
func newSecret(ring *keyring.Keyring, endpoint string, now time.Time) (string, models.WebhookSecret, error) {
	raw := make([]byte, secretSize)
	_, _ = rand.Read(raw) // crypto/rand.Read never returns an error
	sealed, err := ring.Seal(purpose, raw, []byte(endpoint))
	row := models.WebhookSecret{ID: ids.New("whs"), EndpointID: endpoint, Sealed: sealed, CreatedAt: now}
	return secretPrefix + base64.StdEncoding.EncodeToString(raw), row, err
}

// openSecrets unseals an endpoint's secrets. The endpoint id is the additional data of the seal, so that a secret cannot be
// moved to another endpoint's row.
func openSecrets(ring *keyring.Keyring, endpoint string, rows []models.WebhookSecret) ([][]byte, error) {
	out := make([][]byte, len(rows))
	for i, r := range rows {
		raw, err := ring.Open(purpose, r.Sealed, []byte(endpoint))
		if err != nil {
			return nil, err
		}
		out[i] = raw
	}
	return out, nil
}

// sign returns the value of the webhook-signature header: one v1 signature per secret, separated by spaces, so that a receiver
// can verify with the old or the new secret while a rotation overlaps.
func sign(secrets [][]byte, id string, at time.Time, body []byte) string {
	signatures := make([]string, len(secrets))
	for i, secret := range secrets {
		mac := hmac.New(sha256.New, secret)
		mac.Write([]byte(id + "." + strconv.FormatInt(at.Unix(), 10) + "."))
		mac.Write(body)
		signatures[i] = "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	}
	return strings.Join(signatures, " ")
}
