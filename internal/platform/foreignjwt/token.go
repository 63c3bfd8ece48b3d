package foreignjwt

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/coreos/go-oidc/v3/oidc"

	"github.com/countersign-dev/countersign/internal/platform/strictjson"
)

const (
	// MaxName is the length of sub, sid, jti and a key id in bytes (OpenID Connect Core 1.0, section 2, of sub).
	MaxName = 255
	// latest is the end of year 9999, the latest time that a token may have.
	latest = 253402300799
	// Ahead is how far an issuer's clock may be ahead of this one.
	Ahead = 5 * time.Minute
)

// Algorithms are the signatures that are accepted: asymmetric ones only. With a symmetric one, a public key could pass for the
// secret; none is no signature.
var Algorithms = []string{
	oidc.RS256, oidc.RS384, oidc.RS512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.EdDSA,
}

// tokenHeader is the part of a token's header that is used.
type tokenHeader struct {
	Algorithm string `json:"alg"`
	KeyID     string `json:"kid"`
	Type      string `json:"typ"`
}

// Kind is a use of a token: its largest size in bytes, and the types that its header may have, in lower case; empty for none.
type Kind struct {
	Max   int
	Types []string
}

// The reasons for which a token is refused before its signature is verified.
var (
	ErrForm      = errors.New("foreignjwt: the token is not three parts of unpadded base64url in their only form")
	ErrSize      = errors.New("foreignjwt: the token is too long")
	ErrAlgorithm = errors.New("foreignjwt: the signature's algorithm is not accepted")
	ErrType      = errors.New("foreignjwt: the token is of a different type")
	ErrClaim     = errors.New("foreignjwt: a claim is missing, too long or out of range")
)

// Claims are the claims of a token.
type Claims map[string]json.RawMessage

// part decodes one part of a token. Only one text decodes to it.
func part(text string) ([]byte, error) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || base64.RawURLEncoding.EncodeToString(raw) != text {
		return nil, ErrForm
	}
	return raw, nil
}

// headerOf returns the header of a token. Critical extensions are refused: none is supported (RFC 7515, section 4.1.11).
func headerOf(jwt string) (tokenHeader, error) {
	var h tokenHeader
	first, _, _ := strings.Cut(jwt, ".")
	raw, err := part(first)
	if err != nil {
		return h, err
	}
	if err := strictjson.Unmarshal(raw, &h); err != nil {
		return h, err
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(raw, &all); err != nil {
		return h, err
	}
	if _, critical := all["crit"]; critical || len(h.KeyID) > MaxName {
		return h, ErrForm
	}
	return h, nil
}

// Read returns the claims of a token whose signature is not verified yet.
func (k Kind) Read(jwt string) (Claims, error) {
	if len(jwt) > k.Max {
		return nil, ErrSize
	}
	parts := strings.Split(jwt, ".")
	if len(parts) != 3 {
		return nil, ErrForm
	}
	h, err := headerOf(jwt)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(Algorithms, h.Algorithm) {
		return nil, ErrAlgorithm
	}
	if !slices.Contains(k.Types, strings.TrimPrefix(strings.ToLower(h.Type), "application/")) {
		return nil, ErrType
	}
	if _, err := part(parts[2]); err != nil {
		return nil, err
	}
	payload, err := part(parts[1])
	if err != nil {
		return nil, err
	}
	c, err := ReadClaims(payload)
	if err != nil {
		return nil, err
	}
	return c, c.Bounded()
}

// protocolClaims are the claims that are read.
var protocolClaims = []string{"iss", "sub", "aud", "exp", "iat", "nbf", "jti", "nonce", "azp", "at_hash", "sid", "events"}

// ReadClaims decodes claims and refuses those that two readers could take for different ones: repeated members, text that is no Unicode, NUL.
func ReadClaims(raw []byte) (Claims, error) {
	tree, err := strictjson.Decode(raw, strictjson.Limits{AnyFinite: true})
	if err != nil {
		return nil, err
	}
	object, isObject := tree.(map[string]any)
	if !isObject {
		return nil, ErrForm
	}
	// encoding/json, which go-oidc uses, takes SUB for sub.
	for name := range object {
		if slices.ContainsFunc(protocolClaims, func(claim string) bool { return name != claim && strictjson.Fold(name) == strictjson.Fold(claim) }) {
			return nil, ErrForm
		}
	}
	var c Claims
	return c, json.Unmarshal(raw, &c)
}

// Bounded refuses claims that are too long or out of range.
func (c Claims) Bounded() error {
	for _, name := range []string{"sub", "sid", "jti", "nonce", "azp"} {
		if raw, has := c[name]; has {
			var text string
			if json.Unmarshal(raw, &text) != nil || len(text) > MaxName || !plain(text) {
				return ErrClaim
			}
		}
	}
	for _, name := range []string{"exp", "iat", "nbf", "auth_time"} {
		if _, ok := c.Time(name); !ok && c[name] != nil {
			return ErrClaim
		}
	}
	return nil
}

// plain reports whether a text is one that a database and a log take as it is.
func plain(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) || r == utf8.RuneError })
}

// Time returns a claim that is a time in seconds (RFC 7519, section 2, NumericDate); false for any other.
func (c Claims) Time(name string) (time.Time, bool) {
	var seconds float64
	if json.Unmarshal(c[name], &seconds) != nil || string(c[name]) == "null" || seconds < 0 || seconds > latest {
		return time.Time{}, false
	}
	whole, part := math.Modf(seconds)
	return time.Unix(int64(whole), int64(part*1e9)).UTC(), true
}
