package demo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/countersign-dev/countersign/internal/authz/proof"
)

// review resolves the first hold by a rejection and the second by an approval; the others wait in the queue. It is done at
// once, since the decision that follows is made on the evidence of that moment.
func (s *show) review(ctx context.Context, r row) error {
	if r.decision.Decision != "hold" {
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

// complete settles a challenge with the sandbox's confirmation and fetches the decision that follows from it.
func (s *show) complete(ctx context.Context, r row) error {
	if r.decision.Challenge == nil {
		return errors.New("a challenge decision came without a challenge")
	}
	var receipt struct {
		Status        string `json:"status"`
		Authorization string `json:"authorization"`
	}
	path := "/api/v1/challenges/" + r.decision.Challenge.ID + "/complete"
	if err := s.api.call(ctx, "POST", path, map[string]string{"method": "sandbox_confirm"}, &receipt); err != nil {
		return err
	}
	var after struct {
		Decision string `json:"decision"`
	}
	if err := s.api.call(ctx, "GET", "/api/v1/authorizations/"+receipt.Authorization, nil, &after); err != nil {
		return err
	}
	s.note("challenge of %s: %s by confirmation, and the decision that follows is %s", r.person, receipt.Status, after.Decision)
	return nil
}

func (s *show) reject(ctx context.Context, r row) error {
	var receipt struct {
		Outcome struct {
			Outcome string `json:"outcome"`
		} `json:"outcome"`
	}
	body := map[string]string{"resolution": "reject", "note": "The account's owner was on leave."}
	if err := s.api.call(ctx, "POST", "/api/v1/authorizations/"+r.decision.ID+"/review", body, &receipt); err != nil {
		return err
	}
	s.note("hold of %s: rejected by a reviewer, recorded as %s", r.person, receipt.Outcome.Outcome)
	return nil
}

func (s *show) approve(ctx context.Context, r row) error {
	var receipt struct {
		Decision decision `json:"decision"`
	}
	body := map[string]string{"resolution": "approve", "note": "Confirmed by telephone."}
	if err := s.api.call(ctx, "POST", "/api/v1/authorizations/"+r.decision.ID+"/review", body, &receipt); err != nil {
		return err
	}
	s.note("hold of %s: approved by a reviewer, and the decision that follows is %s", r.person, receipt.Decision.Decision)
	return nil
}

// prove verifies a proof offline, consumes it, and shows that it cannot be consumed again.
func (s *show) prove(ctx context.Context) error {
	r, ok := s.first(asThemselves, "allow")
	if !ok || r.decision.Proof == nil {
		return fmt.Errorf("%w: nobody was allowed as themselves, so there is no proof to show", ErrNotTold)
	}
	_, raw, err := s.api.send(ctx, "GET", "/.well-known/service-proof-keys.json", nil)
	if err != nil {
		return err
	}
	keys, err := proof.ParseJWKS(raw)
	if err != nil {
		return fmt.Errorf("the published keys cannot be read: %w", err)
	}
	claims, err := proof.Verify(*r.decision.Proof, keys, s.Now(), proof.Expect{
		Issuer: s.me.ProofIssuer, Environment: s.me.Environment, Audience: audience, Action: s.action,
	})
	if err != nil {
		return fmt.Errorf("the proof does not verify against the published keys: %w", err)
	}
	s.say("proof of %s: verified offline, for %s, good until %s", r.person, claims.Action.Key, time.Unix(claims.Expires, 0).UTC().Format(time.RFC3339))
	for n, wanted := range []bool{true, false} {
		valid, status, err := s.consume(ctx, *r.decision.Proof)
		if err != nil {
			return err
		}
		s.say("proof of %s: consume number %d answered valid=%t, status=%s", r.person, n+1, valid, status)
		if valid != wanted {
			return fmt.Errorf("consume number %d should have answered valid=%t", n+1, wanted)
		}
	}
	return nil
}

func (s *show) consume(ctx context.Context, compact string) (valid bool, status string, err error) {
	var answer struct {
		Valid  bool   `json:"valid"`
		Status string `json:"status"`
	}
	err = s.api.call(ctx, "POST", "/api/v1/verify", map[string]any{"proof": compact, "audience": audience, "consume": true}, &answer)
	return answer.Valid, answer.Status, err
}

// note keeps a sentence for after the table.
func (s *show) note(format string, args ...any) {
	s.notes = append(s.notes, fmt.Sprintf(format, args...))
}
