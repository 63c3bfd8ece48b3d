package proof

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// SignDocument signs a JSON document that is no proof, such as the head of an audit log. Its typ must not be Type, so that a
// document can never pass for a proof.
func (s *Signer) SignDocument(ctx context.Context, typ string, payload []byte) (string, error) {
	if typ == "" || typ == Type {
		return "", errors.New("sign document: typ must be set and must not be that of a proof")
	}
	head, err := json.Marshal(header{Algorithm: Algorithm, KeyID: s.keyID, Type: typ})
	if err != nil {
		return "", fmt.Errorf("sign document: %w", err)
	}
	input := encoding.EncodeToString(head) + "." + encoding.EncodeToString(payload)
	signature, err := s.signature(ctx, []byte(input))
	if err != nil {
		return "", err
	}
	return input + "." + encoding.EncodeToString(signature), nil
}

// VerifyDocument verifies a document of SignDocument and returns the payload. A refusal is a *Error.
func VerifyDocument(compact string, keys KeySet, typ string) ([]byte, error) {
	if typ == "" || typ == Type {
		return nil, errors.New("verify document: typ must be set and must not be that of a proof")
	}
	return verifyJWS(compact, keys, typ)
}
