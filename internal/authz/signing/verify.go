package signing

import (
	"context"
	"errors"
	"time"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/authz/proof"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/reason"
	"github.com/countersign-dev/countersign/models"
)

// Status is the contract's ProofStatus.
type Status struct {
	JTI       string             `json:"jti"`
	Status    models.ProofStatus `json:"status"`
	ExpiresAt *time.Time         `json:"-"`
	RevokedAt *time.Time         `json:"-"`
}

// StatusOf returns the status of a proof at a time: the stored one, or expired.
func StatusOf(p models.Proof, now time.Time) models.ProofStatus {
	if p.Status == models.ProofActive && !now.Before(p.ExpiresAt) {
		return models.ProofExpired
	}
	return p.Status
}

// Status returns the status of a proof; one that the environment does not have, or whose record was altered, is unknown. It does not consume the proof.
func (s *Service) Status(ctx context.Context, scope pg.Scope, jti string) (Status, error) {
	if !ids.Has(ids.Proof, jti) { // callers may send any text, and Postgres does not accept every text
		return Status{JTI: jti, Status: models.ProofUnknown}, nil
	}
	p, err := proof.GetProof(ctx, s.store.Q, scope, jti)
	if _, altered := errors.AsType[*pg.Altered](err); altered || errors.Is(err, pg.ErrNotFound) {
		return Status{JTI: jti, Status: models.ProofUnknown}, nil
	}
	return Status{JTI: jti, Status: StatusOf(p, s.clock.Now()), ExpiresAt: &p.ExpiresAt, RevokedAt: p.RevokedAt}, err
}

// Question is a verification request. Empty fields are not checked.
type Question struct {
	// Proof is the compact JWS.
	Proof    string
	Audience string
	Action   string
	// ResourceType and ResourceID are checked together, against the digest in the proof.
	ResourceType string
	ResourceID   string
	Nonce        string
	Subject      string
	// ContextDigest is canonical.ContextDigest of the context.
	ContextDigest string
	// Consume uses the proof up, if it is valid.
	Consume bool
}

// Verification is the result of Verify. Claims are nil if the proof's signature is invalid or the proof is unknown.
type Verification struct {
	Valid bool `json:"valid"`
	// Status is the stored status, or unknown.
	Status models.ProofStatus `json:"status"`
	// ReasonCodes say why the proof is not valid, or what was not checked of one that is.
	ReasonCodes []string `json:"reason_codes"`
	// Unchecked names the fields that bind a proof to what is done and that the question left empty.
	Unchecked []string      `json:"unchecked"`
	Claims    *proof.Claims `json:"claims"`
}

// unchecked names what the question does not compare with the proof.
func (in Question) unchecked() []string {
	out := []string{}
	if in.Subject == "" {
		out = append(out, "subject")
	}
	if in.ContextDigest == "" {
		out = append(out, "context")
	}
	return out
}

// Verify checks form, signature and claims, and then the stored status. With Consume, exactly one of any number of callers
// receives valid; the others receive proof_consumed. A proof that fails is not an error.
func (s *Service) Verify(ctx context.Context, p identity.Principal, in Question) (Verification, error) {
	v, err := s.verify(ctx, p, in)
	v.Unchecked = in.unchecked()
	return v, err
}

func (s *Service) verify(ctx context.Context, p identity.Principal, in Question) (Verification, error) {
	scope := p.Store()
	k, err := s.environment(ctx, s.store.Q, scope)
	if err != nil {
		return Verification{}, err
	}
	now := s.clock.Now()
	expect := proof.Expect{
		Issuer: s.Issuer(scope.Environment), Environment: scope.Environment, Audience: in.Audience, Action: in.Action,
		ResourceType: in.ResourceType, ResourceID: in.ResourceID, Nonce: in.Nonce, Subject: in.Subject, ContextDigest: in.ContextDigest,
	}
	claims, err := proof.Verify(in.Proof, k.public, now, expect)
	var refused *proof.Error
	if errors.As(err, &refused) && refused.Code == reason.ProofKeyUnknown { // another replica may have just created the key
		if k, err = s.refresh(ctx, s.store.Q, scope); err != nil {
			return Verification{}, err
		}
		claims, err = proof.Verify(in.Proof, k.public, now, expect)
	}
	refused = nil
	if err != nil && !errors.As(err, &refused) {
		return Verification{}, err
	}
	if claims.ID == "" {
		return Verification{Status: models.ProofUnknown, ReasonCodes: []string{refused.Code}}, nil
	}
	return s.onRecord(ctx, p, in, claims, refused, now)
}

// onRecord weighs a proof whose signature holds against its record.
func (s *Service) onRecord(ctx context.Context, p identity.Principal, in Question, claims proof.Claims, refused *proof.Error, now time.Time) (Verification, error) {
	row, err := proof.GetProof(ctx, s.store.Q, p.Store(), claims.ID)
	if errors.Is(err, pg.ErrNotFound) {
		return Verification{Status: models.ProofUnknown, ReasonCodes: []string{reason.ProofUnknown}}, nil
	}
	if err != nil {
		return Verification{}, err
	}
	v := Verification{Status: StatusOf(row, now), ReasonCodes: []string{}, Claims: &claims}
	if refused != nil {
		v.ReasonCodes = append(v.ReasonCodes, refused.Code)
	}
	if code, dead := deadCodes[v.Status]; dead {
		if refused == nil || refused.Code != code {
			v.ReasonCodes = append(v.ReasonCodes, code)
		}
		return v, nil
	}
	if refused != nil {
		return v, nil //nolint:nilerr // a proof that fails is a result, not an error
	}
	if in.Audience == "" {
		v.ReasonCodes = append(v.ReasonCodes, reason.AudienceNotChecked)
	}
	if !in.Consume {
		v.Valid = true
		return v, nil
	}
	return s.consume(ctx, p, row, v, now)
}

// deadCodes are the reason codes of the statuses in which a proof is not valid.
var deadCodes = map[models.ProofStatus]reason.Code{
	models.ProofConsumed: reason.ProofConsumed, models.ProofRevoked: reason.ProofRevoked, models.ProofExpired: reason.ProofExpired,
}

// consume consumes a valid proof, unless another caller was faster.
func (s *Service) consume(ctx context.Context, p identity.Principal, row models.Proof, v Verification, now time.Time) (Verification, error) {
	won := false
	err := s.store.Write(ctx, func(q *pg.Q) error {
		var err error
		if won, err = proof.ConsumeProof(ctx, q, row, p.Actor(), now); err != nil || !won {
			return err
		}
		return events.Append(ctx, q, events.Entry{
			Scope: p.Store(), At: now, SubjectUID: row.SubjectUID, AuthorizationID: row.AuthorizationID, Actor: p.Actor(),
			RequestID: p.RequestID, Data: events.ProofConsumedData{ProofID: row.JTI},
		})
	})
	if err != nil {
		return v, err
	}
	if won {
		v.Valid, v.Status = true, models.ProofConsumed
		return v, nil
	}
	row, err = proof.GetProof(ctx, s.store.Q, p.Store(), row.JTI)
	if err != nil {
		return v, err
	}
	v.Status = StatusOf(row, s.clock.Now())
	v.ReasonCodes = []string{deadCodes[v.Status]}
	return v, nil
}
