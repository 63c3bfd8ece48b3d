package lists

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/countersign-dev/countersign/internal/platform/canonical"
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
	part := canonical.Normal(value)
	if part == "" {
		return find{}, nil
	}
	keys, err := v.entryKeys(l, value)
	if l.Personal {
		part = ""
	}
	return find{append(keys, ""), part}, err // no entry has an empty key
}

// wholeKeys returns the keys under which the entry with exactly this value may be stored, today's first; none if no entry can have it.
func (v Vault) wholeKeys(l models.List, value string) ([]string, error) {
	if fault(l.Kind, value) != "" {
		return nil, nil
	}
	return v.keysOf(l, exact(value))
}

// entryKeys returns the keys of the entries by which a list has a value, the longest first.
func (v Vault) entryKeys(l models.List, value string) ([]string, error) {
	return v.keysOf(l, forms(l.Kind, value))
}

// keysOf returns the keys of normal forms: in a personal list, their digests.
func (v Vault) keysOf(l models.List, found []string) ([]string, error) {
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
