package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/sha512"
	"fmt"
	"math/big"
	"strings"
)

// jws are the edge cases of JWS that Wycheproof's json_web_signature tries, and those of RFC 8725, made for our proofs. What is signed is
// signed by the genuine key, so that only the check that a case names can refuse it.
func jws() []proofCase {
	out := spellings()
	out = append(out, algorithms()...)
	out = append(out, members()...)
	out = append(out, published()...)
	return out
}

// spellings are other spellings of a genuine proof. A lax decoder reads the same bytes, and the signature is of the text as it is spelled.
func spellings() []proofCase {
	good := strings.Split(sign(signer, genuine, claims(nil)), ".")
	signature := raw(der(signer, good[0]+"."+good[1]))
	halves := func(size int) []byte { // r and s, each with zeros before it
		return append(new(big.Int).SetBytes(signature[:32]).FillBytes(make([]byte, size)), new(big.Int).SetBytes(signature[32:]).FillBytes(make([]byte, size))...)
	}
	with := func(b []byte) string { return good[0] + "." + good[1] + "." + encode(b) }
	// Claims whose text uses the last two letters of the alphabet and leaves spare bits in its last character, and a header that does so.
	payload := ""
	for filler := "?"; len(payload)%4 == 0 || !strings.ContainsAny(payload, "-_"); filler += "?" {
		payload = encode([]byte(claims(object{"later": filler})))
	}
	header := encode([]byte(genuine[:len(genuine)-1] + " }"))
	none := encode([]byte(`{"alg":"none","kid":"k1","typ":"poa+jwt"}`))
	var out []proofCase
	for _, c := range []struct{ name, guard, text string }{
		{"dots alone", "form", ".."},
		{"no header", "form", "." + good[1] + "." + good[2]},
		{"no signature", "form", good[0] + "." + good[1] + "."},
		{"alg none, without a signature", "form", none + "." + good[1] + "."},
		{"an empty part at the end", "form", strings.Join(good, ".") + "."},
		{"a NUL at the end", "form", strings.Join(good, ".") + "\x00"},
		{"padding of the signed header", "form", signParts(signer, header+strings.Repeat("=", 4-len(header)%4), good[1])},
		{"padding of the signed claims", "form", signParts(signer, good[0], payload+strings.Repeat("=", 4-len(payload)%4))},
		{"the alphabet of base64 in the signed claims", "form", signParts(signer, good[0], strings.NewReplacer("-", "+", "_", "/").Replace(payload))},
		{"spare bits in the last character of the signed header", "canonical", signParts(signer, spare(header), good[1])},
		{"spare bits in the last character of the signed claims", "canonical", signParts(signer, good[0], spare(payload))},
		{"a signature of 1 byte", "signature_size", with([]byte{1})},
		{"a zero after the signature", "signature_size", with(append(signature[:64:64], 0))},
		{"zeros before r and s", "signature_size", with(halves(33))},
		{"r and s as long as those of P-384", "signature_size", with(halves(48))},
		{"r and s as long as those of P-521", "signature_size", with(halves(66))},
		{"the signature twice", "signature_size", with(append(signature[:64:64], signature...))},
		{"a signature in DER with a zero before it", "signature_size", with(append([]byte{0}, der(signer, good[0]+"."+good[1])...))},
	} {
		out = append(out, proofCase{Name: c.name, Guard: c.guard, Proof: c.text, Code: "proof_malformed"})
	}
	// ECDSA verifies both: a proof is known by its jti, never by its text.
	n := elliptic.P256().Params().N
	other := new(big.Int).Sub(n, new(big.Int).SetBytes(signature[32:])).FillBytes(make([]byte, 32))
	return append(out, proofCase{Name: "the other s of the signature", Guard: "none", Proof: with(append(signature[:32:32], other...))})
}

// spare sets a bit of the last character that no byte uses.
func spare(text string) string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	if len(text)%4 == 0 {
		panic("the last character of " + text + " has no spare bits")
	}
	return text[:len(text)-1] + string(letters[strings.IndexByte(letters, text[len(text)-1])|1])
}

// algorithms are headers with another alg. One is authenticated by the public key, which a verifier that takes any alg uses as a secret.
func algorithms() []proofCase {
	var out []proofCase
	for _, alg := range []string{`"None"`, `""`, `"ES256 "`, `"ES384"`, `"ES512"`, `"ES256K"`, `"RS256"`, `"PS256"`, `"EdDSA"`, `["ES256"]`, `null`} {
		code := "proof_algorithm_invalid"
		if alg[0] != '"' {
			code += "|proof_malformed"
		}
		header := fmt.Sprintf(`{"alg":%s,"kid":"k1","typ":"poa+jwt"}`, alg)
		out = append(out, proofCase{Name: "alg " + alg, Guard: "alg", Proof: sign(signer, header, claims(nil)), Code: code})
	}
	out = append(out, proofCase{Name: "no alg", Guard: "alg", Proof: sign(signer, `{"kid":"k1","typ":"poa+jwt"}`, claims(nil)), Code: "proof_algorithm_invalid"})
	input := encode([]byte(`{"alg":"HS512","kid":"k1","typ":"poa+jwt"}`)) + "." + encode([]byte(claims(nil)))
	mac := hmac.New(sha512.New, must(signer.PublicKey.Bytes()))
	mac.Write([]byte(input))
	return append(out, proofCase{Name: "alg HS512 by the public key", Guard: "alg", Proof: input + "." + encode(mac.Sum(nil)), Code: "proof_algorithm_invalid"})
}

// members are headers that have more than a proof's, or that only some parsers read as one.
func members() []proofCase {
	var out []proofCase
	for _, c := range []struct{ name, guard, header, code string }{
		{"an empty crit", "members", `{"alg":"ES256","crit":[],"kid":"k1","typ":"poa+jwt"}`, "proof_header_invalid|proof_malformed"},
		{"crit that names a claim", "members", `{"alg":"ES256","crit":["exp"],"kid":"k1","typ":"poa+jwt"}`, "proof_header_invalid|proof_malformed"},
		{"b64 with its crit", "members", `{"alg":"ES256","b64":false,"crit":["b64"],"kid":"k1","typ":"poa+jwt"}`, "proof_header_invalid|proof_malformed"},
		{"b64 true", "members", `{"alg":"ES256","b64":true,"kid":"k1","typ":"poa+jwt"}`, "proof_header_invalid|proof_malformed"},
		{"a certificate's address", "members", `{"alg":"ES256","kid":"k1","typ":"poa+jwt","x5u":"https://evil.example/x5"}`, "proof_header_invalid"},
		{"a certificate", "members", `{"alg":"ES256","kid":"k1","typ":"poa+jwt","x5c":["` + encode([]byte("a certificate")) + `"]}`, "proof_header_invalid|proof_malformed"},
		{"zip", "members", `{"alg":"ES256","kid":"k1","typ":"poa+jwt","zip":"DEF"}`, "proof_header_invalid"},
		{"another ALG", "members", `{"alg":"ES256","ALG":"none","kid":"k1","typ":"poa+jwt"}`, "proof_header_invalid"},
		{"TYP for typ", "typ", `{"alg":"ES256","kid":"k1","TYP":"poa+jwt"}`, "proof_header_invalid|proof_type_invalid"},
		{"typ in capitals", "typ", `{"alg":"ES256","kid":"k1","typ":"POA+JWT"}`, "proof_type_invalid"},
		{"typ with application/", "typ", `{"alg":"ES256","kid":"k1","typ":"application/poa+jwt"}`, "proof_type_invalid"},
		{"a kid that is a number", "kid", `{"alg":"ES256","kid":1,"typ":"poa+jwt"}`, "proof_header_invalid|proof_malformed"},
		{"a space after the kid", "kid_known", `{"alg":"ES256","kid":"k1 ","typ":"poa+jwt"}`, "proof_key_unknown"},
		{"two kids", "duplicates", `{"alg":"ES256","kid":"k9","kid":"k1","typ":"poa+jwt"}`, "proof_malformed"},
		{"a name twice, once in escapes", "duplicates", `{"\u0061lg":"none","alg":"ES256","kid":"k1","typ":"poa+jwt"}`, "proof_malformed"},
		{"the same alg twice", "duplicates", `{"alg":"ES256","alg":"ES256","kid":"k1","typ":"poa+jwt"}`, "proof_malformed"},
		{"null", "json", `null`, "proof_malformed"},
		{"a text", "json", `"ES256"`, "proof_malformed"},
		{"a comma too many", "json", `{"alg":"ES256","kid":"k1","typ":"poa+jwt",}`, "proof_malformed"},
		{"a comment", "json", `{"alg":"ES256",/**/"kid":"k1","typ":"poa+jwt"}`, "proof_malformed"},
		{"apostrophes", "json", `{'alg':'ES256','kid':'k1','typ':'poa+jwt'}`, "proof_malformed"},
		{"a byte order mark", "json", "\ufeff" + genuine, "proof_malformed"},
		{"a NUL after the object", "json", genuine + "\x00", "proof_malformed"},
		{"half of the object", "json", genuine[:len(genuine)-1], "proof_malformed"},
		{"spaces and line breaks", "none", "{ \"typ\" : \"poa+jwt\",\r\n\t\"kid\" : \"k1\", \"alg\" : \"ES256\" }", ""},
		{"escapes", "none", `{"\u0061lg":"\u0045S256","kid":"\u006b1","typ":"poa\u002bjwt"}`, ""},
	} {
		out = append(out, proofCase{Name: "a header with " + c.name, Guard: c.guard, Proof: sign(signer, c.header, claims(nil)), Code: c.code})
	}
	x := jwk(forger, "k1", nil)
	header := fmt.Sprintf(`{"alg":"ES256","jwk":{"crv":"P-256","kty":"EC","x":%q,"y":%q},"kid":"k1","typ":"poa+jwt"}`, x["x"], x["y"])
	good := strings.Split(sign(signer, genuine, claims(nil)), ".")
	return append(out,
		proofCase{Name: "a header with the key that signed it", Guard: "members", Proof: sign(forger, header, claims(nil)), Code: "proof_header_invalid|proof_malformed"},
		proofCase{Name: "a header that was written again", Guard: "signature", Proof: encode([]byte(" "+genuine)) + "." + good[1] + "." + good[2], Code: "proof_signature_invalid"},
		proofCase{Name: "the signature of another proof", Guard: "signature", Code: "proof_signature_invalid",
			Proof: good[0] + "." + good[1] + "." + strings.Split(sign(signer, genuine, claims(object{"jti": "prf_2"})), ".")[2]},
		proofCase{Name: "claims with a name twice", Guard: "duplicates", Code: "proof_claims_invalid",
			Proof: sign(signer, genuine, `{"sub":"mallory",`+claims(nil)[1:])},
		proofCase{Name: "something after the claims", Guard: "claims", Proof: sign(signer, genuine, claims(nil)+"{}"), Code: "proof_claims_invalid"},
	)
}

// published are key sets whose key of the proof's kid is not one for it.
func published() []proofCase {
	sum := sha512.Sum384([]byte("countersign kit P-384"))
	large, err := ecdsa.ParseRawPrivateKey(elliptic.P384(), sum[:])
	if err != nil {
		panic(err)
	}
	point := must(large.PublicKey.Bytes())
	p384 := object{"kty": "EC", "crv": "P-384", "use": "sig", "kid": "k1", "x": encode(point[1:49]), "y": encode(point[49:])}
	zero := encode(make([]byte, 32))
	long := encode(append([]byte{0}, must(signer.PublicKey.Bytes())[1:33]...))
	var out []proofCase
	for _, c := range []struct {
		name, guard string
		key         object
	}{
		{"of P-384", "curve", p384},
		{"of P-384 by its name", "curve", jwk(signer, "k1", object{"crv": "P-384"})},
		{"of secp256k1 by its name", "curve", jwk(signer, "k1", object{"crv": "secp256k1"})},
		{"with the coordinates 0 and 0", "curve", jwk(signer, "k1", object{"x": zero, "y": zero})},
		{"with a coordinate of 33 bytes", "coordinates", jwk(signer, "k1", object{"x": long})},
		{"of another type", "key_type", jwk(signer, "k1", object{"kty": "OKP"})},
		{"for ES384", "key_use", jwk(signer, "k1", object{"alg": "ES384"})},
		{"whose operations lack verify", "key_ops", jwk(signer, "k1", object{"key_ops": []string{"deriveBits"}})},
		{"that is private", "private_key", jwk(signer, "k1", object{"d": encode(must(signer.Bytes()))})},
	} {
		out = append(out, proofCase{Name: "a published key " + c.name, Guard: c.guard, Proof: sign(signer, genuine, claims(nil)), Code: "proof_key_unknown",
			JWKS: object{"keys": []object{c.key}}})
	}
	return append(out, proofCase{Name: "a published key whose operations have verify", Guard: "none", Proof: sign(signer, genuine, claims(nil)),
		JWKS: object{"keys": []object{jwk(signer, "k1", object{"key_ops": []string{"verify"}})}}})
}
