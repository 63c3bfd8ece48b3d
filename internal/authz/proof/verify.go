package proof

import (
	"crypto/ecdsa"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/lestrrat-go/jwx/v2/jwa"
	"github.com/lestrrat-go/jwx/v2/jws"

	"github.com/countersign-dev/countersign/internal/platform/canonical"
	"github.com/countersign-dev/countersign/internal/platform/reason"
	"github.com/countersign-dev/countersign/internal/platform/strictjson"
)

// Error is why a proof is refused.
type Error struct {
	Code reason.Code // of kind proof
	Msg  string
}

// Error returns the code and the fault. It never quotes the proof.
func (e *Error) Error() string { return e.Code + ": " + e.Msg }

// refuse returns a refusal with a formatted message.
func refuse(code reason.Code, format string, args ...any) *Error {
	return &Error{Code: code, Msg: fmt.Sprintf(format, args...)}
}

// Expect lists the requirements of a verifier. An empty field is not checked. No verifier should leave Audience empty.
type Expect struct {
	Issuer       string
	Audience     string
	Environment  string
	Action       string // key
	ResourceType string // checked together with ResourceID
	ResourceID   string
	Nonce        string
	Subject      string
	// ContextDigest is the digest of the context (canonical.ContextDigest).
	ContextDigest string
	Leeway        time.Duration // tolerated clock difference, 0 to MaxLeeway; a larger value is reduced to MaxLeeway
}

// Verify checks a proof's form, header, signature and claims at the time now. A refusal is a *Error with a reason code. The claims
// are returned with a refusal if the signature is valid, so that the caller can identify a proof that has expired or has a
// different audience; otherwise they are zero.
//
// Verify does not know whether a proof was consumed or revoked.
func Verify(compact string, keys KeySet, now time.Time, expect Expect) (Claims, error) {
	payload, err := verifyJWS(compact, keys, Type)
	if err != nil {
		return Claims{}, err
	}
	claims, err := parseClaims(payload)
	if err != nil {
		return Claims{}, err
	}
	if err := expect.check(claims); err != nil {
		return claims, err
	}
	if err := checkTime(claims, now, expect.Leeway); err != nil {
		return claims, err
	}
	return claims, nil
}

// verifyJWS checks form, header and signature, in this order, and returns the payload. typ is the value the header's
// typ must have; "" means it must have none.
func verifyJWS(compact string, keys KeySet, typ string) ([]byte, error) {
	parts, err := split(compact)
	if err != nil {
		return nil, err
	}
	kid, err := checkHeader(parts[0], typ)
	if err != nil {
		return nil, err
	}
	key, ok := keys[kid]
	if !ok || key == nil {
		return nil, refuse(reason.ProofKeyUnknown, "no key with the proof's kid")
	}
	if err := checkSignature(compact, parts[2], key); err != nil {
		return nil, err
	}
	return parts[1], nil
}

// compactForm is the form of a compact JWS, without white space.
var compactForm = regexp.MustCompile(`^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$`)

// split cuts a compact JWS into its three decoded parts. It accepts exactly one encoding of each proof: base64url decoders by
// themselves skip line breaks and accept stray bits in the last character.
func split(compact string) ([3][]byte, error) {
	var parts [3][]byte
	if len(compact) > MaxSize || !compactForm.MatchString(compact) {
		return parts, refuse(reason.ProofMalformed, "not one compact JWS of up to %d bytes", MaxSize)
	}
	for i, text := range strings.SplitN(compact, ".", 3) {
		part, err := encoding.DecodeString(text)
		if err != nil {
			return parts, refuse(reason.ProofMalformed, "part %d is not canonical base64url", i+1)
		}
		parts[i] = part
	}
	if len(parts[2]) != signatureSize {
		return parts, refuse(reason.ProofMalformed, "the signature is %d bytes long, not %d", len(parts[2]), signatureSize)
	}
	return parts, nil
}

// checkHeader returns the kid. Members other than alg, kid and typ are refused: crit and b64 would change what is
// signed, and jwk, jku, x5c and x5u would let a proof supply its own key.
func checkHeader(raw []byte, typ string) (string, error) {
	decoded, err := strictjson.Decode(raw, strictjson.Limits{MaxDepth: 4, MaxKeys: 16})
	if err != nil {
		return "", refuse(reason.ProofMalformed, "the header is not a JSON object")
	}
	members, ok := decoded.(map[string]any)
	if !ok {
		return "", refuse(reason.ProofMalformed, "the header is not a JSON object")
	}
	if members["alg"] != Algorithm {
		return "", refuse(reason.ProofAlgorithmInvalid, "alg is not %s", Algorithm)
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if name != "alg" && name != "kid" && name != "typ" {
			return "", refuse(reason.ProofHeaderInvalid, "the header has a member that proofs do not have")
		}
	}
	if got, present := members["typ"]; present != (typ != "") || (present && got != typ) {
		return "", refuse(reason.ProofTypeInvalid, "typ is not %s", Type)
	}
	kid, _ := members["kid"].(string)
	if kid == "" {
		return "", refuse(reason.ProofHeaderInvalid, "the header has no kid")
	}
	return kid, nil
}

// verifier is jwx's ES256. It is used without jwx's own parsing of the message, so that the bytes verified are the very
// bytes received.
var verifier = mustVerifier()

// mustVerifier panics if jwx was built without ES256, which would be a defect of the build.
func mustVerifier() jws.Verifier {
	v, err := jws.NewVerifier(jwa.ES256)
	if err != nil {
		panic("proof: jwx has no ES256: " + err.Error())
	}
	return v
}

// checkSignature verifies the bytes up to the last dot.
func checkSignature(compact string, signature []byte, key *ecdsa.PublicKey) error {
	input := compact[:strings.LastIndexByte(compact, '.')]
	if err := verifier.Verify([]byte(input), signature, key); err != nil {
		return refuse(reason.ProofSignatureInvalid, "the signature does not verify")
	}
	return nil
}

// parseClaims decodes and validates the claims.
func parseClaims(payload []byte) (Claims, error) {
	var claims Claims
	if _, err := strictjson.Decode(payload, strictjson.Limits{}); err != nil {
		return Claims{}, refuse(reason.ProofClaimsInvalid, "the claims are not strict JSON")
	}
	if err := json.Unmarshal(payload, &claims); err != nil {
		return Claims{}, refuse(reason.ProofClaimsInvalid, "the claims are not of a proof's shape")
	}
	if err := claims.check(); err != nil {
		return Claims{}, refuse(reason.ProofClaimsInvalid, "%s", err)
	}
	return claims, nil
}

// check compares the claims with what is expected, in a fixed order: the first difference is the refusal.
func (x Expect) check(c Claims) error {
	for _, f := range []struct {
		name, wanted, found string
		code                reason.Code
	}{
		{"iss", x.Issuer, c.Issuer, reason.ProofIssuerMismatch},
		{"env", x.Environment, c.Environment, reason.ProofEnvironmentMismatch},
		{"aud", x.Audience, c.Audience, reason.ProofAudienceMismatch},
		{"act.key", x.Action, c.Action.Key, reason.ProofActionMismatch},
		{"nonce", x.Nonce, c.Nonce, reason.ProofNonceMismatch},
		{"sub", x.Subject, c.Subject, reason.ProofActionMismatch},
		{"ctx", x.ContextDigest, c.Context, reason.ProofActionMismatch},
	} {
		if f.wanted != "" && f.wanted != f.found {
			return refuse(f.code, "claim %s does not match", f.name)
		}
	}
	return x.checkResource(c)
}

// checkResource compares the digest of the expected resource.
func (x Expect) checkResource(c Claims) error {
	if x.ResourceType == "" && x.ResourceID == "" {
		return nil
	}
	digest, err := canonical.ResourceDigest(x.ResourceType, x.ResourceID)
	if err != nil || digest != c.Resource.Digest || x.ResourceType != c.Resource.Type {
		return refuse(reason.ProofResourceMismatch, "claim res does not match")
	}
	return nil
}

// checkTime applies the leeway at both ends: a proof is valid from nbf-leeway until before exp+leeway.
func checkTime(c Claims, now time.Time, leeway time.Duration) error {
	leeway = min(max(leeway, 0), MaxLeeway)
	if now.Before(time.Unix(c.NotBefore, 0).Add(-leeway)) {
		return refuse(reason.ProofNotYetValid, "valid from %d on", c.NotBefore)
	}
	if !now.Before(time.Unix(c.Expires, 0).Add(leeway)) {
		return refuse(reason.ProofExpired, "expired at %d", c.Expires)
	}
	return nil
}

// sortedKeys returns the key ids in a stable order.
func sortedKeys(keys KeySet) []string { return slices.Sorted(maps.Keys(keys)) }
