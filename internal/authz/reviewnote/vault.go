// Package reviewnote seals the notes that reviewers write, if their environment stores them (review_notes).
//
// It stores nothing itself. A note is text of a person about a person: it may appear in no log, event, proof or workflow history.
package reviewnote

import (
	"fmt"

	"github.com/countersign-dev/countersign/internal/platform/keyring"
)

// sealPurpose names the key that seals notes.
const sealPurpose = "review-note"

// Vault seals and opens notes. A sealed form opens only for the hold and the reviewer that it was sealed for.
type Vault struct{ keys *keyring.Keyring }

// NewVault returns a vault over the installation's keys. A master key stays necessary until the retention of what it sealed has
// passed (package masterkey lists the sealed columns).
func NewVault(keys *keyring.Keyring) Vault { return Vault{keys} }

// Seal seals a reviewer's note on the hold of an authorization.
func (v Vault) Seal(authorization, reviewer, note string) ([]byte, error) {
	return v.keys.Seal(sealPurpose, []byte(note), owner(authorization, reviewer))
}

// Open returns the note.
func (v Vault) Open(authorization, reviewer string, sealed []byte) (string, error) {
	raw, err := v.keys.Open(sealPurpose, sealed, owner(authorization, reviewer))
	if err != nil {
		return "", fmt.Errorf("note of %s on %s: %w", reviewer, authorization, err)
	}
	return string(raw), nil
}

// owner binds a note to its hold and its reviewer. Neither id contains a space.
func owner(authorization, reviewer string) []byte { return []byte(authorization + " " + reviewer) }
