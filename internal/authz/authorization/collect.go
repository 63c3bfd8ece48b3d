package authorization

import (
	"context"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/authz/action"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
)

// Collect returns the follow-up decision about a request that was challenged or held before, with its proof: a caller that only asks again comes
// by it. The request must be the same, by the same credential, within the life of the challenge or the hold. Each follow-up decision is
// returned once, of several the newest; false says that there is none, and the request is to be decided.
//
// A caller that names the decision that it asks about receives it again while it waits. It is refused if that was about something else.
func (s *Service) Collect(ctx context.Context, p identity.Principal, force *action.InForce, in Request, of string) (Response, bool, error) {
	r := request{Request: in, principal: p}
	if err := r.digest(); err != nil {
		return Response{}, false, err
	}
	if !force.CallerAllowed(p.CredentialID) || !force.AudienceAllowed(in.Audience) {
		return Response{}, false, nil // Authorize says why
	}
	args, now := askedBy(&r, force, of), s.clock.Now()
	id, err := collect(ctx, s.store.Q, args, now)
	if err == nil && id == "" && of != "" {
		id, err = s.waitingFor(ctx, args)
	}
	if err != nil || id == "" {
		return Response{}, false, err
	}
	out, err := s.stored(ctx, p.Store(), id)
	return out, err == nil, err
}

// waitingFor returns the decision that the caller names if it still waits.
func (s *Service) waitingFor(ctx context.Context, args []any) (string, error) {
	id, err := waiting(ctx, s.store.Q, args, s.clock.Now())
	if err != nil || id != "" {
		return id, err
	}
	found, err := was(ctx, s.store.Q, args)
	if err == nil && !found {
		err = problem.New(problem.BadRequest, "context.countersign.authorization must be the id of a decision that asked for a confirmation or a review of the same "+
			"subject, action, resource and context, for the same key.")
	}
	return "", err
}

// stored returns the response of a decision with its proof.
func (s *Service) stored(ctx context.Context, scope pg.Scope, id string) (Response, error) {
	a, err := parentOf(ctx, s.store.Q, scope, id)
	if err != nil {
		return Response{}, err
	}
	out, err := s.readStored(&a)
	if err == nil && out.ProofID != nil {
		out.Proof, err = s.proofs.Issued(ctx, scope, a.ID)
	}
	return out, err
}
