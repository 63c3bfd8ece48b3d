package proof

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/countersign-dev/countersign/internal/platform/keys"
)

// The protected header of every proof: these three members and no other.
const (
	Algorithm = "ES256"
	Type      = "poa+jwt"
)

// MaxSize is the maximum length of a proof in bytes, when signing and when verifying. The contract's own limits keep a proof
// below 4 KiB.
const MaxSize = 8192

// encoding is base64url without padding. Strict refuses stray bits in the last character.
var encoding = base64.RawURLEncoding.Strict()

// Signer signs proofs with one key. It is safe for concurrent use.
type Signer struct {
	key    keys.Key
	keyID  string
	header string // encoded, with the dot that follows it
}

// NewSigner returns a signer for a P-256 key; the kid of its proofs is KeyID of the key.
func NewSigner(key keys.Key) (*Signer, error) {
	if key == nil || key.Public().Curve != elliptic.P256() {
		return nil, errors.New("signer: not a P-256 key")
	}
	kid, err := KeyID(key.Public())
	if err != nil {
		return nil, fmt.Errorf("signer: %w", err)
	}
	header, err := encodedHeader(kid)
	if err != nil {
		return nil, fmt.Errorf("signer: %w", err)
	}
	return &Signer{key: key, keyID: kid, header: header}, nil
}

// encodedHeader returns the header of the proofs of a key, with the dot that follows it.
func encodedHeader(keyID string) (string, error) {
	raw, err := json.Marshal(header{Algorithm: Algorithm, KeyID: keyID, Type: Type})
	return encoding.EncodeToString(raw) + ".", err
}

// header is the protected header of a JWS.
type header struct {
	Algorithm string `json:"alg"`
	KeyID     string `json:"kid"`
	Type      string `json:"typ"`
}

// KeyID returns the kid of the signer's proofs.
func (s *Signer) KeyID() string { return s.keyID }

// Public returns the key the signer's proofs are verified with.
func (s *Signer) Public() *ecdsa.PublicKey { return s.key.Public() }

// Sign returns the compact JWS of the claims. It refuses a claim set that Verify would refuse at any time.
//
// The signature is R and S as 32 bytes each (RFC 7518 section 3.4), made by the key over a header encoded once for all its
// proofs. Tests verify the result with jwx.
func (s *Signer) Sign(ctx context.Context, c Claims) (string, error) {
	out, err := c.input(s.header)
	if err != nil {
		return "", fmt.Errorf("sign proof: %w", err)
	}
	signature, err := s.signature(ctx, out)
	if err != nil {
		return "", err
	}
	return string(encoding.AppendEncode(append(out, '.'), signature)), nil
}

// input returns what is signed of a proof: the header and the claims. It has room for the signature.
func (c Claims) input(header string) ([]byte, error) {
	if c.Assurance.Claims == nil {
		c.Assurance.Claims = map[string]string{}
	}
	if err := c.check(); err != nil {
		return nil, err
	}
	payload, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	size := len(header) + encoding.EncodedLen(len(payload)) + 1 + encoding.EncodedLen(signatureSize)
	if size > MaxSize {
		return nil, fmt.Errorf("%d bytes long, %d are allowed", size, MaxSize)
	}
	return encoding.AppendEncode(append(make([]byte, 0, size), header...), payload), nil
}

func (s *Signer) signature(ctx context.Context, input []byte) ([]byte, error) {
	digest := sha256.Sum256(input)
	signature, err := s.key.Sign(ctx, digest[:])
	if err != nil {
		return nil, fmt.Errorf("sign with key %s: %w", s.keyID, err)
	}
	return signature, nil
}

// signatureSize is the length of an ES256 signature in bytes.
const signatureSize = keys.SignatureSize
