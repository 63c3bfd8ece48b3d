// Package state lets a gate without a memory continue a request: the client brings the authorization back in a state, which is valid for the
// same principal, route and mapped values only. It also derives the keys by which repeated requests make one authorization.
//
// A state contains no personal data: the id of the authorization, its expiry and a MAC.
package state

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"
)

// KeySize is the least length of a key in bytes.
const KeySize = 32

// Binding is the request that a state is for.
type Binding struct {
	Principal string // issuer and subject
	Route     string // name
	Digest    string // of the values that the mapping read
}

// Keys are the keys of all replicas. The first makes states; the others are accepted as well, so that keys can be rotated.
type Keys [][]byte

// ErrInvalid reports a state that is malformed, expired, or of another request.
var ErrInvalid = errors.New("the state is not of this request, or has expired")

var form = regexp.MustCompile(`^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$`) // the decoder passes over line breaks

var encoding = base64.RawURLEncoding.Strict()

// Seal returns the state of an authorization.
func (k Keys) Seal(authorization string, expires time.Time, b Binding) string {
	head := fmt.Sprintf("%s.%d", authorization, expires.Unix())
	return encoding.EncodeToString([]byte(head)) + "." + encoding.EncodeToString(sum(k[0], "state", head, b.Principal, b.Route, b.Digest))
}

// Open returns the authorization of a state, or ErrInvalid.
func (k Keys) Open(text string, now time.Time, b Binding) (authorization string, err error) {
	head, mac, err := split(text)
	if err != nil {
		return "", ErrInvalid
	}
	authorization, expiry, _ := strings.Cut(head, ".")
	var expires int64
	if _, err := fmt.Sscanf(expiry, "%d", &expires); err != nil || now.Unix() >= expires {
		return "", ErrInvalid
	}
	for _, key := range k {
		if hmac.Equal(mac, sum(key, "state", head, b.Principal, b.Route, b.Digest)) {
			return authorization, nil
		}
	}
	return "", ErrInvalid
}

// Sign returns a text with a MAC, for a purpose; Verify returns the text.
func (k Keys) Sign(purpose, text string) string {
	return encoding.EncodeToString([]byte(text)) + "." + encoding.EncodeToString(sum(k[0], purpose, text))
}

// Verify returns the text that Sign signed for the purpose, or ErrInvalid.
func (k Keys) Verify(purpose, signed string) (string, error) {
	text, mac, err := split(signed)
	if err != nil {
		return "", ErrInvalid
	}
	for _, key := range k {
		if hmac.Equal(mac, sum(key, purpose, text)) {
			return text, nil
		}
	}
	return "", ErrInvalid
}

// split returns a text and its MAC.
func split(signed string) (text string, mac []byte, err error) {
	if !form.MatchString(signed) {
		return "", nil, ErrInvalid
	}
	first, second, _ := strings.Cut(signed, ".")
	raw, err := encoding.DecodeString(first)
	if err == nil {
		mac, err = encoding.DecodeString(second)
	}
	return string(raw), mac, err
}

// Derive returns a key of 52 characters for a purpose and the parts of a request.
func (k Keys) Derive(purpose string, parts ...string) string {
	return base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum(k[0], purpose, parts...))
}

// sum is a MAC over parts of any content: each is preceded by its length.
func sum(key []byte, purpose string, parts ...string) []byte {
	h := hmac.New(sha256.New, key)
	for _, part := range append([]string{purpose}, parts...) {
		_ = binary.Write(h, binary.BigEndian, uint64(len(part))) // a hash never fails
		_, _ = io.WriteString(h, part)
	}
	return h.Sum(nil)
}
