package display

import (
	"encoding/json"
	"fmt"

	"github.com/countersign-dev/countersign/internal/platform/keyring"
)

// sealPurpose names the key that seals details.
const sealPurpose = "shown-details"

// Vault seals and opens details. A sealed form opens only for the authorization that it was sealed for.
type Vault struct{ keys *keyring.Keyring }

// NewVault returns a vault over the installation's keys.
func NewVault(keys *keyring.Keyring) Vault { return Vault{keys} }

// Seal seals the details of an authorization.
func (v Vault) Seal(authorization string, details []Detail) ([]byte, error) {
	raw, err := json.Marshal(details)
	if err != nil {
		return nil, err
	}
	return v.keys.Seal(sealPurpose, raw, []byte(authorization))
}

// Open returns the details of an authorization; nil for none.
func (v Vault) Open(authorization string, sealed []byte) ([]Detail, error) {
	if len(sealed) == 0 {
		return nil, nil
	}
	raw, err := v.keys.Open(sealPurpose, sealed, []byte(authorization))
	if err != nil {
		return nil, fmt.Errorf("details of %s: %w", authorization, err)
	}
	var details []Detail
	if err := json.Unmarshal(raw, &details); err != nil {
		return nil, fmt.Errorf("details of %s: %w", authorization, err)
	}
	return details, nil
}
