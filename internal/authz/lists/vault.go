package lists

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/models"
)

// sealPurpose names the key that seals the secrets of personal lists.
const sealPurpose = "lists"

// Vault makes the keys by which entries are stored and found. Each personal list has a secret of its own, sealed by the master key, so
// that its digests outlive a rotation of the master key and can be compared with those of no other list.
type Vault struct{ keys *keyring.Keyring }

// NewVault returns a vault over the installation's keys.
func NewVault(keys *keyring.Keyring) Vault { return Vault{keys} }

// newSecret returns the sealed secret of a new personal list.
func (v Vault) newSecret(list string) ([]byte, error) {
	secret := make([]byte, sha256.Size)
	_, _ = rand.Read(secret)
	return v.keys.Seal(sealPurpose, secret, []byte(list))
}

// renewed returns the secret sealed by the active master key, so that a previous one can be retired; nil if it is already.
func (v Vault) renewed(l models.List) ([]byte, error) {
	if !l.Personal || v.keys.SealedByActive(l.Secret) {
		return nil, nil
	}
	secret, err := v.secret(l)
	if err != nil {
		return nil, err
	}
	return v.keys.Seal(sealPurpose, secret, []byte(l.ID))
}

func (v Vault) secret(l models.List) ([]byte, error) {
	secret, err := v.keys.Open(sealPurpose, l.Secret, []byte(l.ID))
	if err != nil {
		return nil, fmt.Errorf("secret of the list %s: %w", l.ID, err)
	}
	return secret, nil
}

// find selects entries of a list by a value: those with one of the keys, and those whose key contains part. No keys select all.
type find struct {
	keys []string
	part string // empty for a personal list, whose keys are digests
}

func (v Vault) find(l models.List, value string) (find, error) {
	part := Normal(value)
	if part == "" {
		return find{}, nil
	}
	keys, err := v.entryKeys(l, value)
	if l.Personal {
		part = ""
	}
	return find{append(keys, ""), part}, err // no entry has an empty key
}

// entryKey returns the key of the entry with exactly this value; empty if no entry can have it.
func (v Vault) entryKey(l models.List, value string) (string, error) {
	if fault(l.Kind, value) != "" {
		return "", nil
	}
	keys, err := v.entryKeys(l, value)
	if err != nil {
		return "", err
	}
	return keys[0], nil // the longest is the value itself
}

// entryKeys returns the keys of the entries by which a list has a value, the longest first.
func (v Vault) entryKeys(l models.List, value string) ([]string, error) {
	found := forms(l.Kind, value)
	if !l.Personal {
		return found, nil
	}
	secret, err := v.secret(l)
	if err != nil {
		return nil, err
	}
	for i, form := range found {
		mac := hmac.New(sha256.New, secret)
		mac.Write([]byte(form))
		found[i] = hex.EncodeToString(mac.Sum(nil))
	}
	return found, nil
}
