// Package keyring holds the master keys of an installation and everything derived from them: authenticated encryption
// of what is stored (signing keys, webhook secrets, workflow payloads) and keyed hashes of what is looked up
// (credentials, tickets).
//
// It is the only package that handles master keys. It may not log, print or return key material, and it may not read files or
// the environment: the caller passes the text of the setting.
package keyring

import (
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
)

// KeySize is the length of a master key in bytes.
const KeySize = 32

// keyIDSize is the length of the key id in a ciphertext's header, in bytes. Ids are derived from the keys and only need to
// distinguish the few keys of one installation.
const keyIDSize = 8

// Keyring is a set of master keys. The first one seals and MACs; all of them open and verify, so a key is rotated by
// putting the new one in front. It is safe for concurrent use, and prints as a redaction.
type Keyring struct {
	masters []*master
}

type master struct {
	id     [keyIDSize]byte
	secret []byte
	// "seal:"+purpose -> cipher.AEAD, "mac:"+purpose -> *sync.Pool of hash.Hash.
	subkeys sync.Map
}

// Parse reads master keys from a setting: one or more keys of 32 bytes, each in hex (64 characters) or base64
// (standard or URL alphabet, padded or not), separated by commas or white space. The first is the active one.
func Parse(setting string) (*Keyring, error) {
	keys, err := each(setting, func(field string) ([]byte, error) {
		if strings.HasPrefix(field, wrappedPrefix) {
			return nil, errors.New("is wrapped, and there is no root key to unwrap it with")
		}
		return decodeKey(field)
	})
	if err != nil {
		return nil, err
	}
	return New(keys...)
}

// wrappedPrefix precedes the text of a wrapped master key in a setting.
const wrappedPrefix = "wrapped:"

// ParseWrapped is Parse of keys that a root key has wrapped. All of them must be: a key in the clear would be as weak as without a root key.
func ParseWrapped(setting string, unwrap func(wrapped string) ([]byte, error)) (*Keyring, error) {
	keys, err := each(setting, func(field string) ([]byte, error) {
		wrapped, ok := strings.CutPrefix(field, wrappedPrefix)
		if !ok {
			return nil, errors.New("is not wrapped by the root key: countersign key wrap does it")
		}
		return unwrap(wrapped)
	})
	if err != nil {
		return nil, err
	}
	return New(keys...)
}

// Wrapped returns the setting of the same keys in the form that ParseWrapped reads.
func (k *Keyring) Wrapped(wrap func(master []byte) (string, error)) (string, error) {
	var fields []string
	for _, m := range k.masters {
		wrapped, err := wrap(m.secret)
		if err != nil {
			return "", err
		}
		fields = append(fields, wrappedPrefix+wrapped)
	}
	return strings.Join(fields, ","), nil
}

// each reads every key of a setting.
func each(setting string, read func(field string) ([]byte, error)) ([][]byte, error) {
	fields := strings.FieldsFunc(setting, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' || r == '\n' || r == '\r' })
	keys := make([][]byte, 0, len(fields))
	for i, field := range fields {
		key, err := read(field)
		if err != nil {
			return nil, fmt.Errorf("master key %d of %d: %w", i+1, len(fields), err)
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// New returns a keyring over raw master keys, the active one first. It refuses no keys at all, a key of the wrong
// length, a key given twice, and a key whose bytes are all the same, which is a placeholder and not a key.
func New(keys ...[]byte) (*Keyring, error) {
	if len(keys) == 0 {
		return nil, errors.New("no master key: at least one key of 32 bytes is needed, in base64 or hex")
	}
	ring := &Keyring{}
	for i, key := range keys {
		m, err := newMaster(key)
		if err != nil {
			return nil, fmt.Errorf("master key %d of %d: %w", i+1, len(keys), err)
		}
		if ring.find(m.id[:]) != nil {
			return nil, fmt.Errorf("master key %d of %d: given twice", i+1, len(keys))
		}
		ring.masters = append(ring.masters, m)
	}
	return ring, nil
}

// Generate returns a new random master key in the form Parse reads.
func Generate() string {
	key := make([]byte, KeySize)
	_, _ = rand.Read(key) // crypto/rand.Read never fails: it ends the process instead
	return base64.StdEncoding.EncodeToString(key)
}

// ActiveID returns the id of the key that seals, in hex. It says nothing about the key itself.
func (k *Keyring) ActiveID() string { return hex.EncodeToString(k.masters[0].id[:]) }

// Fingerprint identifies a master key without revealing it: its id, and a value of FingerprintSize bytes derived from it.
type Fingerprint struct {
	// Hex, as in the header of values sealed by the key.
	ID    string
	Value []byte
}

// FingerprintSize is the length of a fingerprint's value in bytes.
const FingerprintSize = 32

// Fingerprints returns the fingerprints of the keys, the active one first.
func (k *Keyring) Fingerprints() []Fingerprint {
	out := make([]Fingerprint, len(k.masters))
	for i, m := range k.masters {
		out[i] = Fingerprint{ID: hex.EncodeToString(m.id[:]), Value: m.derive("fingerprint", FingerprintSize)}
	}
	return out
}

// String returns the number of keys and nothing about them, in case a keyring is formatted.
func (k *Keyring) String() string { return fmt.Sprintf("keyring(%d keys, redacted)", len(k.masters)) }

// GoString redacts %#v, which would otherwise print the fields.
func (k *Keyring) GoString() string { return k.String() }

// LogValue redacts the keyring in structured logs.
func (k *Keyring) LogValue() slog.Value { return slog.StringValue(k.String()) }

// MarshalText redacts the keyring in JSON and other text encodings.
func (k *Keyring) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// find returns the key with the id of a header; nil if it is not configured.
func (k *Keyring) find(id []byte) *master {
	for _, m := range k.masters {
		if subtle.ConstantTimeCompare(m.id[:], id) == 1 {
			return m
		}
	}
	return nil
}

// decodeKey tries hex before base64: 64 hex digits are valid base64 too, but of 48 bytes, which is not the size of a key.
func decodeKey(s string) ([]byte, error) {
	if len(s) == hex.EncodedLen(KeySize) {
		if key, err := hex.DecodeString(s); err == nil {
			return key, nil
		}
	}
	trimmed := strings.TrimRight(s, "=")
	for _, enc := range []*base64.Encoding{base64.RawStdEncoding.Strict(), base64.RawURLEncoding.Strict()} {
		if key, err := enc.DecodeString(trimmed); err == nil {
			return key, nil
		}
	}
	// The text is not quoted in the error: it may be a mistyped key.
	return nil, errors.New("neither base64 nor hex")
}

// newMaster checks a key and derives its id.
func newMaster(key []byte) (*master, error) {
	if len(key) != KeySize {
		return nil, fmt.Errorf("is %d bytes long, %d are needed", len(key), KeySize)
	}
	same := true
	for _, b := range key {
		same = same && b == key[0]
	}
	if same {
		return nil, errors.New("all its bytes are the same; generate a random key")
	}
	m := &master{secret: append([]byte(nil), key...)}
	copy(m.id[:], m.derive("id", keyIDSize))
	return m, nil
}

// derive is HKDF-SHA256 with the purpose as info, so no two purposes share key material.
func (m *master) derive(info string, size int) []byte {
	out, err := hkdf.Key(sha256.New, m.secret, nil, "countersign/"+info, size)
	if err != nil {
		panic("keyring: HKDF of a fixed size failed: " + err.Error()) // only possible for sizes above 8,160 bytes
	}
	return out
}

// aead returns the cipher of a purpose, derived once.
func (m *master) aead(purpose string) (cipher.AEAD, error) {
	if cached, ok := m.subkeys.Load("seal:" + purpose); ok {
		return cached.(cipher.AEAD), nil
	}
	aead, err := newAEAD(m.derive("seal/"+purpose, KeySize))
	if err != nil {
		return nil, err
	}
	m.subkeys.Store("seal:"+purpose, aead)
	return aead, nil
}

// macStates returns HMAC-SHA256 hashes with the key of a purpose. To begin with one again is half the work of making one.
func (m *master) macStates(purpose string) *sync.Pool {
	if cached, ok := m.subkeys.Load("mac:" + purpose); ok {
		return cached.(*sync.Pool)
	}
	key := m.derive("mac/"+purpose, KeySize)
	states := &sync.Pool{New: func() any { return hmac.New(sha256.New, key) }}
	m.subkeys.Store("mac:"+purpose, states)
	return states
}
