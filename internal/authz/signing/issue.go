package signing

import (
	"context"
	"reflect"
	"time"

	"github.com/countersign-dev/countersign/internal/authz/proof"
	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/platform/pg"
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

// Ahead is a proof that was signed before its decision took the locks under which it is made. The zero value is none.
type Ahead struct {
	claims       proof.Claims
	compact, kid string
}

// covers reports whether the proof has the claims, whatever its id.
func (a *Ahead) covers(c proof.Claims) bool {
	c.ID = a.claims.ID
	return a.compact != "" && reflect.DeepEqual(a.claims, c)
}

// Unsigned is the error of Issue for a decision that waits for the signature of a backend, and must not do so under its locks.
type Unsigned struct {
	scope  pg.Scope
	claims proof.Claims
}

// Error implements error.
func (*Unsigned) Error() string {
	return "signing: the proof is to be signed before the locks are taken"
}

// SignAhead signs the proof of a decision that is made again.
func (s *Service) SignAhead(ctx context.Context, u *Unsigned) (*Ahead, error) {
	compact, kid, err := s.Sign(ctx, s.store.Q, u.scope, u.claims)
	return &Ahead{u.claims, compact, kid}, err
}

// Issue signs the proof of a decision, which is valid for a number of seconds, and returns its row and its compact form. A decision that holds
// locks gives what was signed ahead of it, which is used if the decision still has the same claims; if not, and the key is in a backend, the error
// is Unsigned. Other decisions give nil.
func (s *Service) Issue(ctx context.Context, q *pg.Q, a *models.Authorization, f Findings, seconds int, ahead *Ahead) (*models.Proof, string, error) {
	p := &models.Proof{
		JTI: ids.New(ids.Proof), TenantID: a.TenantID, EnvironmentID: a.EnvironmentID, AuthorizationID: a.ID, SubjectUID: a.SubjectUID,
		Audience: a.Audience, Status: models.ProofActive, IssuedAt: a.DecidedAt, ExpiresAt: time.Unix(a.DecidedAt.Unix()+int64(seconds), 0).UTC(),
	}
	scope, claims := pg.Scope{Tenant: a.TenantID, Environment: a.EnvironmentID}, claimsOf(a, p, f, s.baseURL)
	k, err := s.environment(ctx, q, scope)
	if err != nil {
		return nil, "", err
	}
	var compact string
	switch {
	case ahead == nil || !k.remote:
		compact, p.KID, err = s.Sign(ctx, q, scope, claims)
	case ahead.covers(claims) && ahead.kid == k.signer.KeyID():
		compact, p.KID, p.JTI = ahead.compact, ahead.kid, ahead.claims.ID
	default:
		err = &Unsigned{scope, claims}
	}
	if err != nil {
		return nil, "", err
	}
	p.Sealed, err = s.SealProof(a.ID, compact)
	return p, compact, err
}

// claimsOf returns the claims of a decision's proof.
func claimsOf(a *models.Authorization, p *models.Proof, f Findings, baseURL string) proof.Claims {
	issued := p.IssuedAt.Unix()
	claims := proof.Claims{
		Issuer: baseURL + "/" + a.EnvironmentID, Subject: f.Subject, Audience: a.Audience, IssuedAt: issued, NotBefore: issued,
		Expires: p.ExpiresAt.Unix(), ID: p.JTI, Nonce: a.Nonce, Environment: a.EnvironmentID, EnvironmentKind: f.Kind, Mode: string(a.Mode),
		Authorization: a.ID,
		Action:        proof.Action{Key: a.ActionKey, Hash: a.ActionHash, PolicyVersion: a.PolicyVersion, ContentHash: a.PolicyHash},
		Resource:      proof.Resource{Type: a.ResourceType, Digest: a.ResourceDigest}, Context: a.ContextDigest,
		Assurance: proof.Assurance{Coverage: a.Coverage, FreshnessMS: f.FreshnessMS, Claims: f.Statuses},
		Methods:   methods(a, f.ByEvidence),
	}
	if a.StandingID != nil {
		claims.Grant = *a.StandingID
	}
	return claims
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
	if a.StandingID != nil {
		out = append(out, proof.MethodStanding)
	}
	switch {
	case a.BreakGlass: // no one may take it for a review
		out = append(out, proof.MethodBreakGlass)
	case a.HoldApproved:
		out = append(out, proof.MethodReview)
	}
	return out
}
