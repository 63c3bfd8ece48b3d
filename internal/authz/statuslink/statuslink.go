// Package statuslink makes and checks the links to the status page of a hold. The link itself opens the page, which shows no details, amounts
// or names. A link is computed from the hold and is not stored. The package may not read the hold.
package statuslink

import (
	"crypto/hmac"
	"encoding/base64"
	"strings"

	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/models"
)

// Path is the path of the page; the environment, the authorization and the token follow it.
const Path = "/status/"

// purpose names the keyring's subkey of the tokens.
const purpose = "hold-status"

// tokenSize is the number of bytes of a token.
const tokenSize = 16

// Links makes the links of one service.
type Links struct {
	keys *keyring.Keyring
	base string
}

// New returns Links to the pages of the service with the base URL, such as https://trust.example.
func New(keys *keyring.Keyring, base string) Links { return Links{keys, base} }

// Prefix returns the link of an authorization without its token. Only this part is stored.
func (l Links) Prefix(env models.Environment, authorization string) string {
	base := l.base
	if env.PageOrigin != nil {
		base = *env.PageOrigin
	}
	return base + Path + env.ID + "/" + authorization + "/"
}

// Complete returns the link that Prefix began.
func (l Links) Complete(prefix string) string {
	parts := strings.Split(strings.TrimSuffix(prefix, "/"), "/")
	if len(parts) < 2 {
		return prefix
	}
	environment, authorization := parts[len(parts)-2], parts[len(parts)-1]
	return prefix + base64.RawURLEncoding.EncodeToString(l.keys.MAC(purpose, []byte(environment), []byte(authorization))[:tokenSize])
}

// Opens reports whether the token is that of the authorization, made under any key of the keyring.
func (l Links) Opens(environment, authorization, token string) bool {
	given, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || len(given) != tokenSize {
		return false
	}
	for _, mac := range l.keys.MACs(purpose, []byte(environment), []byte(authorization)) {
		if hmac.Equal(mac[:tokenSize], given) {
			return true
		}
	}
	return false
}
