// Package issuer is a service for tests of gates that allows every request and signs its proof with a key of its own.
package issuer

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"

	countersign "github.com/countersign-dev/countersign/sdk/go"
	"github.com/countersign-dev/countersign/sdk/go/proof"
)

// Issuer, Environment and Audience are those of its proofs.
const (
	Issuer      = "https://countersign.example"
	Environment = "env_1"
	Audience    = "bank.example"
)

// Service is a running issuer. Set its fields before the first request.
type Service struct {
	*httptest.Server

	Mode    countersign.Mode                      // of its decisions; empty is enforce
	Alter   func(claims map[string]any)           // changes the claims of a proof before it is signed
	Forge   bool                                  // signs with a key that it does not publish
	Consume func(w http.ResponseWriter) (ok bool) // replaces the response to a verification, unless it returns true
	Keys    http.HandlerFunc                      // replaces the key set

	key, forger *ecdsa.PrivateKey
	mu          sync.Mutex
	consumed    map[string]bool
	issued      map[string]map[string]any // claims by proof
}

// New starts a service; close it after the test.
func New() *Service {
	s := &Service{key: newKey(), forger: newKey(), consumed: map[string]bool{}, issued: map[string]map[string]any{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/v1/authorize", s.authorize)
	mux.HandleFunc("POST /api/v1/verify", s.verify)
	mux.HandleFunc("GET /.well-known/service-proof-keys.json", s.keys)
	s.Server = httptest.NewServer(mux)
	return s
}

// Verifier verifies the proofs of the service.
func (s *Service) Verifier() *proof.Verifier {
	return &proof.Verifier{Keys: proof.NewRemote(s.URL, nil), Issuer: Issuer, Environment: Environment, Audience: Audience}
}

// Consumed returns how many proofs were consumed.
func (s *Service) Consumed() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.consumed)
}

func newKey() *ecdsa.PrivateKey {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	return key
}

func (s *Service) authorize(w http.ResponseWriter, r *http.Request) {
	var ask countersign.AuthorizeRequest
	if err := json.NewDecoder(r.Body).Decode(&ask); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	mode := s.Mode
	if mode == "" {
		mode = countersign.ModeEnforce
	}
	var compact, id any
	if mode == countersign.ModeEnforce {
		compact, id = s.issue(ask)
	}
	respond(w, map[string]any{
		"id": "azn_1", "decision": "allow", "mode": mode, "action": ask.Action, "action_hash": "sha256:0", "environment": Environment,
		"policy_version": 1, "reason_codes": []string{}, "human_readable": map[string]string{"status": "s", "detail": "Done."}, "trace_id": "t",
		"decided_at": time.Now().UTC(), "latency_ms": 1, "challenge": nil, "proof": compact, "proof_id": id,
		"assurance": map[string]any{
			"id": "prl_1", "subject": ask.Subject, "assessed_at": time.Now().UTC(), "model_version": "m", "rule_version": "r",
			"feature_schema_version": "f", "claims": []any{}, "coverage": "none", "insufficient_evidence": true,
		},
	})
}

// issue signs the proof of a request.
func (s *Service) issue(ask countersign.AuthorizeRequest) (compact, id string) {
	resource, _ := proof.ResourceDigest(ask.Resource.Type, ask.Resource.ID)
	context, _ := proof.ContextDigest(ask.Context)
	now := time.Now().Unix()
	id = "prf_" + rand.Text()
	claims := map[string]any{
		"iss": Issuer, "sub": ask.Subject, "aud": ask.Audience, "iat": now, "nbf": now, "exp": now + 300, "jti": id, "nonce": ask.Nonce,
		"env": Environment, "env_kind": "sandbox", "mode": "enforce", "azn": "azn_1",
		"act":       map[string]any{"key": ask.Action, "hash": "sha256:0", "policy_version": 1, "content_hash": "sha256:c"},
		"res":       map[string]any{"type": ask.Resource.Type, "digest": resource},
		"ctx":       context,
		"assurance": map[string]any{"coverage": "none", "freshness_ms": nil, "claims": map[string]any{}}, "amr": []string{},
	}
	if s.Alter != nil {
		s.Alter(claims)
	}
	key := s.key
	if s.Forge {
		key = s.forger
	}
	compact = sign(key, claims)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.issued[compact] = claims
	return compact, id
}

func sign(key *ecdsa.PrivateKey, claims map[string]any) string {
	text, _ := json.Marshal(claims)
	input := encode([]byte(`{"alg":"ES256","kid":"k1","typ":"poa+jwt"}`)) + "." + encode(text)
	digest := sha256.Sum256([]byte(input))
	r, v, err := ecdsa.Sign(rand.Reader, key, digest[:])
	if err != nil {
		panic(err)
	}
	return input + "." + encode(append(r.FillBytes(make([]byte, 32)), v.FillBytes(make([]byte, 32))...))
}

func (s *Service) verify(w http.ResponseWriter, r *http.Request) {
	var ask countersign.ProofVerifyRequest
	if err := json.NewDecoder(r.Body).Decode(&ask); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if s.Consume != nil && !s.Consume(w) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	again := s.consumed[ask.Proof]
	s.consumed[ask.Proof] = true
	reasons := []string{}
	if again {
		reasons = append(reasons, "proof_consumed")
	}
	respond(w, map[string]any{
		"valid": !again, "status": "consumed", "reason_codes": reasons, "unchecked": []string{"subject", "context"}, "claims": s.issued[ask.Proof],
	})
}

func (s *Service) keys(w http.ResponseWriter, r *http.Request) {
	switch {
	case s.Keys != nil:
		s.Keys(w, r)
	case r.URL.Query().Get("issuer") != Issuer:
		respond(w, map[string]any{"keys": []any{}})
	default:
		coordinate := func(n *big.Int) string { return encode(n.FillBytes(make([]byte, 32))) }
		respond(w, map[string]any{"keys": []any{map[string]string{
			"kty": "EC", "crv": "P-256", "alg": "ES256", "use": "sig", "kid": "k1", "x": coordinate(s.key.X), "y": coordinate(s.key.Y),
		}}})
	}
}

func respond(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(v); err != nil {
		panic(fmt.Sprintf("issuer: %v", err))
	}
}

func encode(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }
