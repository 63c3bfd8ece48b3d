package main

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/asn1"
	"encoding/base64"
	"encoding/json"
	"maps"
	"math/big"
	"strings"

	"github.com/countersign-dev/countersign/internal/platform/canonical"
)

// The verifier of the cases and the request that their proofs are for.
const (
	issuer      = "https://countersign.example/env_1"
	environment = "env_1"
	audience    = "bank.example"
	now         = 1795231300
	genuine     = `{"alg":"ES256","kid":"k1","typ":"poa+jwt"}`
)

var (
	payment = object{"amount": 19.5, "currency": "EUR", "payee": "Jürgen Groß"}
	signer  = key("k1")
	forger  = key("forger")
	other   = key("k2") // published, of another environment of the same service
)

// key derives a key from a name, so that the kit does not change when it is written again.
func key(name string) *ecdsa.PrivateKey {
	sum := sha256.Sum256([]byte("countersign kit " + name))
	k, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), sum[:])
	if err != nil {
		panic(err)
	}
	return k
}

func encode(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// sign returns a compact JWS; Go signs deterministically (RFC 6979) if it gets no source of randomness.
func sign(k *ecdsa.PrivateKey, header, claims string) string {
	return signParts(k, encode([]byte(header)), encode([]byte(claims)))
}

// signParts signs two parts as they are written.
func signParts(k *ecdsa.PrivateKey, header, claims string) string {
	input := header + "." + claims
	return input + "." + encode(raw(der(k, input)))
}

func der(k *ecdsa.PrivateKey, input string) []byte {
	digest := sha256.Sum256([]byte(input))
	signature, err := k.Sign(nil, digest[:], crypto.SHA256)
	if err != nil {
		panic(err)
	}
	return signature
}

// raw turns a DER signature into r and s as 32 bytes each (RFC 7518 section 3.4).
func raw(signature []byte) []byte {
	var rs struct{ R, S *big.Int }
	if _, err := asn1.Unmarshal(signature, &rs); err != nil {
		panic(err)
	}
	return append(rs.R.FillBytes(make([]byte, 32)), rs.S.FillBytes(make([]byte, 32))...)
}

// claims returns the claims of a genuine proof with changes; nil removes one.
func claims(changes object) string {
	resource, _ := canonical.ResourceDigest("account", "acc-1")
	context, _ := canonical.ContextDigest(payment)
	c := object{
		"iss": issuer, "sub": "user-1", "aud": audience, "iat": now - 60, "nbf": now - 60, "exp": now + 240, "jti": "prf_1",
		"nonce": "0123456789abcdef", "env": environment, "env_kind": "live", "mode": "enforce", "azn": "azn_1",
		"act": object{"key": "payments.transfer", "hash": "sha256:aa", "policy_version": 3, "content_hash": "sha256:bb"},
		"res": object{"type": "account", "digest": resource}, "ctx": context,
		"assurance": object{"coverage": "sufficient", "freshness_ms": 1200, "claims": object{"operator_continuity": "confirmed"}},
		"amr":       []string{"behaviour"},
	}
	maps.Copy(c, changes)
	maps.DeleteFunc(c, func(_ string, v any) bool { return v == nil })
	text, err := json.Marshal(c)
	if err != nil {
		panic(err)
	}
	return string(text)
}

func jwk(k *ecdsa.PrivateKey, kid string, changes object) object {
	point, err := k.PublicKey.Bytes()
	if err != nil {
		panic(err)
	}
	out := object{"kty": "EC", "crv": "P-256", "alg": "ES256", "use": "sig", "kid": kid, "x": encode(point[1:33]), "y": encode(point[33:])}
	maps.Copy(out, changes)
	return out
}

// proofCase is one proof and what a verifier must say of it. Guard names the check that decides: without it, the case fails.
type proofCase struct {
	Name   string `json:"name"`
	Guard  string `json:"guard"`
	Proof  string `json:"proof"`
	Code   string `json:"code,omitempty"` // reason code of the refusal; empty: the proof is valid
	Expect object `json:"expect,omitempty"`
	Now    int64  `json:"now,omitempty"`
	Leeway int    `json:"leeway,omitempty"`
	JWKS   object `json:"jwks,omitempty"`
}

func proofs() (any, error) {
	cases := []proofCase{{Name: "genuine", Guard: "none", Proof: sign(signer, genuine, claims(nil))}}
	cases = append(cases, forms()...)
	cases = append(cases, headers()...)
	cases = append(cases, signatures()...)
	cases = append(cases, edges()...)
	cases = append(cases, jws()...)
	cases = append(cases, contents()...)
	return object{
		"version": version, "issuer": issuer, "environment": environment, "audience": audience, "now": now,
		"expect": object{"action": "payments.transfer", "subject": "user-1", "resource": object{"type": "account", "id": "acc-1"}, "context": payment, "nonce": "0123456789abcdef"},
		"jwks":   object{"keys": []object{jwk(signer, "k1", nil), jwk(other, "k2", nil), {"kty": "RSA", "kid": "rsa", "n": "AQAB", "e": "AQAB"}}},
		"cases":  cases,
	}, nil
}

// forms are texts that are not one compact JWS in its one spelling.
func forms() []proofCase {
	good := sign(signer, genuine, claims(nil))
	parts := strings.Split(good, ".")
	out := []proofCase{}
	for _, c := range []struct{ name, guard, text string }{
		{"nothing", "form", ""},
		{"two parts", "form", parts[0] + "." + parts[1]},
		{"four parts", "form", good + ".AA"},
		{"an empty part", "form", parts[0] + ".." + parts[2]},
		{"a line break at the end", "form", good + "\n"},
		{"a space within", "form", parts[0] + ". " + parts[1] + "." + parts[2]},
		{"padding", "form", good + "="},
		{"the alphabet of base64", "form", parts[0] + "." + parts[1] + "." + strings.NewReplacer("-", "+", "_", "/").Replace(parts[2]) + "+"},
		{"the JSON serialization", "form", `{"payload":"` + parts[1] + `","signatures":[{"protected":"` + parts[0] + `","signature":"` + parts[2] + `"}]}`},
		{"spare bits in the last character", "canonical", parts[0] + "." + parts[1] + "." + spare(parts[2])},
		{"longer than 8192 characters", "length", sign(signer, genuine, claims(object{"later": strings.Repeat("x", 8192)}))},
		{"a signature in DER", "signature_size", parts[0] + "." + parts[1] + "." + encode(der(signer, parts[0]+"."+parts[1]))},
		{"a signature of 63 bytes", "signature_size", parts[0] + "." + parts[1] + "." + parts[2][:len(parts[2])-2]},
	} {
		out = append(out, proofCase{Name: c.name, Guard: c.guard, Proof: c.text, Code: "proof_malformed"})
	}
	return out
}

func headers() []proofCase {
	out := []proofCase{}
	for _, c := range []struct{ name, guard, header, code string }{
		{"alg none", "alg", `{"alg":"none","kid":"k1","typ":"poa+jwt"}`, "proof_algorithm_invalid"},
		{"alg HS256", "alg", `{"alg":"HS256","kid":"k1","typ":"poa+jwt"}`, "proof_algorithm_invalid"},
		{"alg es256", "alg", `{"alg":"es256","kid":"k1","typ":"poa+jwt"}`, "proof_algorithm_invalid"},
		{"another typ", "typ", `{"alg":"ES256","kid":"k1","typ":"JWT"}`, "proof_type_invalid"},
		{"no typ", "typ", `{"alg":"ES256","kid":"k1"}`, "proof_type_invalid"},
		{"a key set of its own", "members", `{"alg":"ES256","kid":"k1","typ":"poa+jwt","jku":"https://evil.example/keys"}`, "proof_header_invalid"},
		{"b64", "members", `{"alg":"ES256","kid":"k1","typ":"poa+jwt","b64":"false"}`, "proof_header_invalid"},
		{"crit", "members", `{"alg":"ES256","crit":["b64"],"kid":"k1","typ":"poa+jwt"}`, "proof_header_invalid|proof_malformed"},
		{"a key of its own", "members", `{"alg":"ES256","kid":"k1","typ":"poa+jwt","jwk":{}}`, "proof_header_invalid|proof_malformed"},
		{"no kid", "kid", `{"alg":"ES256","typ":"poa+jwt"}`, "proof_header_invalid"},
		{"an empty kid", "kid", `{"alg":"ES256","kid":"","typ":"poa+jwt"}`, "proof_header_invalid"},
		{"a name twice", "duplicates", `{"alg":"none","alg":"ES256","kid":"k1","typ":"poa+jwt"}`, "proof_malformed"},
		{"something after the object", "json", genuine + "{}", "proof_malformed"},
		{"a list", "json", `["ES256"]`, "proof_malformed"},
		{"a kid that is not published", "kid_known", `{"alg":"ES256","kid":"k9","typ":"poa+jwt"}`, "proof_key_unknown"},
		{"a kid that is an RSA key", "key_type", `{"alg":"ES256","kid":"rsa","typ":"poa+jwt"}`, "proof_key_unknown"},
	} {
		out = append(out, proofCase{Name: c.name, Guard: c.guard, Proof: sign(signer, c.header, claims(nil)), Code: c.code})
	}
	return out
}

func signatures() []proofCase {
	good := strings.Split(sign(signer, genuine, claims(nil)), ".")
	with := func(b []byte) string { return good[0] + "." + good[1] + "." + encode(b) }
	n := elliptic.P256().Params().N
	full := func(r, s *big.Int) []byte {
		return append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...)
	}
	off := jwk(signer, "k1", object{"y": encode(make([]byte, 32))})
	out := []proofCase{
		{Name: "changed claims", Proof: good[0] + "." + encode([]byte(claims(object{"sub": "mallory"}))) + "." + good[2]},
		{Name: "another key under the kid", Proof: sign(forger, genuine, claims(nil))},
		{Name: "the key of another environment under the kid", Proof: sign(other, genuine, claims(nil))},
		{Name: "r and s are 0", Proof: with(make([]byte, 64))},
		{Name: "r is 0 and s is 1", Proof: with(full(big.NewInt(0), big.NewInt(1)))},
		{Name: "r is 1 and s is 1", Proof: with(full(big.NewInt(1), big.NewInt(1)))},
		{Name: "r and s are the order", Proof: with(full(n, n))},
		{Name: "s is 2^256-1", Proof: with(full(big.NewInt(1), new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 256), big.NewInt(1))))},
	}
	for i := range out {
		out[i].Guard, out[i].Code = "signature", "proof_signature_invalid"
	}
	return append(out,
		proofCase{Name: "a published key that is off the curve", Guard: "curve", Proof: sign(signer, genuine, claims(nil)), Code: "proof_key_unknown", JWKS: object{"keys": []object{off}}},
		proofCase{Name: "a published key for encryption", Guard: "key_use", Proof: sign(signer, genuine, claims(nil)), Code: "proof_key_unknown",
			JWKS: object{"keys": []object{jwk(signer, "k1", object{"use": "enc"})}}})
}

// contents are signed by the service and not for this verifier, this request or this time.
func contents() []proofCase {
	act := object{"key": "payments.view", "hash": "sha256:aa", "policy_version": 3, "content_hash": "sha256:bb"}
	digest := func(kind, id string) object {
		d, _ := canonical.ResourceDigest(kind, id)
		return object{"type": "account", "digest": d}
	}
	context, _ := canonical.ContextDigest(object{"amount": 99999, "currency": "EUR", "payee": "Mallory"})
	of := func(name, guard, code string, changes object) proofCase {
		return proofCase{Name: name, Guard: guard, Code: code, Proof: sign(signer, genuine, claims(changes))}
	}
	timed := func(c proofCase, at int64, leeway int) proofCase { c.Now, c.Leeway = at, leeway; return c }
	return []proofCase{
		of("of another issuer", "iss", "proof_issuer_mismatch", object{"iss": "https://evil.example/env_1"}),
		of("of another environment", "env", "proof_environment_mismatch", object{"env": "env_sandbox"}),
		of("for another audience", "aud", "proof_audience_mismatch", object{"aud": "shop.example"}),
		of("for another action", "action", "proof_action_mismatch", object{"act": act}),
		of("for another subject", "subject", "proof_action_mismatch", object{"sub": "user-2"}),
		of("for another amount and payee", "context", "proof_action_mismatch", object{"ctx": context}),
		of("for another nonce", "nonce", "proof_nonce_mismatch", object{"nonce": "fedcba9876543210"}),
		of("for another resource", "resource", "proof_resource_mismatch", object{"res": digest("account", "acc-2")}),
		of("a list of audiences", "claims", "proof_claims_invalid", object{"aud": []string{audience}}),
		of("no jti", "claims", "proof_claims_invalid", object{"jti": nil}),
		of("an empty subject", "claims", "proof_claims_invalid", object{"sub": ""}),
		of("an end before its beginning", "claims", "proof_claims_invalid", object{"exp": now - 61}),
		of("no end", "claims", "proof_claims_invalid", object{"exp": nil}),
		{Name: "claims that are a list", Guard: "claims", Code: "proof_claims_invalid", Proof: sign(signer, genuine, `[1]`)},
		of("a claim of a later version", "none", "", object{"later": object{"x": []int{1}}}),
		timed(of("at its first second", "none", "", nil), now-60, 0),
		timed(of("before its first second", "nbf", "proof_not_yet_valid", nil), now-61, 0),
		timed(of("in its last second", "none", "", nil), now+239, 0),
		timed(of("at its end", "exp", "proof_expired", nil), now+240, 0),
		timed(of("at its end, with leeway", "none", "", nil), now+299, 60),
		timed(of("a leeway of an hour counts as 60 s", "leeway", "proof_expired", nil), now+300, 3600),
		{Name: "for another amount in the last digit", Guard: "context", Code: "proof_action_mismatch", Proof: sign(signer, genuine, claims(nil)),
			Expect: object{"context": object{"amount": 19.51, "currency": "EUR", "payee": "Jürgen Groß"}}},
		{Name: "composed and decomposed letters differ", Guard: "context", Code: "proof_action_mismatch", Proof: sign(signer, genuine, claims(nil)),
			Expect: object{"context": object{"amount": 19.5, "currency": "EUR", "payee": "Ju\u0308rgen Groß"}}},
	}
}
