package aggregate

import "github.com/countersign-dev/countersign/internal/platform/keyring"

// digestPurpose names the key of the digests of distinct values.
const digestPurpose = "aggregate-values"

// Vault makes the digests of distinct values. Without the key, a digest says nothing about its value.
type Vault struct{ keys *keyring.Keyring }

// NewVault returns a vault over the installation's keys.
func NewVault(keys *keyring.Keyring) Vault { return Vault{keys} }

// Digest returns the digest by which a value of a field is stored. Equal values of an environment have the same.
func (v Vault) Digest(environment, field string, text []byte) []byte {
	return v.keys.MAC(digestPurpose, []byte(environment), []byte(field), text)
}

// Digests returns the digests that a value may have been stored by: of each of its Texts, under each key of the keyring.
func (v Vault) Digests(environment, field string, value any) ([][]byte, error) {
	texts, err := Texts(value)
	var out [][]byte
	for _, text := range texts {
		out = append(out, v.keys.MACs(digestPurpose, []byte(environment), []byte(field), text)...)
	}
	return out, err
}
