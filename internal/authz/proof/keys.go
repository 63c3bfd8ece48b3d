package proof

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/lestrrat-go/jwx/v2/jwa"
	"github.com/lestrrat-go/jwx/v2/jwk"
)

// KeyID returns the kid of a key: its RFC 7638 thumbprint (SHA-256, base64url). Two keys never share one.
func KeyID(public *ecdsa.PublicKey) (string, error) {
	key, err := jwk.FromRaw(public)
	if err != nil {
		return "", fmt.Errorf("key id: %w", err)
	}
	sum, err := key.Thumbprint(crypto.SHA256)
	if err != nil {
		return "", fmt.Errorf("key id: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(sum), nil
}

// KeySet maps key ids to the public keys that verify proofs.
type KeySet map[string]*ecdsa.PublicKey

// JWKS returns the key set as a JSON Web Key Set (RFC 7517), sorted by kid, public members only.
func JWKS(keys KeySet) ([]byte, error) {
	set := jwk.NewSet()
	for _, kid := range sortedKeys(keys) {
		key, err := publicJWK(kid, keys[kid])
		if err != nil {
			return nil, fmt.Errorf("key set: key %s: %w", kid, err)
		}
		if err := set.AddKey(key); err != nil {
			return nil, fmt.Errorf("key set: key %s: %w", kid, err)
		}
	}
	out, err := json.Marshal(set)
	if err != nil {
		return nil, fmt.Errorf("key set: %w", err)
	}
	return out, nil
}

// publicJWK returns the public members of a key with its kid, use and alg.
func publicJWK(kid string, public *ecdsa.PublicKey) (jwk.Key, error) {
	if public == nil || public.Curve != elliptic.P256() {
		return nil, errors.New("not a P-256 key")
	}
	key, err := jwk.FromRaw(public)
	if err != nil {
		return nil, err
	}
	for name, value := range map[string]any{jwk.KeyIDKey: kid, jwk.KeyUsageKey: jwk.ForSignature, jwk.AlgorithmKey: jwa.ES256} {
		if err := key.Set(name, value); err != nil {
			return nil, err
		}
	}
	return key, nil
}

// ParseJWKS parses a published key set, for verifying proofs offline. It returns the keys that can verify a proof (EC P-256 with
// a kid; alg ES256 and use sig, or omitted) and skips all others, as RFC 7517 section 5 requires. It refuses a set that contains
// a private key: its publisher has leaked it.
func ParseJWKS(raw []byte) (KeySet, error) {
	set, err := jwk.Parse(raw)
	if err != nil {
		return nil, fmt.Errorf("key set: %w", err)
	}
	keys := KeySet{}
	for i := range set.Len() {
		key, _ := set.Key(i)
		if private, err := jwk.IsPrivateKey(key); err == nil && private {
			return nil, fmt.Errorf("key set: key %d is a private key", i)
		}
		if !usable(key) {
			continue
		}
		var public ecdsa.PublicKey
		if err := key.Raw(&public); err == nil && public.Curve == elliptic.P256() {
			keys[key.KeyID()] = &public
		}
	}
	return keys, nil
}

// usable reports whether a key of a set can verify proofs.
func usable(key jwk.Key) bool {
	if key.KeyType() != jwa.EC || key.KeyID() == "" {
		return false
	}
	if use := key.KeyUsage(); use != "" && use != jwk.ForSignature.String() {
		return false
	}
	if alg := key.Algorithm().String(); alg != "" && alg != jwa.ES256.String() {
		return false
	}
	ops := key.KeyOps()
	for _, op := range ops {
		if op == jwk.KeyOpVerify {
			return true
		}
	}
	return len(ops) == 0
}
