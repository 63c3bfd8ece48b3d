package signing

import (
	"fmt"

	"github.com/countersign-dev/countersign/internal/authz/proof"
	"github.com/countersign-dev/countersign/models"
)

// proofPurpose names the keyring's subkey for proofs at rest.
const proofPurpose = "proof"

// SealProof encrypts the proof of an authorization for storage, so that a reader of the database gets no proof to present.
func (s *Service) SealProof(authorization, compact string) ([]byte, error) {
	return s.keys.Seal(proofPurpose, pack(compact), []byte(authorization))
}

// openProof decrypts a stored proof and returns it as it was issued.
func (s *Service) openProof(authorization string, sealed []byte) ([]byte, error) {
	packed, err := s.keys.Open(proofPurpose, sealed, []byte(authorization))
	if err != nil {
		return nil, err
	}
	return unpack(packed)
}

// Compact returns a stored proof as it was issued; nil if it is not stored.
func (s *Service) Compact(p models.Proof) (*string, error) {
	if p.Sealed == nil {
		return p.Compact, nil // written before proofs were sealed
	}
	raw, err := s.openProof(p.AuthorizationID, p.Sealed)
	if err != nil {
		return nil, fmt.Errorf("proof %s: %w", p.JTI, err)
	}
	compact := string(raw)
	return &compact, nil
}

// Restored returns a stored response byte for byte as it was first returned, whatever has become of its proof since. A
// response that was stored with its proof, as older versions did, is returned unchanged.
func (s *Service) Restored(authorization string, body, sealed []byte) ([]byte, error) {
	if !proof.Removed(body) {
		return body, nil
	}
	compact, err := s.openProof(authorization, sealed)
	if err != nil {
		return nil, fmt.Errorf("proof of authorization %s: %w", authorization, err)
	}
	return proof.Restore(body, compact), nil
}
