package keyring

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"sync"

	"github.com/countersign-dev/countersign/internal/platform/canonical"
)

// A ciphertext is version (1 byte), key id (8 bytes), nonce (12 bytes), AES-256-GCM ciphertext and tag (16 bytes).
// The header is authenticated with the caller's aad.
const (
	sealVersion = 1
	headerSize  = 1 + keyIDSize
)

// Errors of Open. None of them reveals more about the ciphertext than its own header does.
var (
	// ErrMalformed means that the value was not made by Seal, or was truncated.
	ErrMalformed = errors.New("keyring: not a sealed value")
	// ErrUnknownKey means that the value was sealed under a master key that is not configured.
	ErrUnknownKey = errors.New("keyring: sealed under a master key that is not configured; add the old key after the active one")
	// ErrAuthentication means that the value was altered, or opened with a different purpose or aad than it was sealed with.
	ErrAuthentication = errors.New("keyring: sealed value does not authenticate")
)

// Overhead is how many bytes longer a sealed value is than its plaintext.
const Overhead = headerSize + 12 + 16

// Seal encrypts plaintext under the active key. purpose is a constant of the caller that separates key material, such
// as "signing-key"; aad binds the value to its place, such as the row's id, and must be given again to Open.
// Nonces are random: one purpose of one master key is good for 2^32 values.
func (k *Keyring) Seal(purpose string, plaintext, aad []byte) ([]byte, error) {
	return k.SealTo(make([]byte, 0, Overhead+len(plaintext)), purpose, plaintext, aad)
}

// SealTo encrypts like Seal and appends to dst, which must not overlap plaintext, so that callers can reuse memory.
func (k *Keyring) SealTo(dst []byte, purpose string, plaintext, aad []byte) ([]byte, error) {
	m := k.masters[0]
	aead, err := m.aead(purpose)
	if err != nil {
		return nil, err
	}
	out := append(append(dst, sealVersion), m.id[:]...)
	bound := bindHeader(out[len(dst):], aad)
	defer binding.Put(bound)
	return aead.Seal(out, nil, plaintext, *bound), nil // #nosec G407 -- no nonce is given: each is drawn at random
}

// Open decrypts what Seal made under any of the configured keys.
func (k *Keyring) Open(purpose string, sealed, aad []byte) ([]byte, error) {
	return k.OpenTo(nil, purpose, sealed, aad)
}

// OpenTo decrypts like Open and appends to dst, which must not overlap sealed, so that callers can reuse memory.
func (k *Keyring) OpenTo(dst []byte, purpose string, sealed, aad []byte) ([]byte, error) {
	if len(sealed) < Overhead || sealed[0] != sealVersion {
		return nil, ErrMalformed
	}
	header := sealed[:headerSize]
	m := k.find(header[1:])
	if m == nil {
		return nil, ErrUnknownKey
	}
	aead, err := m.aead(purpose)
	if err != nil {
		return nil, err
	}
	bound := bindHeader(header, aad)
	defer binding.Put(bound)
	plaintext, err := aead.Open(dst, nil, sealed[headerSize:], *bound)
	if err != nil {
		return nil, ErrAuthentication
	}
	return plaintext, nil
}

// SealedByActive reports whether sealed was made under the active key; a value for which it is false is due to be
// opened and sealed again before its key is removed.
func (k *Keyring) SealedByActive(sealed []byte) bool {
	return len(sealed) >= headerSize && sealed[0] == sealVersion && bytes.Equal(sealed[1:headerSize], k.masters[0].id[:])
}

// SealedBy returns the id of the master key in the header of a sealed value; empty if it was not made by Seal.
func SealedBy(sealed []byte) string {
	if len(sealed) < Overhead || sealed[0] != sealVersion {
		return ""
	}
	return hex.EncodeToString(sealed[1:headerSize])
}

// MAC returns the 32-byte HMAC-SHA256 of parts under the active key. Each part is preceded by its length, so no two
// lists of parts give the same input.
func (k *Keyring) MAC(purpose string, parts ...[]byte) []byte {
	return k.masters[0].mac(purpose, parts)
}

// MACs returns MAC under every configured key, the active one first: what to look a stored MAC up by while a rotation
// is under way.
func (k *Keyring) MACs(purpose string, parts ...[]byte) [][]byte {
	out := make([][]byte, len(k.masters))
	for i, m := range k.masters {
		out[i] = m.mac(purpose, parts)
	}
	return out
}

// VerifyMAC reports in constant time whether mac is the MAC of parts under any configured key.
func (k *Keyring) VerifyMAC(purpose string, mac []byte, parts ...[]byte) bool {
	ok := false
	for _, m := range k.masters {
		ok = hmac.Equal(mac, m.mac(purpose, parts)) || ok
	}
	return ok
}

func (m *master) mac(purpose string, parts [][]byte) []byte {
	states := m.macStates(purpose)
	h, _ := states.Get().(hash.Hash)
	defer states.Put(h)
	h.Reset()
	canonical.WriteParts(h, parts...)
	return h.Sum(nil)
}

func newAEAD(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("keyring: %w", err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, fmt.Errorf("keyring: %w", err)
	}
	return aead, nil
}

// binding pools the authenticated data of ciphertexts, which are headers and ids: a frame opens dozens of values.
var binding = sync.Pool{New: func() any { return new([]byte) }}

// bindHeader puts the fixed-size header in front of the caller's aad, so a value cannot be moved to another key id. The caller
// returns the result to binding.
func bindHeader(header, aad []byte) *[]byte {
	out, _ := binding.Get().(*[]byte)
	*out = append(append((*out)[:0], header...), aad...)
	return out
}
