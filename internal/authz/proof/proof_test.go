package proof_test

import (
	"crypto/ecdsa"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/lestrrat-go/jwx/v2/jwa"
	"github.com/lestrrat-go/jwx/v2/jws"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/countersign-dev/countersign/internal/authz/proof"
	"github.com/countersign-dev/countersign/internal/platform/canonical"
	"github.com/countersign-dev/countersign/internal/platform/keys/software"
	"github.com/countersign-dev/countersign/internal/platform/reason"
)

const issuedAt = 1_795_231_234

func newSigner(t testing.TB) *proof.Signer {
	t.Helper()
	key, err := software.Generate()
	require.NoError(t, err)
	signer, err := proof.NewSigner(software.Of(key))
	require.NoError(t, err)
	return signer
}

func keysOf(signers ...*proof.Signer) proof.KeySet {
	keys := proof.KeySet{}
	for _, s := range signers {
		keys[s.KeyID()] = s.Public()
	}
	return keys
}

func claims(t testing.TB) proof.Claims {
	t.Helper()
	resource, err := canonical.ResourceDigest("account", "acc_1")
	require.NoError(t, err)
	context, err := canonical.ContextDigest(nil)
	require.NoError(t, err)
	freshness := int64(1200)
	return proof.Claims{
		Issuer: "https://countersign.example", Subject: "user-1", Audience: "bank.example",
		IssuedAt: issuedAt, NotBefore: issuedAt, Expires: issuedAt + 300, ID: "prf_1", Nonce: "0123456789abcdef",
		Environment: "env_1", EnvironmentKind: "live", Mode: "enforce", Authorization: "azn_1",
		Action:    proof.Action{Key: "payments.transfer", Hash: "sha256:aa", PolicyVersion: 3, ContentHash: "sha256:bb"},
		Resource:  proof.Resource{Type: "account", Digest: resource},
		Context:   context,
		Assurance: proof.Assurance{Coverage: "sufficient", FreshnessMS: &freshness, Claims: map[string]string{"operator_continuity": "confirmed"}},
		Methods:   []string{proof.MethodBehaviour},
	}
}

func at(seconds int64) time.Time { return time.Unix(seconds, 0) }

func requireCode(t require.TestingT, code string, err error) {
	var refused *proof.Error
	require.ErrorAs(t, err, &refused)
	require.Equal(t, code, refused.Code, refused.Msg)
	require.True(t, reason.Known(refused.Code))
}

func TestSignAndVerify(t *testing.T) {
	t.Parallel()
	signer, other := newSigner(t), newSigner(t)
	want := claims(t)
	compact, err := signer.Sign(t.Context(), want)
	require.NoError(t, err)
	got, err := proof.Verify(compact, keysOf(other, signer), at(issuedAt), proof.Expect{
		Issuer: want.Issuer, Audience: want.Audience, Environment: "env_1", Action: "payments.transfer",
		ResourceType: "account", ResourceID: "acc_1", Nonce: want.Nonce,
	})
	require.NoError(t, err)
	require.Equal(t, want, got)
}

// TestWireForm pins the exact header and claim names relying parties read.
func TestWireForm(t *testing.T) {
	t.Parallel()
	signer := newSigner(t)
	compact, err := signer.Sign(t.Context(), claims(t))
	require.NoError(t, err)
	parts := strings.Split(compact, ".")
	require.Len(t, parts, 3)
	require.JSONEq(t, `{"alg":"ES256","typ":"poa+jwt","kid":"`+signer.KeyID()+`"}`, decode(t, parts[0]))
	require.JSONEq(t, `{"iss":"https://countersign.example","sub":"user-1","aud":"bank.example","iat":1795231234,"nbf":1795231234,
		"exp":1795231534,"jti":"prf_1","nonce":"0123456789abcdef","env":"env_1","env_kind":"live","mode":"enforce","azn":"azn_1",
		"act":{"key":"payments.transfer","hash":"sha256:aa","policy_version":3,"content_hash":"sha256:bb"},
		"res":{"type":"account","digest":"`+claims(t).Resource.Digest+`"},
		"ctx":"sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a",
		"assurance":{"coverage":"sufficient","freshness_ms":1200,"claims":{"operator_continuity":"confirmed"}},
		"amr":["behaviour"]}`, decode(t, parts[1]))
}

func decode(t testing.TB, part string) string {
	t.Helper()
	raw, err := base64.RawURLEncoding.DecodeString(part)
	require.NoError(t, err)
	return string(raw)
}

// TestVerifyAgreesWithJWX verifies our signatures with jwx and ours with what jwx signed.
func TestVerifyAgreesWithJWX(t *testing.T) {
	t.Parallel()
	key, err := software.Generate()
	require.NoError(t, err)
	signer, err := proof.NewSigner(software.Of(key))
	require.NoError(t, err)
	for range 64 { // short r or s must be padded: about one signature in 128 has one
		compact, err := signer.Sign(t.Context(), claims(t))
		require.NoError(t, err)
		payload, err := jws.Verify([]byte(compact), jws.WithKey(jwa.ES256, signer.Public()))
		require.NoError(t, err)
		require.JSONEq(t, decode(t, strings.Split(compact, ".")[1]), string(payload))
	}
	theirs := signWithJWX(t, key, claims(t), map[string]any{"typ": proof.Type, "kid": signer.KeyID()})
	_, err = proof.Verify(theirs, keysOf(signer), at(issuedAt), proof.Expect{})
	require.NoError(t, err)
}

func signWithJWX(t testing.TB, key *ecdsa.PrivateKey, payload any, members map[string]any) string {
	t.Helper()
	raw, err := json.Marshal(payload)
	require.NoError(t, err)
	headers := jws.NewHeaders()
	for name, value := range members {
		require.NoError(t, headers.Set(name, value))
	}
	out, err := jws.Sign(raw, jws.WithKey(jwa.ES256, key, jws.WithProtectedHeaders(headers)))
	require.NoError(t, err)
	return string(out)
}

func TestVerifyExpectations(t *testing.T) {
	t.Parallel()
	signer := newSigner(t)
	compact, err := signer.Sign(t.Context(), claims(t))
	require.NoError(t, err)
	for code, expect := range map[string]proof.Expect{
		reason.ProofIssuerMismatch:      {Issuer: "https://other.example"},
		reason.ProofAudienceMismatch:    {Audience: "bank.exampl"},
		reason.ProofEnvironmentMismatch: {Environment: "env_2"},
		reason.ProofActionMismatch:      {Action: "payments.Transfer"},
		reason.ProofResourceMismatch:    {ResourceType: "account", ResourceID: "acc_2"},
		reason.ProofNonceMismatch:       {Nonce: "0123456789abcdeF"},
	} {
		got, err := proof.Verify(compact, keysOf(signer), at(issuedAt), expect)
		requireCode(t, code, err)
		require.Equal(t, "prf_1", got.ID, "the claims come with a refusal of a genuine proof")
	}
	_, err = proof.Verify(compact, keysOf(signer), at(issuedAt), proof.Expect{ResourceType: "acc", ResourceID: "acc_1"})
	requireCode(t, reason.ProofResourceMismatch, err)
	_, err = proof.Verify(compact, keysOf(signer), at(issuedAt), proof.Expect{ResourceID: "acc_1"})
	requireCode(t, reason.ProofResourceMismatch, err)
}

func TestVerifyTimes(t *testing.T) {
	t.Parallel()
	signer := newSigner(t)
	compact, err := signer.Sign(t.Context(), claims(t))
	require.NoError(t, err)
	const exp = issuedAt + 300
	for _, tt := range []struct {
		now    time.Time
		leeway time.Duration
		code   string
	}{
		{at(issuedAt), 0, ""},
		{at(issuedAt).Add(-time.Millisecond), 0, reason.ProofNotYetValid},
		{at(exp).Add(-time.Millisecond), 0, ""},
		{at(exp), 0, reason.ProofExpired},
		{at(issuedAt - 60), time.Minute, ""},
		{at(issuedAt - 60).Add(-time.Millisecond), time.Minute, reason.ProofNotYetValid},
		{at(exp + 60).Add(-time.Millisecond), time.Minute, ""},
		{at(exp + 60), time.Minute, reason.ProofExpired},
		{at(exp + 60), time.Hour, reason.ProofExpired}, // no more than MaxLeeway
		{at(exp - 1), -time.Hour, ""},                  // no less than none
		{time.Time{}, 0, reason.ProofNotYetValid},
	} {
		got, err := proof.Verify(compact, keysOf(signer), tt.now, proof.Expect{Leeway: tt.leeway})
		if tt.code == "" {
			require.NoError(t, err, "%s, leeway %s", tt.now, tt.leeway)
			continue
		}
		requireCode(t, tt.code, err)
		require.Equal(t, "prf_1", got.ID)
	}
}

func TestSignRefusesIncompleteClaims(t *testing.T) {
	t.Parallel()
	signer := newSigner(t)
	for name, change := range map[string]func(*proof.Claims){
		"iss":            func(c *proof.Claims) { c.Issuer = "" },
		"aud":            func(c *proof.Claims) { c.Audience = "" },
		"jti":            func(c *proof.Claims) { c.ID = "" },
		"ctx":            func(c *proof.Claims) { c.Context = "" },
		"policy_version": func(c *proof.Claims) { c.Action.PolicyVersion = 0 },
		"amr":            func(c *proof.Claims) { c.Methods = nil },
		"iat":            func(c *proof.Claims) { c.IssuedAt = 0 },
		"nbf":            func(c *proof.Claims) { c.NotBefore = c.IssuedAt - 1 },
		"exp":            func(c *proof.Claims) { c.Expires = c.NotBefore + 29 },
		"nbf and exp":    func(c *proof.Claims) { c.Expires = c.NotBefore + 901 },
		"bytes long":     func(c *proof.Claims) { c.Subject = strings.Repeat("x", proof.MaxSize) },
	} {
		c := claims(t)
		change(&c)
		_, err := signer.Sign(t.Context(), c)
		require.ErrorContains(t, err, name)
	}
	_, err := proof.NewSigner(nil)
	require.Error(t, err)
	c := claims(t)
	c.Expires = c.NotBefore + 1<<55 + 300 // as nanoseconds in 64 bits this is 300 s
	_, err = signer.Sign(t.Context(), c)
	require.ErrorContains(t, err, "nbf and exp")
	c.Expires, c.Action.PolicyVersion = c.NotBefore+900, 1
	_, err = signer.Sign(t.Context(), c)
	require.NoError(t, err)
}

// TestLongestClaimsFit uses every length of the contract at its limit, in characters of four bytes.
func TestLongestClaimsFit(t *testing.T) {
	t.Parallel()
	wide := func(n int) string { return strings.Repeat("😀", n) }
	c := claims(t)
	c.Issuer, c.Subject, c.Audience = "https://"+strings.Repeat("i", 256), strings.Repeat("s", 128), wide(128)
	c.Nonce, c.Action.Key, c.Resource.Type = wide(128), strings.Repeat("a", 128), wide(64)
	for _, name := range []string{"operator_continuity", "human_presence", "automation", "evidence_replay", "operator_change", "agent_mandate"} {
		c.Assurance.Claims[name] = "insufficient_evidence"
	}
	c.Methods = []string{proof.MethodBehaviour, proof.MethodPasskey, proof.MethodSandboxConfirm, proof.MethodReview}
	compact, err := newSigner(t).Sign(t.Context(), c)
	require.NoError(t, err)
	require.Less(t, len(compact), 4096)
}

func TestPropertySignedVerifies(t *testing.T) {
	t.Parallel()
	signer := newSigner(t)
	keys := keysOf(signer)
	base := claims(t)
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringN(1, 60, 120)
		c := base
		c.Subject, c.Audience, c.Nonce = text.Draw(t, "sub"), text.Draw(t, "aud"), text.Draw(t, "nonce")
		c.Expires = c.NotBefore + rapid.Int64Range(30, 900).Draw(t, "ttl")
		compact, err := signer.Sign(t.Context(), c)
		require.NoError(t, err)
		if strings.Contains(c.Subject+c.Audience+c.Nonce, "\x00") {
			return // the API refuses NUL, so it never reaches a proof
		}
		now := at(c.NotBefore + rapid.Int64Range(0, c.Expires-c.NotBefore-1).Draw(t, "age"))
		got, err := proof.Verify(compact, keys, now, proof.Expect{Audience: c.Audience, Nonce: c.Nonce})
		require.NoError(t, err)
		require.Equal(t, c, got)
	})
}

func BenchmarkSign(b *testing.B) {
	signer, c := newSigner(b), claims(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := signer.Sign(b.Context(), c); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSignWithJWX(b *testing.B) {
	key, err := software.Generate()
	require.NoError(b, err)
	c := claims(b)
	b.ReportAllocs()
	for b.Loop() {
		signWithJWX(b, key, c, map[string]any{"typ": proof.Type, "kid": "k"})
	}
}

func BenchmarkVerify(b *testing.B) {
	signer := newSigner(b)
	compact, err := signer.Sign(b.Context(), claims(b))
	require.NoError(b, err)
	keys := keysOf(signer)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := proof.Verify(compact, keys, at(issuedAt), proof.Expect{}); err != nil {
			b.Fatal(err)
		}
	}
}
