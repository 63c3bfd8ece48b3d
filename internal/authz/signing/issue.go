package signing

import (
	"context"
	"crypto/ecdsa"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/countersign-dev/countersign/internal/authz/proof"
	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/platform/store"
	"github.com/countersign-dev/countersign/models"
)

// Findings say what a proof contains beside the columns of its decision and of its own row.
type Findings struct {
	Kind        string // of the environment
	ByEvidence  bool   // the decision is based on behaviour
	Subject     string // the relying party's id
	FreshnessMS *int64
	Statuses    map[string]string // by claim of the assurance profile
}

// Issue signs the proof of a decision, which is valid for a number of seconds, and returns its row and its compact form.
func (s *Service) Issue(ctx context.Context, q *store.Q, a *models.Authorization, f Findings, seconds int) (*models.Proof, string, error) {
	p := &models.Proof{
		JTI: ids.New(ids.Proof), TenantID: a.TenantID, EnvironmentID: a.EnvironmentID, AuthorizationID: a.ID, SubjectUID: a.SubjectUID,
		Audience: a.Audience, Status: models.ProofActive, IssuedAt: a.DecidedAt, ExpiresAt: time.Unix(a.DecidedAt.Unix()+int64(seconds), 0).UTC(),
	}
	compact, kid, err := s.Sign(ctx, q, store.Scope{Tenant: a.TenantID, Environment: a.EnvironmentID}, claimsOf(a, p, f, s.baseURL))
	if err != nil {
		return nil, "", err
	}
	p.KID = kid
	if q.ReadsSignatures(ctx, a.DecidedAt) {
		p.Sealed, err = s.sealSignature(a.ID, compact, f)
	} else {
		p.Sealed, err = s.SealProof(a.ID, compact)
	}
	return p, compact, err
}

// claimsOf returns the claims of a decision's proof. It has to return the same of the stored rows for as long as they are kept, since only
// the signature is stored with them.
func claimsOf(a *models.Authorization, p *models.Proof, f Findings, baseURL string) proof.Claims {
	issued := p.IssuedAt.Unix()
	return proof.Claims{
		Issuer: baseURL + "/" + a.EnvironmentID, Subject: f.Subject, Audience: a.Audience, IssuedAt: issued, NotBefore: issued,
		Expires: p.ExpiresAt.Unix(), ID: p.JTI, Nonce: a.Nonce, Environment: a.EnvironmentID, EnvironmentKind: f.Kind, Mode: string(a.Mode),
		Authorization: a.ID,
		Action:        proof.Action{Key: a.ActionKey, Hash: a.ActionHash, PolicyVersion: a.PolicyVersion, ContentHash: a.PolicyHash},
		Resource:      proof.Resource{Type: a.ResourceType, Digest: a.ResourceDigest}, Context: a.ContextDigest,
		Assurance: proof.Assurance{Coverage: a.Coverage, FreshnessMS: f.FreshnessMS, Claims: f.Statuses},
		Methods:   methods(a, f.ByEvidence),
	}
}

// methods returns the amr of the proof: what the decision is based on. It is empty, not nil, if the policy required nothing that
// is a method, such as coverage alone.
func methods(a *models.Authorization, byEvidence bool) []string {
	out := []string{}
	if byEvidence {
		out = append(out, proof.MethodBehaviour)
	}
	if a.ChallengeCompleted != nil {
		out = append(out, *a.ChallengeCompleted)
	}
	if a.HoldApproved {
		out = append(out, proof.MethodReview)
	}
	return out
}

// kinds are the kinds of environments by their number in stored proofs.
var kinds = []string{string(models.Sandbox), string(models.Live)}

// The stored form of a proof that is its signature alone: the version, the signature, a byte of flags, and the base URL of the issuer,
// which the settings may change. The rest stands in the rows. Version 1 is a compressed proof, e the compact form.
const (
	signatureVersion  = 2
	signatureSize     = 64
	flagEvidence      = 1 << 0
	kindShift         = 1 // the number of the environment's kind begins at this bit of the flags
	signatureOverhead = 1 + signatureSize + 1
)

// sealSignature encrypts the signature of the proof of an authorization, with the little else that the rows do not have.
func (s *Service) sealSignature(authorization, compact string, f Findings) ([]byte, error) {
	kind := slices.Index(kinds, f.Kind)
	if kind < 0 {
		return nil, fmt.Errorf("proof of authorization %s: the environment's kind %q has no number", authorization, f.Kind)
	}
	signature, err := proof.Signature(compact)
	if err != nil {
		return nil, err
	}
	flags := byte(kind << kindShift) // #nosec G115 -- an index of two kinds
	if f.ByEvidence {
		flags |= flagEvidence
	}
	plain := make([]byte, 0, signatureOverhead+len(s.baseURL))
	plain = append(append(append(plain, signatureVersion), signature...), flags)
	return s.keys.Seal(proofPurpose, append(plain, s.baseURL...), []byte(authorization))
}

// errStored says that a stored signature has no proof that it signs.
var errStored = errors.New("the stored signature is not readable")

// assemble returns the proof of a decision from its rows and the opened signature. The signature is verified, so that rows which
// were changed give an error and never a different proof.
func (s *Service) assemble(ctx context.Context, a *models.Authorization, p *models.Proof, opened []byte) (string, error) {
	claims, signature, err := storedClaims(a, p, opened)
	if err != nil {
		return "", err
	}
	key, err := s.publicKey(ctx, store.Scope{Tenant: p.TenantID, Environment: p.EnvironmentID}, p.KID)
	if err != nil {
		return "", err
	}
	return proof.Assemble(claims, p.KID, signature, key)
}

// storedClaims returns the claims of a stored proof and their signature.
func storedClaims(a *models.Authorization, p *models.Proof, opened []byte) (proof.Claims, []byte, error) {
	if !isSignature(opened) || len(opened) < signatureOverhead {
		return proof.Claims{}, nil, errStored
	}
	signature, flags, baseURL := opened[1:1+signatureSize], opened[1+signatureSize], string(opened[signatureOverhead:])
	kind := int(flags >> kindShift)
	if kind >= len(kinds) {
		return proof.Claims{}, nil, errStored
	}
	f, err := findingsOf(a)
	f.Kind, f.ByEvidence = kinds[kind], flags&flagEvidence != 0
	return claimsOf(a, p, f, baseURL), signature, err
}

// findingsOf reads the findings in the stored assurance profile.
func findingsOf(a *models.Authorization) (Findings, error) {
	var profile struct {
		Subject string `json:"subject"`
		Claims  []struct {
			Claim  string `json:"claim"`
			Status string `json:"status"`
		} `json:"claims"`
		FreshnessMS *int64 `json:"freshness_ms"`
	}
	if err := json.Unmarshal(a.Assurance, &profile); err != nil {
		return Findings{}, fmt.Errorf("assurance profile: %w", err)
	}
	f := Findings{Subject: profile.Subject, FreshnessMS: profile.FreshnessMS, Statuses: make(map[string]string, len(profile.Claims))}
	for _, c := range profile.Claims {
		f.Statuses[c.Claim] = c.Status
	}
	return f, nil
}

// publicKey returns the published half of a key of the environment, retired ones included: a response is repeated for longer than its
// proof is valid.
func (s *Service) publicKey(ctx context.Context, scope store.Scope, kid string) (*ecdsa.PublicKey, error) {
	k, err := s.environment(ctx, s.store.Q, scope)
	if err != nil {
		return nil, err
	}
	if key := k.public[kid]; key != nil {
		return key, nil
	}
	rows, err := s.store.SigningKeys().All(ctx, scope)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(rows, func(row models.SigningKey) bool { return row.KID == kid })
	if at < 0 {
		return nil, fmt.Errorf("the environment has no signing key %s", kid)
	}
	published, err := publishedKey(rows[at])
	return published[kid], err
}

// publishedKey returns the published half of a key by its id.
func publishedKey(row models.SigningKey) (proof.KeySet, error) {
	set, err := proof.ParseJWKS(slices.Concat([]byte(`{"keys":[`), row.PublicJWK, []byte("]}")))
	if err != nil {
		return nil, fmt.Errorf("signing key %s as published: %w", row.KID, err)
	}
	return set, nil
}
