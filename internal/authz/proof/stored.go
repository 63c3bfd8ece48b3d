package proof

import (
	"crypto/ecdsa"
	"fmt"
	"strings"
)

// Signature returns the signature of a compact proof that Sign returned. It does not look at the rest.
func Signature(compact string) ([]byte, error) {
	signature, err := encoding.DecodeString(compact[strings.LastIndexByte(compact, '.')+1:])
	if err != nil || len(signature) != signatureSize {
		return nil, fmt.Errorf("the proof does not end with a signature of %d bytes", signatureSize)
	}
	return signature, nil
}

// Assemble returns the compact proof that Sign returned when it signed the claims with the key. It returns an error if the signature is
// not that of the claims: what it returns is the proof as it was issued or nothing.
func Assemble(c Claims, keyID string, signature []byte, key *ecdsa.PublicKey) (string, error) {
	head, err := encodedHeader(keyID)
	if err != nil {
		return "", fmt.Errorf("assemble proof: %w", err)
	}
	input, err := c.input(head)
	if err != nil {
		return "", fmt.Errorf("assemble proof: %w", err)
	}
	compact := string(encoding.AppendEncode(append(input, '.'), signature))
	return compact, checkSignature(compact, signature, key)
}
