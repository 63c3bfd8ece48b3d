package signing

import (
	"bytes"
	"fmt"

	"github.com/countersign-dev/countersign/models"
)

// proofPurpose names the keyring's subkey for proofs at rest.
const proofPurpose = "proof"

// Where a proof stands in an answer: the fields of AuthorizeResponse end with it and its id.
const (
	proofStart = `"proof":"`
	proofNone  = `"proof":null`
	proofHole  = proofNone + `,"proof_id":"`
)

// SealProof is what is stored of the proof of an authorization: whoever reads the database learns nothing to spend.
func (s *Service) SealProof(authorization, compact string) ([]byte, error) {
	return s.keys.Seal(proofPurpose, []byte(compact), []byte(authorization))
}

// Compact is a stored proof as it was issued; nil if it is not kept.
func (s *Service) Compact(p models.Proof) (*string, error) {
	if p.Sealed == nil {
		return p.Compact, nil // written before proofs were sealed
	}
	raw, err := s.keys.Open(proofPurpose, p.Sealed, []byte(p.AuthorizationID))
	if err != nil {
		return nil, fmt.Errorf("proof %s: %w", p.JTI, err)
	}
	compact := string(raw)
	return &compact, nil
}

// Without is an answer, or a receipt that ends with one, without its proof: what is stored of it.
func (s *Service) Without(body []byte) []byte {
	at := bytes.LastIndex(body, []byte(proofStart))
	if at < 0 {
		return body
	}
	end := bytes.IndexByte(body[at+len(proofStart):], '"')
	if end < 0 {
		return body
	}
	out := make([]byte, 0, len(body))
	out = append(append(out, body[:at]...), proofNone...)
	return append(out, body[at+len(proofStart)+end+1:]...)
}

// Restored is a stored answer as it was given, byte for byte, whatever has become of the proof since.
func (s *Service) Restored(authorization string, body, sealed []byte) ([]byte, error) {
	at := bytes.LastIndex(body, []byte(proofHole))
	if at < 0 {
		return body, nil // written before proofs were sealed
	}
	compact, err := s.keys.Open(proofPurpose, sealed, []byte(authorization))
	if err != nil {
		return nil, fmt.Errorf("proof of authorization %s: %w", authorization, err)
	}
	out := make([]byte, 0, len(body)+len(compact))
	out = append(append(append(out, body[:at]...), proofStart...), compact...)
	return append(append(out, '"'), body[at+len(proofNone):]...), nil
}
