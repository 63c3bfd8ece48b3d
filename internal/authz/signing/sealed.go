package signing

import (
	"context"
	"errors"
	"fmt"

	"github.com/countersign-dev/countersign/internal/authz/proof"
	"github.com/countersign-dev/countersign/internal/platform/store"
	"github.com/countersign-dev/countersign/models"
)

// proofPurpose names the keyring's subkey for proofs at rest.
const proofPurpose = "proof"

// SealProof encrypts the proof of an authorization for storage, so that a reader of the database gets no proof to present.
func (s *Service) SealProof(authorization, compact string) ([]byte, error) {
	return s.keys.Seal(proofPurpose, pack(compact), []byte(authorization))
}

// Compact returns the stored proof of a decision as it was issued; nil if it is not stored.
func (s *Service) Compact(ctx context.Context, a models.Authorization, p models.Proof) (*string, error) {
	if p.Sealed == nil {
		return p.Compact, nil // written before proofs were sealed
	}
	opened, err := s.keys.Open(proofPurpose, p.Sealed, []byte(p.AuthorizationID))
	if err != nil {
		return nil, fmt.Errorf("proof %s: %w", p.JTI, err)
	}
	var compact string
	if isSignature(opened) {
		compact, err = s.assemble(ctx, &a, &p, opened)
	} else {
		var raw []byte
		raw, err = unpack(opened)
		compact = string(raw)
	}
	if err != nil {
		return nil, fmt.Errorf("proof %s: %w", p.JTI, err)
	}
	return &compact, nil
}

// isSignature reports whether an opened proof is its signature alone.
func isSignature(opened []byte) bool { return len(opened) > 0 && opened[0] == signatureVersion }

// Restored returns the stored response of a decision byte for byte as it was first returned, whatever has become of its proof since. A
// response that was stored with its proof, as older versions did, is returned unchanged, and so is one whose proof was deleted, as an erasure
// does before it deletes the decision.
func (s *Service) Restored(ctx context.Context, scope store.Scope, authorization string, body []byte) ([]byte, error) {
	if !proof.Removed(body) {
		return body, nil
	}
	a, p, err := s.store.Proofs().Issued(ctx, scope, authorization)
	if errors.Is(err, store.ErrNotFound) {
		return body, nil
	}
	if err != nil {
		return nil, fmt.Errorf("proof of authorization %s: %w", authorization, err)
	}
	compact, err := s.Compact(ctx, a, p)
	if err != nil {
		return nil, err
	}
	if compact == nil {
		return body, nil
	}
	return proof.Restore(body, []byte(*compact)), nil
}
