package proof

import (
	"encoding/json"
	"errors"
	"fmt"
)

// SignDocument signs a JSON document that is no proof, such as the head of an audit log, under a typ of its own. The typ is
// what keeps it from ever passing for a proof, so it must not be Type.
func (s *Signer) SignDocument(typ string, payload []byte) (string, error) {
	if typ == "" || typ == Type {
		return "", errors.New("sign document: it needs a typ of its own")
	}
	head, err := json.Marshal(header{Algorithm: Algorithm, KeyID: s.keyID, Type: typ})
	if err != nil {
		return "", fmt.Errorf("sign document: %w", err)
	}
	input := encoding.EncodeToString(head) + "." + encoding.EncodeToString(payload)
	signature, err := s.signature([]byte(input))
	if err != nil {
		return "", err
	}
	return input + "." + encoding.EncodeToString(signature), nil
}

// VerifyDocument checks what SignDocument signed and returns the payload. A refusal is a *Error.
func VerifyDocument(compact string, keys KeySet, typ string) ([]byte, error) {
	if typ == "" || typ == Type {
		return nil, errors.New("verify document: it needs a typ of its own")
	}
	return verifyJWS(compact, keys, typ)
}
