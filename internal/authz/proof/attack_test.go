package proof_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"math/big"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/proof"
	"github.com/countersign-dev/countersign/internal/platform/keys/software"
	"github.com/countersign-dev/countersign/internal/platform/reason"
)

// TestWycheproof runs the P-256 cases of C2SP Wycheproof (Apache-2.0) against the checks below the claims.
func TestWycheproof(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("testdata/wycheproof_es256.json")
	require.NoError(t, err)
	var file struct {
		Groups []struct {
			Comment string          `json:"comment"`
			Public  json.RawMessage `json:"public"`
			Tests   []struct {
				ID      int    `json:"tcId"`
				Comment string `json:"comment"`
				JWS     string `json:"jws"`
				Result  string `json:"result"`
			} `json:"tests"`
		} `json:"testGroups"`
	}
	require.NoError(t, json.Unmarshal(raw, &file))
	count := 0
	for _, group := range file.Groups {
		keys, err := proof.ParseJWKS([]byte(`{"keys":[` + string(group.Public) + `]}`))
		require.NoError(t, err)
		for _, tt := range group.Tests {
			count++
			_, err := proof.VerifyJWS(tt.JWS, keys, "")
			// 19, 22 and 23 to 25 differ from 18 in the bytes only; all invalid ones must fail, whatever the reason.
			require.Equal(t, tt.Result == "valid", err == nil, "case %d, %s: %v", tt.ID, tt.Comment, err)
		}
	}
	require.Equal(t, 41, count)
}

func b64(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }

// forge signs any header and payload with the key, as only a bug of the service itself could.
func forge(t testing.TB, key *ecdsa.PrivateKey, header, payload string) string {
	t.Helper()
	input := b64(header) + "." + b64(payload)
	digest := sha256.Sum256([]byte(input))
	r, s, err := ecdsa.Sign(rand.Reader, key, digest[:])
	require.NoError(t, err)
	signature := make([]byte, 64)
	r.FillBytes(signature[:32])
	s.FillBytes(signature[32:])
	return input + "." + base64.RawURLEncoding.EncodeToString(signature)
}

type attack struct {
	key    *ecdsa.PrivateKey
	signer *proof.Signer
	keys   proof.KeySet
	good   string
	parts  []string
}

func newAttack(t testing.TB) attack {
	t.Helper()
	key, err := software.Generate()
	require.NoError(t, err)
	signer, err := proof.NewSigner(software.Of(key))
	require.NoError(t, err)
	good, err := signer.Sign(t.Context(), claims(t))
	require.NoError(t, err)
	return attack{key, signer, keysOf(signer), good, strings.Split(good, ".")}
}

func (a attack) requireRefused(t testing.TB, code, compact string) {
	t.Helper()
	got, err := proof.Verify(compact, a.keys, at(issuedAt), proof.Expect{})
	requireCode(t, code, err)
	require.Equal(t, proof.Claims{}, got, "nothing is said of a proof that is not genuine")
}

func TestHeaderAttacks(t *testing.T) {
	t.Parallel()
	a := newAttack(t)
	kid := a.signer.KeyID()
	payload := decode(t, a.parts[1])
	for header, code := range map[string]string{
		`{"alg":"none","kid":"K","typ":"poa+jwt"}`:                                                     reason.ProofAlgorithmInvalid,
		`{"alg":"ES384","kid":"K","typ":"poa+jwt"}`:                                                    reason.ProofAlgorithmInvalid,
		`{"alg":"es256","kid":"K","typ":"poa+jwt"}`:                                                    reason.ProofAlgorithmInvalid,
		`{"alg":["ES256"],"kid":"K","typ":"poa+jwt"}`:                                                  reason.ProofAlgorithmInvalid,
		`{"kid":"K","typ":"poa+jwt"}`:                                                                  reason.ProofAlgorithmInvalid,
		`{"alg":"ES256","kid":"K"}`:                                                                    reason.ProofTypeInvalid,
		`{"alg":"ES256","kid":"K","typ":"JWT"}`:                                                        reason.ProofTypeInvalid,
		`{"alg":"ES256","kid":"K","typ":"POA+JWT"}`:                                                    reason.ProofTypeInvalid,
		`{"alg":"ES256","kid":"K","typ":null}`:                                                         reason.ProofTypeInvalid,
		`{"alg":"ES256","typ":"poa+jwt"}`:                                                              reason.ProofHeaderInvalid,
		`{"alg":"ES256","kid":"","typ":"poa+jwt"}`:                                                     reason.ProofHeaderInvalid,
		`{"alg":"ES256","kid":7,"typ":"poa+jwt"}`:                                                      reason.ProofHeaderInvalid,
		`{"alg":"ES256","kid":"K","typ":"poa+jwt","crit":["exp"],"exp":1}`:                             reason.ProofHeaderInvalid,
		`{"alg":"ES256","kid":"K","typ":"poa+jwt","b64":false,"crit":["b64"]}`:                         reason.ProofHeaderInvalid,
		`{"alg":"ES256","kid":"K","typ":"poa+jwt","jku":"https://evil.example/keys"}`:                  reason.ProofHeaderInvalid,
		`{"alg":"ES256","kid":"K","typ":"poa+jwt","x5u":"https://evil.example/cert"}`:                  reason.ProofHeaderInvalid,
		`{"alg":"ES256","kid":"K","typ":"poa+jwt","x5c":["MIIB"]}`:                                     reason.ProofHeaderInvalid,
		`{"alg":"ES256","kid":"K","typ":"poa+jwt","jwk":{"kty":"EC","crv":"P-256","x":"AA","y":"AA"}}`: reason.ProofHeaderInvalid,
		`{"alg":"ES256","kid":"K","typ":"poa+jwt","ALG":"none"}`:                                       reason.ProofHeaderInvalid,
		`{"alg":"ES256","kid":"K","kid":"K","typ":"poa+jwt"}`:                                          reason.ProofMalformed,
		`{"alg":"ES256","kid":"K","typ":"poa+jwt"} `:                                                   "", // white space in the header is signed with it
		`["ES256"]`: reason.ProofMalformed,
		`ES256`:     reason.ProofMalformed,
		`{"alg":"ES256","kid":"../../etc/passwd","typ":"poa+jwt"}`: reason.ProofKeyUnknown,
	} {
		compact := forge(t, a.key, strings.ReplaceAll(header, `"K"`, `"`+kid+`"`), payload)
		if code == "" {
			_, err := proof.Verify(compact, a.keys, at(issuedAt), proof.Expect{})
			require.NoError(t, err)
			continue
		}
		t.Log(header)
		a.requireRefused(t, code, compact)
	}
}

// TestAlgorithmConfusion signs with HMAC, taking each encoding of the public key for the secret.
func TestAlgorithmConfusion(t *testing.T) {
	t.Parallel()
	a := newAttack(t)
	der, err := x509.MarshalPKIXPublicKey(a.signer.Public())
	require.NoError(t, err)
	point, err := a.signer.Public().Bytes()
	require.NoError(t, err)
	jwks, err := proof.JWKS(a.keys)
	require.NoError(t, err)
	for _, alg := range []string{"HS256", "ES256"} {
		for _, secret := range [][]byte{der, point, jwks, nil} {
			input := b64(`{"alg":"`+alg+`","kid":"`+a.signer.KeyID()+`","typ":"poa+jwt"}`) + "." + a.parts[1]
			mac := hmac.New(sha256.New, secret)
			mac.Write([]byte(input))
			short, long := mac.Sum(nil), append(mac.Sum(nil), mac.Sum(nil)...)
			code := reason.ProofAlgorithmInvalid
			if alg == "ES256" {
				code = reason.ProofSignatureInvalid
			}
			a.requireRefused(t, reason.ProofMalformed, input+"."+base64.RawURLEncoding.EncodeToString(short))
			a.requireRefused(t, code, input+"."+base64.RawURLEncoding.EncodeToString(long))
		}
	}
	a.requireRefused(t, reason.ProofMalformed, b64(`{"alg":"none"}`)+"."+a.parts[1]+".")
}

func TestForms(t *testing.T) {
	t.Parallel()
	a := newAttack(t)
	h, p, s := a.parts[0], a.parts[1], a.parts[2]
	for name, text := range map[string]string{
		"empty":                       "",
		"two parts":                   h + "." + p,
		"four parts":                  a.good + "." + s,
		"JWE form":                    h + "." + p + "." + s + "." + s + "." + s,
		"no signature":                h + "." + p + ".",
		"flattened JSON":              `{"payload":"` + p + `","protected":"` + h + `","signature":"` + s + `"}`,
		"general JSON":                `{"payload":"` + p + `","signatures":[{"protected":"` + h + `","signature":"` + s + `"}]}`,
		"leading space":               " " + a.good,
		"trailing newline":            a.good + "\n",
		"newline inside":              h + ".\n" + p + "." + s,
		"carriage return in a part":   h[:4] + "\r" + h[4:] + "." + p + "." + s,
		"padding":                     h + "." + p + "." + s + "==",
		"standard alphabet":           h + "." + p + "." + s[:len(s)-1] + "+",
		"spare bits in the last char": h + "." + p + "." + spareBits(s),
		"a part one character long":   "A." + p + "." + s,
		"Bearer":                      "Bearer " + a.good,
		"NUL":                         a.good + "\x00",
		"too long":                    h + "." + strings.Repeat("A", proof.MaxSize) + "." + s,
		"signature in DER":            h + "." + p + "." + der(t, s),
		"signature with a zero byte":  h + "." + p + "." + base64.RawURLEncoding.EncodeToString(append([]byte{0}, []byte(decode(t, s))...)),
	} {
		t.Log(name)
		a.requireRefused(t, reason.ProofMalformed, text)
	}
}

// spareBits gives the last character another spelling that a lax decoder reads as the same bytes.
func spareBits(part string) string {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	last := strings.IndexByte(alphabet, part[len(part)-1])
	return part[:len(part)-1] + string(alphabet[last|1])
}

func der(t testing.TB, part string) string {
	t.Helper()
	raw := []byte(decode(t, part))
	r, s := new(big.Int).SetBytes(raw[:32]), new(big.Int).SetBytes(raw[32:])
	out := append([]byte{0x30, byte(4 + len(r.Bytes()) + len(s.Bytes())), 2, byte(len(r.Bytes()))}, r.Bytes()...)
	return base64.RawURLEncoding.EncodeToString(append(append(out, 2, byte(len(s.Bytes()))), s.Bytes()...))
}

func TestAlteredProofs(t *testing.T) {
	t.Parallel()
	a := newAttack(t)
	other := newAttack(t)
	altered := strings.Replace(decode(t, a.parts[1]), `"bank.example"`, `"evil.example"`, 1)
	a.requireRefused(t, reason.ProofSignatureInvalid, a.parts[0]+"."+b64(altered)+"."+a.parts[2])
	a.requireRefused(t, reason.ProofSignatureInvalid, a.parts[0]+"."+a.parts[1]+"."+other.parts[2])
	a.requireRefused(t, reason.ProofKeyUnknown, other.good)
	stolenKid := forge(t, other.key, decode(t, a.parts[0]), decode(t, a.parts[1]))
	a.requireRefused(t, reason.ProofSignatureInvalid, stolenKid)
	zero := base64.RawURLEncoding.EncodeToString(make([]byte, 64))
	a.requireRefused(t, reason.ProofSignatureInvalid, a.parts[0]+"."+a.parts[1]+"."+zero)
}

// TestVerifyRefusesSignedNonsense covers claims that only a fault of the service could have signed.
func TestVerifyRefusesSignedNonsense(t *testing.T) {
	t.Parallel()
	a := newAttack(t)
	header, good := decode(t, a.parts[0]), decode(t, a.parts[1])
	for _, payload := range []string{
		`null`, `[]`, `"x"`, `{}`, `{"iss":`, good + "x",
		strings.Replace(good, `"aud":"bank.example"`, `"aud":["bank.example","other"]`, 1),
		strings.Replace(good, `"exp":1795231534`, `"exp":"1795231534"`, 1),
		strings.Replace(good, `"exp":1795231534`, `"exp":1795231534.5`, 1),
		strings.Replace(good, `"exp":1795231534`, `"exp":9007199254740993`, 1),
		strings.Replace(good, `"exp":1795231534`, `"exp":1795232135`, 1),
		strings.Replace(good, `"exp":1795231534`, `"exp":-1`, 1),
		strings.Replace(good, `"jti":"prf_1"`, `"jti":"prf_1","jti":"prf_2"`, 1),
		strings.Replace(good, `"jti":"prf_1",`, ``, 1),
	} {
		a.requireRefused(t, reason.ProofClaimsInvalid, forge(t, a.key, header, payload))
	}
	_, err := proof.Verify(forge(t, a.key, header, strings.Replace(good, `"jti"`, `"later":{"x":[1]},"jti"`, 1)), a.keys, at(issuedAt), proof.Expect{})
	require.NoError(t, err, "a claim added in a later version is no fault")
}

func TestVerifyNeedsAKey(t *testing.T) {
	t.Parallel()
	a := newAttack(t)
	for _, keys := range []proof.KeySet{nil, {}, {a.signer.KeyID(): nil}} {
		_, err := proof.Verify(a.good, keys, at(issuedAt), proof.Expect{})
		requireCode(t, reason.ProofKeyUnknown, err)
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	a := newAttack(t)
	t.Run("private key round trip", func(t *testing.T) {
		t.Parallel()
		raw, err := software.Marshal(a.key)
		require.NoError(t, err)
		back, err := software.Parse(raw)
		require.NoError(t, err)
		require.True(t, back.Equal(a.key))
		_, err = software.Parse(raw[:len(raw)-1])
		require.Error(t, err)
	})
	t.Run("other curves are refused", func(t *testing.T) {
		t.Parallel()
		key, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
		require.NoError(t, err)
		raw, err := x509.MarshalPKCS8PrivateKey(key)
		require.NoError(t, err)
		_, err = software.Parse(raw)
		require.Error(t, err)
		_, err = proof.NewSigner(software.Of(key))
		require.Error(t, err)
		_, err = proof.JWKS(proof.KeySet{"k": &key.PublicKey})
		require.Error(t, err)
		_, err = proof.JWKS(proof.KeySet{"k": nil})
		require.Error(t, err)
	})
	t.Run("key set round trip, public members only", func(t *testing.T) {
		t.Parallel()
		b := newAttack(t)
		keys := keysOf(a.signer, b.signer)
		raw, err := proof.JWKS(keys)
		require.NoError(t, err)
		var set struct {
			Keys []map[string]string `json:"keys"`
		}
		require.NoError(t, json.Unmarshal(raw, &set))
		require.Len(t, set.Keys, 2)
		for _, key := range set.Keys {
			require.Len(t, key, 7)
			require.Equal(t, "EC", key["kty"])
			require.Equal(t, "P-256", key["crv"])
			require.Equal(t, "sig", key["use"])
			require.Equal(t, "ES256", key["alg"])
			require.Len(t, key["x"], 43)
			require.Len(t, key["y"], 43)
			require.Contains(t, keys, key["kid"])
		}
		back, err := proof.ParseJWKS(raw)
		require.NoError(t, err)
		require.Equal(t, keys, back)
		empty, err := proof.JWKS(nil)
		require.NoError(t, err)
		require.JSONEq(t, `{"keys":[]}`, string(empty))
	})
	t.Run("keys that verify no proof are passed over", func(t *testing.T) {
		t.Parallel()
		raw, err := proof.JWKS(a.keys)
		require.NoError(t, err)
		good := string(raw)
		change := func(old, replacement string) string {
			require.Contains(t, good, old)
			return strings.Replace(good, old, replacement, 1)
		}
		count := func(set string) int {
			keys, err := proof.ParseJWKS([]byte(set))
			require.NoError(t, err, set)
			return len(keys)
		}
		kid := `"kid":"` + a.signer.KeyID() + `"`
		require.Equal(t, 1, count(change(`"use":"sig"`, `"key_ops":["verify"]`)))
		require.Equal(t, 1, count(change(`"use":"sig",`, ``)))
		require.Equal(t, 1, count(change(`"alg":"ES256",`, ``)))
		require.Equal(t, 0, count(change(`"alg":"ES256"`, `"alg":"ES384"`)))
		require.Equal(t, 0, count(change(`"use":"sig"`, `"use":"enc"`)))
		require.Equal(t, 0, count(change(`"use":"sig"`, `"key_ops":["deriveKey"]`)))
		require.Equal(t, 0, count(change(kid+`,`, ``)))
		require.Equal(t, 0, count(`{"keys":[{"kty":"oct","kid":"k","k":"AAAA"}]}`))
		require.Equal(t, 1, count(change(`{"keys":[`, `{"keys":[{"kty":"OKP","kid":"k","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"},`)),
			"and those behind them are not")
		other, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
		require.NoError(t, err)
		point, err := other.PublicKey.Bytes()
		require.NoError(t, err)
		require.Equal(t, 0, count(`{"keys":[{"kty":"EC","kid":"k","crv":"P-384","x":"`+base64.RawURLEncoding.EncodeToString(point[1:49])+
			`","y":"`+base64.RawURLEncoding.EncodeToString(point[49:])+`"}]}`))
	})
	t.Run("a published private key is refused", func(t *testing.T) {
		t.Parallel()
		scalar, err := a.key.Bytes()
		require.NoError(t, err)
		raw, err := proof.JWKS(a.keys)
		require.NoError(t, err)
		leaked := strings.Replace(string(raw), `"kty"`, `"d":"`+base64.RawURLEncoding.EncodeToString(scalar)+`","kty"`, 1)
		_, err = proof.ParseJWKS([]byte(leaked))
		require.ErrorContains(t, err, "private key")
	})
	t.Run("nonsense", func(t *testing.T) {
		t.Parallel()
		for _, raw := range []string{``, `[]`, `{"keys":[{"kty":"EC"}]}`} {
			_, err := proof.ParseJWKS([]byte(raw))
			require.Error(t, err, raw)
		}
	})
}

// FuzzVerify accepts no text but the one that was signed, and never panics.
func FuzzVerify(f *testing.F) {
	published := readSample(f)
	keys, err := proof.ParseJWKS(published.JWKS)
	require.NoError(f, err)
	parts := strings.Split(published.Proof, ".")
	f.Add(published.Proof)
	f.Add(published.Proof + "\n")
	f.Add(parts[0] + "." + parts[1] + "." + spareBits(parts[2]))
	f.Add(`{"payload":"` + parts[1] + `","protected":"` + parts[0] + `","signature":"` + parts[2] + `"}`)
	f.Add(b64(`{"alg":"none","typ":"poa+jwt"}`) + "." + parts[1] + ".AA")
	f.Fuzz(func(t *testing.T, text string) {
		_, err := proof.Verify(text, keys, at(issuedAt), proof.Expect{})
		require.Equal(t, text == published.Proof, err == nil)
		if err != nil {
			var refused *proof.Error
			require.ErrorAs(t, err, &refused)
			require.True(t, reason.Known(refused.Code))
		}
	})
}
