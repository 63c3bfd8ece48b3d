// Package software holds signing keys in the memory of this process. It is the default backend: the private key is the
// reference, which the caller encrypts before it is stored.
package software

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"errors"
	"fmt"

	"github.com/countersign-dev/countersign/internal/platform/keys"
)

// Name is the name of the backend, in settings and in rows.
const Name = "software"

// Signer implements keys.Signer.
type Signer struct{}

// Name implements keys.Signer.
func (Signer) Name() string { return Name }

// Create implements keys.Signer. The reference is the private key: PKCS #8 in DER.
func (Signer) Create(context.Context, string) (reference []byte, key keys.Key, err error) {
	private, err := Generate()
	if err != nil {
		return nil, nil, err
	}
	reference, err = Marshal(private)
	return reference, Of(private), err
}

// Adopt implements keys.Signer. A private key is never taken over from elsewhere.
func (Signer) Adopt(context.Context, string) (reference []byte, key keys.Key, err error) {
	return nil, nil, errors.New("a software key cannot be adopted: rotate to create one")
}

// Open implements keys.Signer.
func (Signer) Open(reference []byte, public *ecdsa.PublicKey) (keys.Key, error) {
	private, err := Parse(reference)
	if err != nil {
		return nil, err
	}
	if public != nil && !private.PublicKey.Equal(public) {
		return nil, errors.New("signing key is not the private half of the published key")
	}
	return Of(private), nil
}

// Check implements keys.Signer.
func (Signer) Check(context.Context) error { return nil }

// Close implements keys.Signer.
func (Signer) Close() error { return nil }

// Key signs with a private key in memory. It implements keys.Key.
type Key struct{ private *ecdsa.PrivateKey }

// Of returns the key of a private key.
func Of(private *ecdsa.PrivateKey) Key { return Key{private} }

// Public implements keys.Key.
func (k Key) Public() *ecdsa.PublicKey { return &k.private.PublicKey }

// Sign implements keys.Key.
func (k Key) Sign(_ context.Context, digest []byte) ([]byte, error) {
	r, s, err := ecdsa.Sign(rand.Reader, k.private, digest)
	if err != nil {
		return nil, err
	}
	out := make([]byte, keys.SignatureSize)
	r.FillBytes(out[:keys.SignatureSize/2])
	s.FillBytes(out[keys.SignatureSize/2:])
	return out, nil
}

// Generate returns a new P-256 key.
func Generate() (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generate signing key: %w", err)
	}
	return key, nil
}

// Marshal returns the key in PKCS #8 DER. It is a secret: seal it (internal/platform/keyring) before it is stored.
func Marshal(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("marshal signing key: %w", err)
	}
	return der, nil
}

// Parse parses the form of Marshal. It refuses all but P-256 keys.
func Parse(der []byte) (*ecdsa.PrivateKey, error) {
	parsed, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return nil, errors.New("signing key is not PKCS #8") // the cause could quote key bytes
	}
	key, ok := parsed.(*ecdsa.PrivateKey)
	if !ok || key.Curve != elliptic.P256() {
		return nil, errors.New("signing key is not a P-256 key")
	}
	return key, nil
}
