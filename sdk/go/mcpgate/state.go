package mcpgate

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/sdk/go/proof"
)

// stateLife is how long a state is valid: the longest that a hold waits, and a day.
const stateLife = 31 * 24 * time.Hour

// sealed is the content of a state.
type sealed struct {
	Authorization string `json:"a"`
	Expires       int64  `json:"e"` // Unix time in seconds
}

var errState = errors.New("the state is of a different call, was changed, or has expired")

// seal returns the state of a call that waits for an authorization: `payload.mac`, both base64url. The MAC covers the method, the person,
// the action, the digest of the context and the expiry, so that a client can neither change it nor use it for a different call.
func (r *run) seal(authorization string) string {
	text, _ := json.Marshal(sealed{authorization, time.Now().Add(stateLife).Unix()}) // a struct of a text and a number has a JSON form
	payload := base64.RawURLEncoding.EncodeToString(text)
	return payload + "." + base64.RawURLEncoding.EncodeToString(r.mac(payload))
}

// unseal returns the authorization of a state that the gate sealed for this call.
func (r *run) unseal(state string) (string, error) {
	payload, tag, _ := strings.Cut(state, ".")
	got, err := base64.RawURLEncoding.DecodeString(tag)
	if err != nil || !hmac.Equal(got, r.mac(payload)) {
		return "", errState
	}
	var s sealed
	text, err := base64.RawURLEncoding.DecodeString(payload)
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	if err != nil || time.Now().Unix() >= s.Expires {
		return "", errState
	}
	return s.Authorization, nil
}

func (r *run) mac(payload string) []byte {
	key := r.StateKey
	if len(key) == 0 {
		key = r.Client.DeriveKey("mcp state")
	}
	covered, _ := proof.Canonical(map[string]string{ // a map of texts has a canonical form
		"method": "tools/call", "subject": r.call.Subject, "action": r.call.Action, "digest": r.digest, "payload": payload,
	})
	h := hmac.New(sha256.New, key)
	h.Write(covered)
	return h.Sum(nil)
}
