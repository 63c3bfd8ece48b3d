// Package keys separates the service from its private keys. A Signer holds keys that sign, and a RootKey encrypts the master keys. Either
// may be in a backend that never releases it, such as a vault; a Signer may also be software, in the memory of this process.
package keys

import (
	"context"
	"crypto/ecdsa"
	"errors"
)

// SignatureSize is the length of an ES256 signature: R and S, 32 bytes each.
const SignatureSize = 64

// ErrUnavailable means that a backend cannot be reached, refuses to work, or is overloaded. Nothing was signed; the same call may
// succeed later.
var ErrUnavailable = errors.New("the key backend is unavailable")

// Key makes ES256 signatures with one private key, wherever it is. It is safe for concurrent use.
type Key interface {
	Public() *ecdsa.PublicKey
	// Sign returns R and S of the signature of a SHA-256 digest.
	Sign(ctx context.Context, digest []byte) ([]byte, error)
}

// Signer creates and opens the keys of one backend. A reference identifies a key in its backend; it is stored sealed.
type Signer interface {
	// Name identifies the backend in rows and to operators. It contains no secret.
	Name() string
	// Create creates a P-256 key. The name is a suggestion for those who look at the backend.
	Create(ctx context.Context, name string) (reference []byte, key Key, err error)
	// Adopt finds a P-256 key that someone created in the backend.
	Adopt(ctx context.Context, id string) (reference []byte, key Key, err error)
	// Open returns the key of a reference. It does not reach the backend. A public key that is not nil must be that of the key.
	Open(reference []byte, public *ecdsa.PublicKey) (Key, error)
	// Check returns an error if the backend cannot be used at present.
	Check(ctx context.Context) error
	Close() error
}

// RootKey encrypts the master keys of an installation with a key that never leaves its backend.
type RootKey interface {
	// Name identifies the key to operators. It contains no secret.
	Name() string
	Wrap(ctx context.Context, master []byte) (wrapped string, err error)
	Unwrap(ctx context.Context, wrapped string) (master []byte, err error)
}
