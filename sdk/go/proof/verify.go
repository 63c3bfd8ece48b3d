// Package proof verifies Proofs of Agency: ES256 compact JWS of type poa+jwt that say a Countersign service allowed this
// subject this action on this resource.
//
// Verification is offline but for the service's key set, which is fetched and kept as its Cache-Control says. The package
// takes the algorithm from no input, trusts no key that comes with a proof, and cannot know that a proof was consumed or
// revoked: ask the service (countersign.Client.VerifyProof with Consume) where that matters.
package proof

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"regexp"
	"strings"
	"time"
)

// Algorithm and Type are the only values of alg and typ that a proof has.
const (
	Algorithm = "ES256"
	Type      = "poa+jwt"
)

const (
	maxSize       = 8192 // bytes of a proof
	signatureSize = 64   // r and s as 32 bytes each (RFC 7518 section 3.4)
	maxLeeway     = 60 * time.Second
)

// Error is why a proof is refused. Code is one of the service's reason codes of kind proof (countersign.ReasonProof...).
type Error struct {
	Code string
	Msg  string
}

// Error gives the code and what was wrong. It never quotes the proof.
func (e *Error) Error() string { return "proof: " + e.Code + ": " + e.Msg }

func refuse(code, format string, args ...any) *Error {
	return &Error{Code: code, Msg: fmt.Sprintf(format, args...)}
}

// Verifier verifies proofs for one relying party. Every field but Leeway and Now is required. It is safe for concurrent
// use once made.
type Verifier struct {
	Keys        Keys             // of the service, see Remote
	Issuer      string           // proof_issuer at GET /api/v1/credential
	Environment string           // id of the environment, also there: a sandbox proof is worth nothing in live
	Audience    string           // who this relying party is
	Leeway      time.Duration    // difference of clocks allowed for, 0 to 60 s
	Now         func() time.Time // nil: the machine's clock
}

// Expect describes what is about to be done, which the proof must be for. Every field but Nonce and ActionHash is required,
// unless the Expect is Unbound. An empty field is not checked.
type Expect struct {
	Action       string // key
	Subject      string // the relying party's own id
	ResourceType string // checked together with ResourceID
	ResourceID   string
	Context      string // digest of the context, see ContextDigest: without it a proof for 10 is as good as one for 10,000
	Nonce        string // of the request, if this process made it
	ActionHash   string // see ActionHash: binds everything at once

	unbound bool
}

// Unbound returns an Expect whose empty fields are allowed, apart from Action. It is for callers that compare the returned claims
// themselves, or that only report a proof: a valid proof alone does not say that it is for what is about to be done.
func Unbound(expect Expect) Expect {
	expect.unbound = true
	return expect
}

// missing names a required field that is empty.
func (x Expect) missing() string {
	for _, f := range []struct{ name, value string }{
		{"Action", x.Action}, {"Subject", x.Subject}, {"ResourceType", x.ResourceType}, {"ResourceID", x.ResourceID}, {"Context", x.Context},
	} {
		if f.value == "" && (f.name == "Action" || !x.unbound) {
			return f.name
		}
	}
	return ""
}

// Verify checks form, header, signature, claims and times of a proof, and that it is for what is expected. A refusal is an
// *Error; another error says that the keys could not be had. The claims are whole only where the error is nil.
func (v *Verifier) Verify(ctx context.Context, compact string, expect Expect) (*Claims, error) {
	if v.Issuer == "" || v.Environment == "" || v.Audience == "" {
		return nil, errors.New("proof: Verifier.Issuer, Environment and Audience must be set")
	}
	if name := expect.missing(); name != "" {
		return nil, fmt.Errorf("proof: Expect.%s must be set, or the Expect must be Unbound", name)
	}
	parts, err := split(compact)
	if err != nil {
		return nil, err
	}
	kid, err := header(parts[0])
	if err != nil {
		return nil, err
	}
	keys := v.Keys
	if remote, ok := keys.(*Remote); ok {
		keys = remote.For(v.Issuer)
	}
	key, err := keys.Key(ctx, kid)
	if err != nil {
		return nil, err
	}
	if !signed(compact, parts[2], key) {
		return nil, refuse("proof_signature_invalid", "the signature does not verify")
	}
	claims, err := parseClaims(parts[1])
	if err != nil {
		return nil, err
	}
	if err := v.check(claims, expect); err != nil {
		return nil, err
	}
	return claims, nil
}

var (
	compactForm = regexp.MustCompile(`^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$`)
	encoding    = base64.RawURLEncoding.Strict()
)

// split decodes the three parts. It accepts one spelling of each proof only: lax decoders pass over line breaks and accept
// spare bits in a last character.
func split(compact string) (parts [3][]byte, err error) {
	if len(compact) > maxSize || !compactForm.MatchString(compact) {
		return parts, refuse("proof_malformed", "not one compact JWS of up to %d bytes", maxSize)
	}
	for i, text := range strings.SplitN(compact, ".", 3) {
		if parts[i], err = encoding.DecodeString(text); err != nil {
			return parts, refuse("proof_malformed", "part %d is not canonical base64url", i+1)
		}
	}
	if len(parts[2]) != signatureSize {
		return parts, refuse("proof_malformed", "the signature is %d bytes long, not %d", len(parts[2]), signatureSize)
	}
	return parts, nil
}

// header returns the kid of a header that has exactly the members alg, kid and typ, each once. Others are rejected:
// crit and b64 would change which bytes are signed; jwk, jku, x5c and x5u would let a proof supply its own key
// (RFC 8725).
func header(raw []byte) (kid string, err error) {
	members, err := flatObject(raw)
	if err != nil {
		return "", refuse("proof_malformed", "the header is not an object of strings, each named once")
	}
	switch {
	case members["alg"] != Algorithm:
		return "", refuse("proof_algorithm_invalid", "alg is not %s", Algorithm)
	case members["typ"] != Type:
		return "", refuse("proof_type_invalid", "typ is not %s", Type)
	case members["kid"] == "" || len(members) != 3:
		return "", refuse("proof_header_invalid", "the header must have alg, kid and typ and nothing else")
	}
	return members["kid"], nil
}

// flatObject reads an object whose values are strings. encoding/json by itself keeps the last of repeated names.
func flatObject(raw []byte) (map[string]string, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, fmt.Errorf("no object")
	}
	members := map[string]string{}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, err
		}
		var value string
		if err := d.Decode(&value); err != nil {
			return nil, err
		}
		if _, twice := members[name.(string)]; twice {
			return nil, fmt.Errorf("a name twice")
		}
		members[name.(string)] = value
	}
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("something after the object")
	}
	return members, nil
}

func signed(compact string, signature []byte, key *ecdsa.PublicKey) bool {
	digest := sha256.Sum256([]byte(compact[:strings.LastIndexByte(compact, '.')]))
	r, s := new(big.Int).SetBytes(signature[:32]), new(big.Int).SetBytes(signature[32:])
	return ecdsa.Verify(key, digest[:], r, s)
}

// check holds the claims against who verifies, what is expected, and the time, in this order.
func (v *Verifier) check(c *Claims, x Expect) error {
	for _, f := range []struct{ name, wanted, found, code string }{
		{"iss", v.Issuer, c.Issuer, "proof_issuer_mismatch"},
		{"env", v.Environment, c.Environment, "proof_environment_mismatch"},
		{"aud", v.Audience, c.Audience, "proof_audience_mismatch"},
		{"act.key", x.Action, c.Action.Key, "proof_action_mismatch"},
		{"act.hash", x.ActionHash, c.Action.Hash, "proof_action_mismatch"},
		{"sub", x.Subject, c.Subject, "proof_action_mismatch"},
		{"nonce", x.Nonce, c.Nonce, "proof_nonce_mismatch"},
		{"ctx", x.Context, c.Context, "proof_action_mismatch"},
	} {
		if f.wanted != "" && f.wanted != f.found {
			return refuse(f.code, "claim %s is another", f.name)
		}
	}
	if x.ResourceType != "" || x.ResourceID != "" {
		digest, err := ResourceDigest(x.ResourceType, x.ResourceID)
		if err != nil || digest != c.Resource.Digest || x.ResourceType != c.Resource.Type {
			return refuse("proof_resource_mismatch", "claim res is another")
		}
	}
	return v.checkTime(c)
}

// checkTime allows for the leeway on both ends: a proof is good from nbf on and no longer at exp.
func (v *Verifier) checkTime(c *Claims) error {
	now := time.Now()
	if v.Now != nil {
		now = v.Now()
	}
	leeway := min(max(v.Leeway, 0), maxLeeway)
	if now.Before(time.Unix(c.NotBefore, 0).Add(-leeway)) {
		return refuse("proof_not_yet_valid", "valid from %d on", c.NotBefore)
	}
	if !now.Before(time.Unix(c.Expires, 0).Add(leeway)) {
		return refuse("proof_expired", "expired at %d", c.Expires)
	}
	return nil
}
