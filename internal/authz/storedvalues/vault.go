package storedvalues

import (
	"encoding/json"
	"fmt"

	"github.com/countersign-dev/countersign/internal/platform/keyring"
)

// sealPurpose names the key that seals kept values.
const sealPurpose = "kept-values"

// Vault seals and opens kept values. A sealed form opens only for the authorization that it was sealed for.
type Vault struct{ keys *keyring.Keyring }

// NewVault returns a vault over the installation's keys. A master key stays necessary until the retention of what it sealed has
// passed (package masterkey lists the sealed columns).
func NewVault(keys *keyring.Keyring) Vault { return Vault{keys} }

// Seal seals the values of an authorization.
func (v Vault) Seal(authorization string, values *Values) ([]byte, error) {
	raw, err := json.Marshal(values)
	if err != nil {
		return nil, err
	}
	return v.keys.Seal(sealPurpose, raw, []byte(authorization))
}

// Open returns the values of an authorization; nil for none. A form that was moved to a different authorization does not open: a
// simulation fails instead of deciding on the values of a different request.
func (v Vault) Open(authorization string, sealed []byte) (*Values, error) {
	if len(sealed) == 0 {
		return nil, nil
	}
	raw, err := v.keys.Open(sealPurpose, sealed, []byte(authorization))
	if err != nil {
		return nil, fmt.Errorf("kept values of %s: %w", authorization, err)
	}
	var values Values
	if err := json.Unmarshal(raw, &values); err != nil {
		return nil, fmt.Errorf("kept values of %s: %w", authorization, err)
	}
	return &values, nil
}
