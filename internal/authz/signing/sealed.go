package signing

import (
	"context"
	"errors"
	"fmt"

	"github.com/countersign-dev/countersign/internal/authz/proof"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// proofPurpose names the keyring's subkey for proofs at rest.
const proofPurpose = "proof"

// SealProof encrypts the proof of an authorization for storage, so that a reader of the database gets no proof to present.
func (s *Service) SealProof(authorization, compact string) ([]byte, error) {
	return s.keys.Seal(proofPurpose, []byte(compact), []byte(authorization))
}

// Compact returns the stored proof of a decision as it was issued.
func (s *Service) Compact(p models.Proof) (string, error) {
	compact, err := s.keys.Open(proofPurpose, p.Sealed, []byte(p.AuthorizationID))
	if err != nil {
		return "", fmt.Errorf("proof %s: %w", p.JTI, err)
	}
	return string(compact), nil
}

// Issued returns the proof of a decision, whatever has become of it since; nil if it was erased.
func (s *Service) Issued(ctx context.Context, scope pg.Scope, authorization string) (*string, error) {
	p, err := proof.OfAuthorization(ctx, s.store.Q, scope, authorization)
	if errors.Is(err, pg.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("proof of authorization %s: %w", authorization, err)
	}
	compact, err := s.Compact(p)
	return &compact, err
}

// Restored returns a stored body that ends with the response of a decision byte for byte as it was first returned. One whose proof was
// deleted, as an erasure does before it deletes the decision, is returned without it.
func (s *Service) Restored(ctx context.Context, scope pg.Scope, authorization string, body []byte) ([]byte, error) {
	if !proof.Removed(body) {
		return body, nil
	}
	compact, err := s.Issued(ctx, scope, authorization)
	if err != nil || compact == nil {
		return body, err
	}
	return proof.Restore(body, []byte(*compact)), nil
}
