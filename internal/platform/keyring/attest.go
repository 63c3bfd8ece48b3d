package keyring

import (
	"bytes"
	"crypto/hmac"
)

// attestPurpose separates the MACs of Attest from those that values are looked up by.
const attestPurpose = "attest/"

// Attest returns a MAC of parts under the active key that names its key: the id of the key and MAC. It is for values that are stored
// beside what they cover, whose key must be known before it can be retired. purpose and parts are as for MAC.
func (k *Keyring) Attest(purpose string, parts ...[]byte) []byte {
	m := k.masters[0]
	return append(bytes.Clone(m.id[:]), m.mac(attestPurpose+purpose, parts)...)
}

// Attested returns nil if Attest made attestation of the parts under any of the configured keys, and otherwise an error of Open.
func (k *Keyring) Attested(purpose string, attestation []byte, parts ...[]byte) error {
	if len(attestation) <= keyIDSize {
		return ErrMalformed
	}
	m := k.find(attestation[:keyIDSize])
	if m == nil {
		return ErrUnknownKey
	}
	if !hmac.Equal(attestation[keyIDSize:], m.mac(attestPurpose+purpose, parts)) {
		return ErrAuthentication
	}
	return nil
}
