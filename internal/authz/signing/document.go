package signing

import (
	"context"

	"github.com/countersign-dev/countersign/internal/authz/proof"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// SignDocument signs a document that is no proof, such as the head of an audit log, with the environment's signing key.
func (s *Service) SignDocument(ctx context.Context, scope pg.Scope, typ string, payload []byte) (string, error) {
	k, err := s.environment(ctx, s.store.Q, scope)
	if err != nil {
		return "", err
	}
	if k.signer == nil {
		return "", errCannotSign(scope.Environment, k.failed)
	}
	compact, err := k.signer.SignDocument(ctx, typ, payload)
	return compact, s.signed(scope, k.signer, err)
}

// trialType is the type of documents that are signed only to learn whether a key signs.
const trialType = "trial+jws"

// Signable returns the problem unavailable if a decision in the mode may have a proof and none can be signed at present. It signs
// nothing that is kept. It implements settle.Signable.
func (s *Service) Signable(ctx context.Context, scope pg.Scope, mode models.ActionMode) error {
	if mode != models.ModeEnforce {
		return nil
	}
	_, err := s.SignDocument(ctx, scope, trialType, []byte("{}"))
	return err
}

// VerifyDocument verifies a document with any key of the environment, including retired ones: documents outlive keys.
func (s *Service) VerifyDocument(ctx context.Context, scope pg.Scope, typ, compact string) ([]byte, error) {
	rows, err := AllSigningKeys(ctx, s.store.Q, scope)
	if err != nil {
		return nil, err
	}
	keys := proof.KeySet{}
	for _, row := range rows {
		// A key that cannot be opened verifies nothing: only the encrypted column proves that the key belongs to the service.
		if public, err := s.public(row); err == nil {
			keys[row.KID] = public
		}
	}
	return proof.VerifyDocument(compact, keys, typ)
}
