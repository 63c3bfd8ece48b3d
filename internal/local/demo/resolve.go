package demo

import (
	"context"
	"errors"
	"fmt"
	"time"

	countersign "github.com/countersign-dev/countersign/sdk/go"
	"github.com/countersign-dev/countersign/sdk/go/proof"
)

// review rejects the first hold and approves the second; the others wait in the queue. It runs right after the decision,
// because the follow-up decision is made on the evidence of that moment.
func (s *show) review(ctx context.Context, r row) error {
	if r.decision.Decision != countersign.DecisionHold {
		return nil
	}
	s.held++
	switch s.held {
	case 1:
		return s.reject(ctx, r)
	case 2:
		return s.approve(ctx, r)
	default:
		return nil
	}
}

// complete completes a challenge with the sandbox's confirmation and returns the follow-up decision.
func (s *show) complete(ctx context.Context, r row) (*countersign.AuthorizationTrace, error) {
	if r.decision.Challenge == nil {
		return nil, errors.New("the decision is challenge, and the response has no challenge")
	}
	receipt, err := s.api.CompleteChallenge(ctx, r.decision.Challenge.ID,
		countersign.ChallengeCompleteRequest{Method: string(countersign.ChallengeMethodSandboxConfirm)})
	if err != nil {
		return nil, err
	}
	followUp, err := s.api.GetAuthorization(ctx, receipt.Authorization)
	if err != nil {
		return nil, err
	}
	s.note("challenge of %s: %s by confirmation; the follow-up decision is %s", r.person, receipt.Status, followUp.Decision)
	return followUp, nil
}

// issued is the first proof that a person obtained as themselves.
type issued struct{ person, compact string }

// earn keeps the first proof of a person as themselves. While no more than likely can be said of anyone, because too few people have
// enrolled, the person confirms the challenge first.
func (s *show) earn(ctx context.Context, r row) error {
	if s.proof.compact != "" {
		return nil
	}
	if r.decision.Decision == countersign.DecisionAllow {
		s.proof = issued{r.person, r.decision.Proof}
		return nil
	}
	if r.decision.Decision != countersign.DecisionChallenge || r.continuity() != countersign.ClaimStatusLikely {
		return nil
	}
	followUp, err := s.complete(ctx, r)
	if err != nil {
		return err
	}
	if followUp.Proof != nil {
		s.proof = issued{r.person, followUp.Proof.Compact}
	}
	return nil
}

func (s *show) reject(ctx context.Context, r row) error {
	receipt, err := s.api.ReviewAuthorization(ctx, r.decision.ID,
		countersign.ManualReviewRequest{Resolution: "reject", Note: "The account's owner was on leave."})
	if err != nil {
		return err
	}
	if receipt.Outcome == nil {
		return errors.New("the receipt of a rejection has no outcome")
	}
	s.note("hold of %s: rejected by a reviewer, recorded as %s", r.person, receipt.Outcome.Outcome)
	return nil
}

func (s *show) approve(ctx context.Context, r row) error {
	receipt, err := s.api.ReviewAuthorization(ctx, r.decision.ID,
		countersign.ManualReviewRequest{Resolution: "approve", Note: "Confirmed by telephone."})
	if err != nil {
		return err
	}
	if receipt.Decision == nil {
		return errors.New("the receipt of an approval has no decision")
	}
	s.note("hold of %s: approved by a reviewer; the follow-up decision is %s", r.person, receipt.Decision.Decision)
	return nil
}

// prove verifies a proof against the published keys, consumes it, and shows that it cannot be consumed twice.
func (s *show) prove(ctx context.Context) error {
	if s.proof.compact == "" {
		return fmt.Errorf("%w: no one obtained a proof as themselves", ErrNotDistinguished)
	}
	verifier := proof.Verifier{
		Keys: proof.NewRemote(s.BaseURL, nil), Issuer: s.me.ProofIssuer, Environment: s.me.Environment, Audience: audience, Now: s.Now,
	}
	claims, err := verifier.Verify(ctx, s.proof.compact, proof.Unbound(proof.Expect{Action: s.action}))
	if err != nil {
		return fmt.Errorf("the proof does not verify against the published keys: %w", err)
	}
	s.printf("proof of %s: verified offline, for %s, valid until %s", s.proof.person, claims.Action.Key, time.Unix(claims.Expires, 0).UTC().Format(time.RFC3339))
	for n, want := range []bool{true, false} {
		result, err := s.api.VerifyProof(ctx, countersign.ProofVerifyRequest{Proof: s.proof.compact, Audience: audience, Consume: true})
		if err != nil {
			return err
		}
		s.printf("proof of %s: consume number %d returned valid=%t, status=%s", s.proof.person, n+1, result.Valid, result.Status)
		if result.Valid != want {
			return fmt.Errorf("consume number %d should return valid=%t", n+1, want)
		}
	}
	return nil
}

// note stores a sentence that Run prints after the table.
func (s *show) note(format string, args ...any) {
	s.notes = append(s.notes, fmt.Sprintf(format, args...))
}
