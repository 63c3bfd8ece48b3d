// Package webhook verifies the events that a Countersign service sends, to the Standard Webhooks specification: HMAC-SHA256
// over id, timestamp and body. It keeps no record of ids: a receiver that must not act twice remembers webhook-id.
package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/sdk/go/events"
)

// Tolerance is how far a timestamp may be from the receiver's clock, either way.
const Tolerance = 5 * time.Minute

// maxBody bounds an event in bytes.
const maxBody = 1 << 20

// Why an event is refused. Return 400 or 401: the service retries later.
var (
	ErrHeaders   = errors.New("webhook: webhook-id, webhook-timestamp or webhook-signature is missing or malformed")
	ErrTimestamp = errors.New("webhook: the timestamp is more than 5 minutes from this machine's clock")
	ErrSignature = errors.New("webhook: no signature matches")
)

// Event is a delivered event. The same ID arrives again if the service could not know that an earlier attempt
// succeeded.
type Event struct {
	ID        string          `json:"-"` // webhook-id
	Type      string          `json:"type"`
	Timestamp time.Time       `json:"timestamp"`
	Data      json.RawMessage `json:"data"`
	Display   *Display        `json:"display"` // only of holds, for endpoints with include_details
}

// Display has the details of the request that a hold is about.
type Display struct {
	Details []Detail `json:"details"`
}

// Detail is one line of Display. It may be personal data.
type Detail struct {
	Label     string `json:"label"`
	Value     string `json:"value"`
	Format    string `json:"format"`
	Canonical string `json:"canonical"` // such as 1250.50 EUR; empty for text
}

// Payload returns the data in the type of the event, such as *events.HoldApproved; *events.Unknown for a type that a later version
// of the service added.
func (e *Event) Payload() (events.Payload, error) { return events.Parse(e.Type, e.Data) }

// Verifier verifies with one secret, or with two while one replaces the other. Make it with New.
type Verifier struct {
	secrets [][]byte
	now     func() time.Time
}

// New takes the endpoint's secrets, each whsec_ and base64, as the service showed them.
func New(secrets ...string) (*Verifier, error) {
	v := &Verifier{now: time.Now}
	for _, s := range secrets {
		raw, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(s, "whsec_"))
		if err != nil || len(raw) < 24 {
			return nil, errors.New("webhook: a secret must be whsec_ and the base64 of at least 24 bytes")
		}
		v.secrets = append(v.secrets, raw)
	}
	if len(v.secrets) == 0 {
		return nil, errors.New("webhook: at least one secret is needed")
	}
	return v, nil
}

// Read reads and verifies the event of a request. The body is read to its end, or to 1 MiB.
func (v *Verifier) Read(r *http.Request) (*Event, error) {
	body, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, maxBody))
	if err != nil {
		return nil, fmt.Errorf("webhook: %w", err)
	}
	return v.Verify(r.Header, body)
}

// Verify checks that body was sent with these headers by who knows the secret, not long ago.
func (v *Verifier) Verify(h http.Header, body []byte) (*Event, error) {
	id, stamp, signatures := h.Get("webhook-id"), h.Get("webhook-timestamp"), strings.Fields(h.Get("webhook-signature"))
	seconds, err := strconv.ParseUint(stamp, 10, 40) // which takes no sign
	if id == "" || err != nil || len(signatures) == 0 {
		return nil, ErrHeaders
	}
	if age := v.now().Sub(time.Unix(int64(seconds), 0)); age.Abs() > Tolerance {
		return nil, ErrTimestamp
	}
	if !v.matches([]byte(id+"."+stamp+"."), body, signatures) {
		return nil, ErrSignature
	}
	e := &Event{ID: id}
	if err := json.Unmarshal(body, e); err != nil {
		return nil, fmt.Errorf("webhook: the body: %w", err)
	}
	return e, nil
}

func (v *Verifier) matches(prefix, body []byte, signatures []string) bool {
	for _, secret := range v.secrets {
		mac := hmac.New(sha256.New, secret)
		mac.Write(prefix)
		mac.Write(body)
		want := mac.Sum(nil)
		for _, s := range signatures {
			version, text, _ := strings.Cut(s, ",")
			got, err := base64.StdEncoding.DecodeString(text)
			if version == "v1" && err == nil && hmac.Equal(got, want) {
				return true
			}
		}
	}
	return false
}
