package signing

import (
	"bytes"
	_ "embed"
	"encoding/base64"
	"strings"

	"github.com/countersign-dev/countersign/internal/authz/proof"
	"github.com/countersign-dev/countersign/models"
)

//go:embed dictionaries/proof-1.txt
var proofPhrases string

// proofDictionary has version 1, which no compact form begins with: proofs that were sealed before differ in their first byte.
var proofDictionary = models.NewDictionary(1, proofPhrases, proof.MaxSize)

// base64url is the encoding of the parts of a proof. Strict, so that a part that would not be encoded to the same characters is refused.
var base64url = base64.RawURLEncoding.Strict()

// pack returns a proof with its parts decoded and compressed: a third of its size, since base64 hides what repeats. What is not a
// compact JWS is returned as it is.
func pack(compact string) []byte {
	parts := strings.Split(compact, ".")
	if len(parts) != 3 {
		return []byte(compact)
	}
	plain := make([]byte, 0, len(compact))
	for _, p := range parts {
		part, err := base64url.DecodeString(p)
		if err != nil {
			return []byte(compact)
		}
		plain = models.AppendPart(plain, part)
	}
	return proofDictionary.Compress(plain)
}

// unpack returns the proof that pack was given.
func unpack(packed []byte) ([]byte, error) {
	if bytes.HasPrefix(packed, []byte("e")) {
		return packed, nil // the compact form: a header begins with {", which is ey in base64
	}
	plain, err := proofDictionary.Decompress(packed)
	if err != nil {
		return nil, err
	}
	out := make([]byte, 0, proof.MaxSize)
	for len(plain) > 0 {
		var part []byte
		if part, plain, err = models.CutPart(plain); err != nil {
			return nil, err
		}
		if len(out) > 0 {
			out = append(out, '.')
		}
		out = base64url.AppendEncode(out, part)
	}
	return out, nil
}
