package display

import (
	"encoding/json"
	"fmt"

	"github.com/countersign-dev/countersign/internal/platform/keyring"
)

// sealPurpose names the key that seals details.
const sealPurpose = "shown-details"

// sealed has the details that the person sees, and the totals that the rules compared, which the person does not see.
type sealed struct {
	Details []Detail `json:"details"`
	Totals  []Detail `json:"totals,omitempty"`
}

// Vault seals and opens details. A sealed form opens only for the authorization that it was sealed for.
type Vault struct{ keys *keyring.Keyring }

// NewVault returns a vault over the installation's keys.
func NewVault(keys *keyring.Keyring) Vault { return Vault{keys} }

// Seal seals the details and the totals of an authorization.
func (v Vault) Seal(authorization string, details, totals []Detail) ([]byte, error) {
	raw, err := json.Marshal(sealed{details, totals})
	if err != nil {
		return nil, err
	}
	return v.keys.Seal(sealPurpose, raw, []byte(authorization))
}

// Open returns the details of an authorization; nil for none.
func (v Vault) Open(authorization string, stored []byte) ([]Detail, error) {
	details, _, err := v.OpenAll(authorization, stored)
	return details, err
}

// OpenAll returns the details of an authorization and its totals, which are for those who review or explain it.
func (v Vault) OpenAll(authorization string, stored []byte) (details, totals []Detail, err error) {
	if len(stored) == 0 {
		return nil, nil, nil
	}
	raw, err := v.keys.Open(sealPurpose, stored, []byte(authorization))
	if err != nil {
		return nil, nil, fmt.Errorf("details of %s: %w", authorization, err)
	}
	var out sealed
	if err := json.Unmarshal(raw, &out); err != nil {
		return nil, nil, fmt.Errorf("details of %s: %w", authorization, err)
	}
	return out.Details, out.Totals, nil
}
