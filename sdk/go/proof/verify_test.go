package proof_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/sdk/go/proof"
)

var b64 = base64.RawURLEncoding

// issuer signs what a test wants signed.
type issuer struct {
	key *ecdsa.PrivateKey
	kid string
}

func newIssuer(t *testing.T, kid string) *issuer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	return &issuer{key, kid}
}

func (i *issuer) header() string {
	return fmt.Sprintf(`{"alg":"ES256","kid":%q,"typ":"poa+jwt"}`, i.kid)
}

func (i *issuer) sign(t *testing.T, header, claims string) string {
	t.Helper()
	input := b64.EncodeToString([]byte(header)) + "." + b64.EncodeToString([]byte(claims))
	digest := sha256.Sum256([]byte(input))
	r, s, err := ecdsa.Sign(rand.Reader, i.key, digest[:])
	require.NoError(t, err)
	return input + "." + b64.EncodeToString(append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...))
}

func (i *issuer) jwk(t *testing.T) string {
	t.Helper()
	raw, err := i.key.PublicKey.Bytes()
	require.NoError(t, err)
	return fmt.Sprintf(`{"kty":"EC","crv":"P-256","alg":"ES256","use":"sig","kid":%q,"x":%q,"y":%q}`, i.kid, b64.EncodeToString(raw[1:33]), b64.EncodeToString(raw[33:]))
}

// static is a key set that is there already.
type static map[string]*ecdsa.PublicKey

func (s static) Key(_ context.Context, kid string) (*ecdsa.PublicKey, error) {
	if key, ok := s[kid]; ok {
		return key, nil
	}
	return nil, &proof.Error{Code: "proof_key_unknown"}
}

const now = 1795231300

func claims(change func(map[string]any)) string {
	c := map[string]any{
		"iss": "https://countersign.example", "sub": "user-1", "aud": "bank.example", "iat": now - 10, "nbf": now - 10, "exp": now + 290,
		"jti": "prf_1", "nonce": "0123456789abcdef", "env": "env_1", "env_kind": "live", "mode": "enforce", "azn": "azn_1",
		"act": map[string]any{"key": "payments.transfer", "hash": "sha256:a", "policy_version": 3, "content_hash": "sha256:c"},
		"res": map[string]any{"type": "account", "digest": digestOf("account", "acc-1")}, "ctx": contextOf(map[string]any{"amount": 10}),
		"assurance": map[string]any{"coverage": "sufficient", "freshness_ms": nil, "claims": map[string]string{}}, "amr": []string{"behaviour"},
	}
	if change != nil {
		change(c)
	}
	text, _ := json.Marshal(c)
	return string(text)
}

func digestOf(kind, id string) string { d, _ := proof.ResourceDigest(kind, id); return d }

func contextOf(c map[string]any) string { d, _ := proof.ContextDigest(c); return d }

func verifier(keys proof.Keys) *proof.Verifier {
	return &proof.Verifier{Keys: keys, Issuer: "https://countersign.example", Environment: "env_1", Audience: "bank.example",
		Now: func() time.Time { return time.Unix(now, 0) }}
}

var expected = proof.Expect{Action: "payments.transfer", Subject: "user-1", ResourceType: "account", ResourceID: "acc-1",
	Nonce: "0123456789abcdef", Context: contextOf(map[string]any{"amount": 10}), ActionHash: "sha256:a"}

func requireCode(t *testing.T, err error, code string) {
	t.Helper()
	var refused *proof.Error
	require.ErrorAs(t, err, &refused)
	require.Equal(t, code, refused.Code)
}

func TestAProofForTheRequestIsTaken(t *testing.T) {
	t.Parallel()
	i := newIssuer(t, "k1")
	c, err := verifier(static{"k1": &i.key.PublicKey}).Verify(t.Context(), i.sign(t, i.header(), claims(nil)), expected)
	require.NoError(t, err)
	require.Equal(t, "prf_1", c.ID)
	require.Equal(t, []string{"behaviour"}, c.Methods)
}

func TestAProofForAnythingElseIsRefused(t *testing.T) {
	t.Parallel()
	i := newIssuer(t, "k1")
	v := verifier(static{"k1": &i.key.PublicKey})
	in := func(name, key string, value any) func(map[string]any) {
		return func(c map[string]any) { c[name].(map[string]any)[key] = value }
	}
	set := func(name string, value any) func(map[string]any) { return func(c map[string]any) { c[name] = value } }
	for name, tc := range map[string]struct {
		change func(map[string]any)
		code   string
	}{
		"issuer":      {set("iss", "https://evil.example"), "proof_issuer_mismatch"},
		"environment": {set("env", "env_sandbox"), "proof_environment_mismatch"},
		"audience":    {set("aud", "shop.example"), "proof_audience_mismatch"},
		"action":      {in("act", "key", "payments.view"), "proof_action_mismatch"},
		"hash":        {in("act", "hash", "sha256:b"), "proof_action_mismatch"},
		"subject":     {set("sub", "user-2"), "proof_action_mismatch"},
		"context":     {set("ctx", contextOf(map[string]any{"amount": 10000})), "proof_action_mismatch"},
		"resource":    {in("res", "digest", digestOf("account", "acc-2")), "proof_resource_mismatch"},
		"nonce":       {set("nonce", "fedcba9876543210"), "proof_nonce_mismatch"},
		"early":       {set("nbf", now+1), "proof_not_yet_valid"},
		"late":        {set("exp", now), "proof_expired"},
		"several aud": {set("aud", []string{"bank.example"}), "proof_claims_invalid"},
		"no jti":      {set("jti", ""), "proof_claims_invalid"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := v.Verify(t.Context(), i.sign(t, i.header(), claims(tc.change)), expected)
			requireCode(t, err, tc.code)
		})
	}
}

func TestFormAndHeaderAreHeldStrictly(t *testing.T) {
	t.Parallel()
	i := newIssuer(t, "k1")
	v := verifier(static{"k1": &i.key.PublicKey})
	good := i.sign(t, i.header(), claims(nil))
	body := claims(nil)
	last := good[len(good)-1]
	for name, tc := range map[string]struct{ text, code string }{
		"nothing":               {"", "proof_malformed"},
		"two parts":             {good[:strings.LastIndexByte(good, '.')], "proof_malformed"},
		"white space":           {good + "\n", "proof_malformed"},
		"padding":               {good + "=", "proof_malformed"},
		"another spelling":      {good[:len(good)-1] + string(last+1), "proof_malformed"},
		"JSON serialization":    {`{"payload":"e30","signatures":[]}`, "proof_malformed"},
		"too long":              {strings.Repeat("a", 9000) + ".a.a", "proof_malformed"},
		"alg none":              {i.sign(t, `{"alg":"none","kid":"k1","typ":"poa+jwt"}`, body), "proof_algorithm_invalid"},
		"alg HS256":             {i.sign(t, `{"alg":"HS256","kid":"k1","typ":"poa+jwt"}`, body), "proof_algorithm_invalid"},
		"another typ":           {i.sign(t, `{"alg":"ES256","kid":"k1","typ":"JWT"}`, body), "proof_type_invalid"},
		"no typ":                {i.sign(t, `{"alg":"ES256","kid":"k1"}`, body), "proof_type_invalid"},
		"a key of its own":      {i.sign(t, `{"alg":"ES256","kid":"k1","typ":"poa+jwt","jku":"https://evil.example"}`, body), "proof_header_invalid"},
		"crit":                  {i.sign(t, `{"alg":"ES256","crit":["b64"],"kid":"k1","typ":"poa+jwt"}`, body), "proof_malformed"},
		"a name twice":          {i.sign(t, `{"alg":"none","alg":"ES256","kid":"k1","typ":"poa+jwt"}`, body), "proof_malformed"},
		"something after":       {i.sign(t, i.header()+"{}", body), "proof_malformed"},
		"an unknown key":        {i.sign(t, `{"alg":"ES256","kid":"k2","typ":"poa+jwt"}`, body), "proof_key_unknown"},
		"altered claims":        {strings.Split(good, ".")[0] + "." + b64.EncodeToString([]byte(claims(func(c map[string]any) { c["sub"] = "user-2" }))) + "." + strings.Split(good, ".")[2], "proof_signature_invalid"},
		"another issuer's":      {newIssuer(t, "k1").sign(t, i.header(), body), "proof_signature_invalid"},
		"a signature of zeroes": {good[:strings.LastIndexByte(good, '.')+1] + b64.EncodeToString(make([]byte, 64)), "proof_signature_invalid"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := v.Verify(t.Context(), tc.text, expected)
			requireCode(t, err, tc.code)
		})
	}
}

func TestLeewayIsBounded(t *testing.T) {
	t.Parallel()
	i := newIssuer(t, "k1")
	v := verifier(static{"k1": &i.key.PublicKey})
	v.Leeway = time.Hour
	at := func(exp int) error {
		_, err := v.Verify(t.Context(), i.sign(t, i.header(), claims(func(c map[string]any) { c["nbf"], c["exp"] = now-120, exp })), expected)
		return err
	}
	require.NoError(t, at(now-59))
	requireCode(t, at(now-60), "proof_expired")
}

func TestAVerifierSaysWhatItLacks(t *testing.T) {
	t.Parallel()
	_, err := (&proof.Verifier{}).Verify(t.Context(), "a.b.c", proof.Expect{})
	require.ErrorContains(t, err, "must be set")
	for name, clear := range map[string]func(*proof.Expect){
		"Action":       func(x *proof.Expect) { x.Action = "" },
		"Subject":      func(x *proof.Expect) { x.Subject = "" },
		"ResourceType": func(x *proof.Expect) { x.ResourceType = "" },
		"ResourceID":   func(x *proof.Expect) { x.ResourceID = "" },
		"Context":      func(x *proof.Expect) { x.Context = "" },
	} {
		x := expected
		clear(&x)
		_, err := verifier(static{}).Verify(t.Context(), "a.b.c", x)
		require.ErrorContains(t, err, "Expect."+name+" must be set", name)
	}
}

// An unbound expectation leaves out what is empty and compares the rest.
func TestAnUnboundExpectationComparesWhatItHas(t *testing.T) {
	t.Parallel()
	i := newIssuer(t, "k1")
	v, compact := verifier(static{"k1": &i.key.PublicKey}), i.sign(t, i.header(), claims(nil))
	_, err := v.Verify(t.Context(), compact, proof.Unbound(proof.Expect{Action: expected.Action}))
	require.NoError(t, err)
	for name, x := range map[string]proof.Expect{
		"subject":  {Subject: "user-2"},
		"context":  {Context: contextOf(map[string]any{"amount": 11})},
		"resource": {ResourceType: "account", ResourceID: "acc-2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x.Action = expected.Action
			_, err := v.Verify(t.Context(), compact, proof.Unbound(x))
			require.Error(t, err)
		})
	}
	_, err = v.Verify(t.Context(), compact, proof.Unbound(proof.Expect{}))
	require.ErrorContains(t, err, "Expect.Action must be set")
}

// The sample and the vectors are those of docs/proof.md, which the service's own tests hold too.
func TestTheDocumentedSampleVerifies(t *testing.T) {
	t.Parallel()
	var sample struct {
		Proof string
		JWKS  json.RawMessage
	}
	read(t, "testdata/sample.json", &sample)
	keys, err := proof.ParseJWKS(sample.JWKS)
	require.NoError(t, err)
	c, err := verifier(static(keys)).Verify(t.Context(), sample.Proof, proof.Unbound(proof.Expect{Action: "payments.transfer"}))
	require.NoError(t, err)
	require.Equal(t, "prf_1", c.ID)
}

func TestActionHashFollowsTheRecipe(t *testing.T) {
	t.Parallel()
	var vectors []struct {
		Name     string
		Document struct {
			Action struct {
				Key           string
				PolicyVersion int64  `json:"policy_version"`
				ContentHash   string `json:"content_hash"`
			}
			Subject                      string
			Actor                        *struct{ ID string }
			Resource                     struct{ Type, ID string }
			Audience, Nonce, Environment string
			Context                      map[string]any
		}
		Hash string `json:"action_hash"`
	}
	read(t, "testdata/action_hash_vectors.json", &vectors)
	require.NotEmpty(t, vectors)
	for _, v := range vectors {
		d := v.Document
		r := proof.Request{Action: d.Action.Key, PolicyVersion: d.Action.PolicyVersion, ContentHash: d.Action.ContentHash, Subject: d.Subject,
			ResourceType: d.Resource.Type, ResourceID: d.Resource.ID, Audience: d.Audience, Nonce: d.Nonce, Environment: d.Environment, Context: d.Context}
		if d.Actor != nil {
			r.Actor = d.Actor.ID
		}
		hash, err := proof.ActionHash(r)
		require.NoError(t, err)
		require.Equal(t, v.Hash, hash, v.Name)
	}
}

func read(t *testing.T, path string, out any) {
	t.Helper()
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(raw, out))
}

func TestKeysOffTheCurveAreRefused(t *testing.T) {
	t.Parallel()
	x := b64.EncodeToString(big.NewInt(1).FillBytes(make([]byte, 32)))
	off := fmt.Sprintf(`{"kty":"EC","crv":"P-256","kid":"k","x":%q,"y":%q}`, x, x)
	set, err := proof.ParseJWKS([]byte(`{"keys":[{"kty":"RSA","kid":"r"},{"kty":"EC","crv":"P-256","kid":"e","use":"enc"},` + off + `]}`))
	require.NoError(t, err)
	require.Empty(t, set)
	set, err = proof.ParseJWKS([]byte(`{"keys":[` + off + `,` + newIssuer(t, "good").jwk(t) + `]}`))
	require.NoError(t, err)
	require.Len(t, set, 1, "the other keys of the set are used")
	require.Contains(t, set, "good")
}

func TestTheKeySetIsFetchedOnceAndAgainForANewKey(t *testing.T) {
	t.Parallel()
	first, second := newIssuer(t, "k1"), newIssuer(t, "k2")
	var fetches atomic.Int32
	var published atomic.Value
	published.Store(first.jwk(t))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		require.Equal(t, "/.well-known/service-proof-keys.json", r.URL.Path)
		fetches.Add(1)
		w.Header().Set("Cache-Control", "public, max-age=300")
		_, _ = fmt.Fprintf(w, `{"keys":[%s]}`, published.Load())
	}))
	clock := time.Unix(now, 0)
	remote := proof.NewRemoteAt(server.URL, nil, func() time.Time { return clock })

	for range 3 {
		_, err := remote.Key(t.Context(), "k1")
		require.NoError(t, err)
	}
	require.EqualValues(t, 1, fetches.Load())

	published.Store(first.jwk(t) + "," + second.jwk(t))
	_, err := remote.Key(t.Context(), "k2")
	requireCode(t, err, "proof_key_unknown")
	require.EqualValues(t, 1, fetches.Load(), "an unknown kid right after a fetch causes none")
	clock = clock.Add(11 * time.Second)
	_, err = remote.Key(t.Context(), "k2")
	require.NoError(t, err)
	require.EqualValues(t, 2, fetches.Load())

	server.Close()
	clock = clock.Add(time.Hour)
	_, err = remote.Key(t.Context(), "k1")
	require.NoError(t, err, "a known key remains usable while the service is unavailable")
	_, err = remote.Key(t.Context(), "k3")
	requireUnavailable(t, err)
}

// requireUnavailable requires an error that is not a refusal: missing keys do not make the proof invalid.
func requireUnavailable(t *testing.T, err error) {
	t.Helper()
	require.Error(t, err)
	var refused *proof.Error
	require.False(t, errors.As(err, &refused), "%v", err)
}

// published is a service whose key set can be changed and made unavailable.
type published struct {
	*proof.Remote
	fetches atomic.Int32
	answer  atomic.Value // of http.HandlerFunc
	clock   time.Time
}

func publish(t *testing.T, keys ...*issuer) *published {
	t.Helper()
	p := &published{clock: time.Unix(now, 0)}
	p.set(t, keys...)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.fetches.Add(1)
		p.answer.Load().(http.HandlerFunc)(w, r)
	}))
	t.Cleanup(server.Close)
	p.Remote = proof.NewRemoteAt(server.URL, nil, func() time.Time { return p.clock })
	return p
}

func (p *published) set(t *testing.T, keys ...*issuer) {
	t.Helper()
	var texts []string
	for _, k := range keys {
		texts = append(texts, k.jwk(t))
	}
	p.answer.Store(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Cache-Control", "public, max-age=300")
		_, _ = fmt.Fprintf(w, `{"keys":[%s]}`, strings.Join(texts, ","))
	}))
}

func (p *published) fail() {
	p.answer.Store(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }))
}

// publishLongAgo publishes the key k1, which is fetched and must be fetched again, and fails from then on.
func publishLongAgo(t *testing.T) *published {
	t.Helper()
	p := publish(t, newIssuer(t, "k1"))
	_, err := p.Key(t.Context(), "k1")
	require.NoError(t, err)
	p.fail()
	p.clock = p.clock.Add(301 * time.Second)
	return p
}

func TestAFailedFetchIsNotRepeatedAtOnce(t *testing.T) {
	t.Parallel()
	p := publishLongAgo(t)
	for n := range 20 {
		_, err := p.Key(t.Context(), "k1")
		require.NoError(t, err)
		_, err = p.Key(t.Context(), fmt.Sprintf("forged-%d", n))
		requireUnavailable(t, err)
	}
	require.EqualValues(t, 2, p.fetches.Load())
	p.clock = p.clock.Add(10 * time.Second)
	_, err := p.Key(t.Context(), "forged")
	requireUnavailable(t, err)
	require.EqualValues(t, 3, p.fetches.Load())
}

func TestAKnownKeyDoesNotWaitForAServiceThatHangs(t *testing.T) {
	t.Parallel()
	p := publishLongAgo(t)
	_, err := p.Key(t.Context(), "k1")
	require.NoError(t, err)

	hangs := make(chan struct{})
	p.answer.Store(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hangs }))
	t.Cleanup(func() { close(hangs) })
	p.clock = p.clock.Add(10 * time.Second)
	waiting := make(chan error, 20)
	ctx, cancel := context.WithCancel(t.Context())
	for n := range cap(waiting) {
		go func() {
			_, err := p.Key(ctx, fmt.Sprintf("unknown-%d", n))
			waiting <- err
		}()
	}
	require.Eventually(t, func() bool { return p.fetches.Load() == 3 }, 4*time.Second, time.Millisecond)
	start := time.Now()
	for range 100 {
		_, err = p.Key(t.Context(), "k1")
		require.NoError(t, err)
	}
	require.Less(t, time.Since(start), 2*time.Second)
	cancel()
	for range cap(waiting) {
		require.ErrorIs(t, <-waiting, context.Canceled)
	}
	require.EqualValues(t, 3, p.fetches.Load(), "all wait for the same fetch")
}

func TestACallerThatLeavesDoesNotEndTheFetchOfTheOthers(t *testing.T) {
	t.Parallel()
	p := publish(t)
	arrived, release := make(chan struct{}), make(chan struct{})
	k1 := newIssuer(t, "k1")
	p.answer.Store(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(arrived)
		<-release
		_, _ = fmt.Fprintf(w, `{"keys":[%s]}`, k1.jwk(t))
	}))
	ctx, cancel := context.WithCancel(t.Context())
	first, second := make(chan error, 1), make(chan error, 1)
	go func() { _, err := p.Key(ctx, "k1"); first <- err }()
	<-arrived
	go func() { _, err := p.Key(t.Context(), "k1"); second <- err }()
	cancel()
	require.ErrorIs(t, <-first, context.Canceled)
	close(release)
	require.NoError(t, <-second)
	require.EqualValues(t, 1, p.fetches.Load())
}

func TestAKeyEndsAnHourAfterTheLastFetch(t *testing.T) {
	t.Parallel()
	k1, k2 := newIssuer(t, "k1"), newIssuer(t, "k2")
	p := publish(t, k1, k2)
	key := func(kid string) error { _, err := p.Key(t.Context(), kid); return err }
	require.NoError(t, key("k1"))
	p.fail()
	p.clock = p.clock.Add(time.Hour)
	require.NoError(t, key("k1"))
	p.clock = p.clock.Add(time.Second)
	requireUnavailable(t, key("k1"))
	p.set(t, k2)
	require.NoError(t, key("k2"))
	requireCode(t, key("k1"), "proof_key_unknown")
}

// Digests are over what the client sends: the same value, encoded and decoded, has the same digest.
func TestDigestsCoverWhatJSONSends(t *testing.T) {
	t.Parallel()
	type money struct {
		Cents  int    `json:"cents"`
		Note   string `json:"note,omitempty"`
		Masked string `json:"-"`
		hidden int
		Amount float64
	}
	for name, context := range map[string]map[string]any{
		"a struct":   {"a": money{Cents: 1, Masked: "x", hidden: 2, Amount: 1.50}},
		"a pointer":  {"a": &money{Note: "n"}, "b": (*money)(nil)},
		"a time":     {"a": time.Date(2026, 3, 1, 12, 0, 0, 1, time.FixedZone("x", 3600))},
		"a duration": {"a": time.Second},
		"bytes":      {"a": []byte{0, 255}},
		"nil lists":  {"a": []string(nil), "b": map[string]int(nil)},
		"numbers":    {"a": math.Copysign(0, -1), "b": json.Number("1.0"), "c": float32(0.1), "d": 1e21},
		"raw JSON":   {"a": json.RawMessage(`{ "b": 1, "a": [ ] }`)},
		"other keys": {"a": map[int]string{10: "x", 9: "y"}},
		"HTML":       {"a": "<&>\u2028"},
		"not UTF-8":  {"a": "\xff"},
		"embedded":   {"a": struct{ money }{money{Cents: 3}}},
		"a text of one": {"a": struct {
			N int `json:",string"`
		}{7}},
	} {
		sent, err := json.Marshal(context)
		require.NoError(t, err, name)
		var received map[string]any
		require.NoError(t, json.Unmarshal(sent, &received))
		want, err := proof.ContextDigest(received)
		require.NoError(t, err)
		got, err := proof.ContextDigest(context)
		require.NoError(t, err)
		require.Equal(t, want, got, name)
	}
	for name, context := range map[string]map[string]any{
		"NaN":                  {"a": math.NaN()},
		"infinity":             {"a": math.Inf(-1)},
		"a channel":            {"a": make(chan int)},
		"a name twice":         {"a": json.RawMessage(`{"b": 1, "b": 2}`)},
		"names that are equal": {"a": map[string]int{"\xff": 1, "\xfe": 2}},
		"no number":            {"a": json.Number("one")},
	} {
		_, err := proof.ActionHash(proof.Request{Context: context})
		require.Error(t, err, name)
	}
}
