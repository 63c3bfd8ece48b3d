package authorization

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/authz/action"
	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/authz/rules"
	"github.com/countersign-dev/countersign/internal/platform/apitime"
	"github.com/countersign-dev/countersign/internal/platform/canonical"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/platform/reason"
	"github.com/countersign-dev/countersign/models"
)

// Result is a decision as Authorize returns it. Body is the AuthorizeResponse, byte for byte the same on every replay.
type Result struct {
	Body     []byte
	Replayed bool
	Decision policy.Effect // empty if Replayed
	Mode     string        // of the action; empty if Replayed
	Stages   Stages        // zero if Replayed
	// RuleFailed reports that a rule of the policy could not be evaluated and applied for that reason; false if Replayed.
	RuleFailed bool
	queued     bool // a workflow is to be started
}

// Stages are the durations of the parts of a decision: reading the facts, deciding and signing, and the transaction that writes
// it.
type Stages struct{ Read, Decide, Write time.Duration }

// Authorize decides one request. A request with the same idempotency key and body returns the stored response, also if several
// arrive at the same time. Start is when the request arrived, for latency_ms. Refusals are problems.
func (s *Service) Authorize(ctx context.Context, p identity.Principal, in Request, start time.Time) (Result, error) {
	r := request{Request: in, principal: p, start: start}
	if err := r.digest(); err != nil {
		return Result{}, err
	}
	for range maxAttempts {
		answer, done, err := s.decideOnce(ctx, &r)
		if err != nil || done {
			return answer, err
		}
	}
	return Result{}, problem.NewUnavailable("The subject is being changed by other requests. Nothing was decided; retry the request.", nil)
}

// wanted returns which facts the request needs.
func (r *request) wanted() Wanted {
	return Wanted{Subject: r.Subject, Session: r.Session, IdempotencyKey: r.IdempotencyKey, Resource: r.countedAs}
}

// decideOnce reads the facts, decides and writes. It returns false if the subject changed in between, or if a request with the
// same idempotency key was faster. A decision under a cap is all of this in one transaction, so that others under the cap wait for it.
func (s *Service) decideOnce(ctx context.Context, r *request) (answer Result, done bool, err error) {
	p := prepared{began: s.clock.Now()}
	p.force, p.refusal = s.actions.InForce(ctx, r.principal.Store(), r.Action) // first: its rules determine what is counted
	p.wanted = r.wanted()
	p.wanted.At = p.began
	if p.refusal == nil {
		if err := s.count(ctx, r, &p); err != nil {
			return Result{}, false, err
		}
	}
	if len(p.wanted.Locks) == 0 {
		answer, err = s.decideIn(ctx, s.store.Q, r, p)
	} else {
		answer, err = s.decideUnderLimit(ctx, r, p)
	}
	if errors.Is(err, errStanding) {
		p.wanted.Standing = true
		answer, err = s.decideUnderLimit(ctx, r, p)
	}
	var before repeated
	switch {
	case errors.Is(err, errAgain):
		return Result{}, false, nil
	case errors.Is(err, errNonce):
		return s.nonceTaken(ctx, r)
	case errors.As(err, &before):
		answer, err = s.replay(ctx, r.principal.Store(), before.decision, r.hash)
		return answer, true, err
	case isBusy(err):
		return Result{}, false, busy(err)
	case err != nil:
		return Result{}, false, err
	}
	if answer.queued {
		s.store.Wake(pg.ChannelOutbox, "")
	}
	return answer, true, nil
}

// isBusy reports whether the wait for the other decisions under a limit was too long.
func isBusy(err error) bool { return pg.IsLocked(err) || errors.Is(err, errTurn) }

// busy returns the refusal of a decision that waited too long.
func busy(err error) error {
	return problem.NewUnavailable("Other requests under the same limit are being decided. Nothing was decided; retry the request.", err)
}

// decideUnderLimit reads, decides and writes in one transaction that has the limit's locks.
func (s *Service) decideUnderLimit(ctx context.Context, r *request, p prepared) (answer Result, err error) {
	err = s.underLocks(ctx, turnsOf(r.principal.EnvironmentID, p.wanted), func(q *pg.Q, before *ahead) (err error) {
		p.ahead = before
		answer, err = s.decideIn(ctx, q, r, p)
		return err
	})
	return answer, err
}

// Outcomes to handle after the transaction, so that it never needs a second connection. Nothing was decided.
var (
	errAgain = errors.New("authorization: the request is to be decided again")
	errNonce = errors.New("authorization: the nonce is used already")
	// errStanding says that a standing approval may allow the request, whose use is counted in a transaction.
	errStanding = errors.New("authorization: the request is to be decided by a standing approval")
)

// repeated is the outcome of an attempt that found the decision about the same request.
type repeated struct{ decision *models.Authorization }

// Error implements error.
func (repeated) Error() string { return "authorization: the request is decided already" }

// prepared is everything about a decision that is known before its facts are read.
type prepared struct {
	began      time.Time
	force      *action.InForce
	refusal    error // of the action
	wanted     Wanted
	counts     []rules.Count     // those of wanted.Tallies
	aggregates []rules.Aggregate // those of wanted.Reads
	ahead      *ahead            // nil without locks
}

// count adds what the rules of the action count.
func (s *Service) count(ctx context.Context, r *request, p *prepared) error {
	known := r.vars(p.force)
	p.counts = p.force.Rules.CountsFor(ctx, known)
	p.wanted.Tallies = tallies(p.force.Rules, p.counts, p.began)
	p.wanted.Locks = locks(p.force)
	var err error
	if p.wanted.Lookup, err = s.lists.Lookup(p.force.Lists, p.force.Rules.ListedFor(ctx, known)); err != nil {
		return err
	}
	of := counting{environment: r.principal.EnvironmentID, context: r.context}
	p.aggregates, p.wanted.Reads, err = s.reads(p.force, of, p.force.Rules.AggregatesFor(ctx, known), p.began)
	if slices.ContainsFunc(p.aggregates, func(g rules.Aggregate) bool { return g.Resource }) {
		p.wanted.Carried = s.digests.CarriedResource(r.principal.EnvironmentID, r.countedAs)
	}
	return err
}

func (s *Service) decideIn(ctx context.Context, q *pg.Q, r *request, p prepared) (Result, error) {
	scope, force := r.principal.Store(), p.force
	facts, err := ReadFacts(ctx, q, scope, p.wanted)
	if err != nil && !errors.Is(err, pg.ErrNotFound) {
		return Result{}, err
	}
	// Replay before any check: a repetition must succeed even if the action or the policy has changed since.
	if facts.Prior != nil {
		return Result{}, repeated{facts.Prior}
	}
	now := p.ahead.use(&facts, s.clock.Now())
	if err := admit(r, force, p.refusal, now); err != nil {
		return Result{}, err
	}
	if facts.Subject.UID == "" {
		return Result{}, problem.NotFoundBy("subject")
	}
	if r.Session != nil && facts.Session == nil {
		return Result{}, problem.NotFoundBy("session")
	}
	in, err := s.input(force, r, facts)
	if err != nil {
		return Result{}, err
	}
	in.counts, in.aggregates, in.lookup, in.ahead = p.counts, p.aggregates, p.wanted.Lookup, p.ahead
	d, err := s.decide(ctx, q, in, now)
	if err == nil {
		d, err = s.tryStanding(ctx, q, d, p.wanted)
	}
	if err != nil {
		return Result{}, err
	}
	decided := s.clock.Now()
	answer, err := s.write(ctx, q, d)
	answer.Stages = Stages{Read: now.Sub(p.began), Decide: decided.Sub(now), Write: s.clock.Now().Sub(decided)}
	return answer, err
}

func (s *Service) write(ctx context.Context, q *pg.Q, d *decision) (Result, error) {
	written, err := InsertDecision(ctx, q, &d.row)
	switch {
	case pg.Violates(err, "authorizations_idempotency"):
		return Result{}, errAgain // the same request was faster: the next attempt reads its response
	case pg.Violates(err, "authorizations_nonce"):
		return Result{}, errNonce
	case err != nil:
		return Result{}, err
	case !written:
		return Result{}, errAgain
	}
	a := &d.row.Authorization
	return Result{
		Body: d.body, Decision: policy.Effect(a.Decision), Mode: string(a.Mode), RuleFailed: slices.Contains(a.ReasonCodes, reason.RuleFailed),
		queued: len(d.row.Outbox) > 0,
	}, nil
}

// nonceTaken handles a nonce that is used already: by the same request, whose response is replayed, or by a different one, which
// is refused.
func (s *Service) nonceTaken(ctx context.Context, r *request) (Result, bool, error) {
	facts, err := ReadFacts(ctx, s.store.Q, r.principal.Store(), r.wanted())
	if err == nil && facts.Prior != nil {
		answer, err := s.replay(ctx, r.principal.Store(), facts.Prior, r.hash)
		return answer, true, err
	}
	return Result{}, false, problem.New(problem.NonceReplayed, "The nonce was used in a different request. Use a new nonce for each request.")
}

// replay returns the stored response of a request with the same idempotency key, or refuses a different request.
func (s *Service) replay(ctx context.Context, scope pg.Scope, prior *models.Authorization, hash []byte) (Result, error) {
	if !bytes.Equal(prior.RequestHash, hash) {
		return Result{}, problem.New(problem.IdempotencyReused, "The idempotency_key was used with a different request.")
	}
	r, err := s.readStored(prior)
	if err != nil {
		return Result{}, err
	}
	if r.ProofID != nil {
		if r.Proof, err = s.proofs.Issued(ctx, scope, prior.ID); err != nil {
			return Result{}, err
		}
	}
	body, err := json.Marshal(r)
	return Result{Body: body, Replayed: err == nil}, err
}

// admit checks the request against the clock and the active contract of the action, or returns the refusal of the action.
func admit(r *request, force *action.InForce, refusal error, now time.Time) error {
	if math.Abs(now.Sub(apitime.Unix(float64(r.RequestedAt))).Seconds()) > maxAge.Seconds() {
		return problem.Invalid([]any{"body", "requested_at"}, "requested_at must be within 300 seconds of now.", "stale_request")
	}
	if refusal != nil {
		return refusal
	}
	if !force.CallerAllowed(r.principal.CredentialID) {
		return problem.New(problem.CallerNotAllowed, "The action's allowed_callers do not name this credential.")
	}
	if !force.AudienceAllowed(r.Audience) {
		return problem.New(problem.AudienceNotAllowed, "The action's allowed_audiences do not name this audience.")
	}
	// The faults of type and context are reported together: a caller mends both at once.
	var fields []problem.Field
	if required := force.Action.ResourceType; r.Resource.Type != required {
		fields = append(fields, problem.Field{
			Loc: []any{"body", "resource", "type"}, Msg: "resource.type must be the action's resource_type, " + required + ".", Type: "resource_type_mismatch",
		})
	}
	if fields = append(fields, force.ContextFaults(r.context)...); len(fields) > 0 {
		return problem.InvalidFields(fields)
	}
	return nil
}

// input returns what a first decision is made from.
func (s *Service) input(force *action.InForce, r *request, facts Facts) (decisionInput, error) {
	// A request without an actor is the subject's own. The hash then has no actor either, so that naming oneself is a
	// different action.
	actor := r.Subject
	hashed := canonical.ActionHashInput{
		ActionKey: force.Action.Key, PolicyVersion: force.Version, ContentHash: force.Hash, Subject: r.Subject,
		ResourceType: r.Resource.Type, ResourceID: r.Resource.ID, Audience: r.Audience, Context: r.context,
		Nonce: r.Nonce, Environment: r.principal.EnvironmentID,
	}
	if r.Actor != nil {
		actor = r.Actor.ID
		hashed.Actor = &canonical.Actor{Type: "human", ID: actor}
	}
	actionHash, err := canonical.ActionHash(hashed)
	if err != nil {
		return decisionInput{}, err
	}
	details, err := force.Display.Details(r.Resource.ID, r.Context)
	if err != nil {
		return decisionInput{}, err
	}
	values, err := force.Kept.Values(r.Resource.ID, r.Context)
	return decisionInput{
		force: force, facts: facts, request: r, start: r.start, details: details, kept: values, named: force.People.Names(r.values, r.Subject),
		base: models.Authorization{
			TenantID: r.principal.TenantID, EnvironmentID: r.principal.EnvironmentID, CredentialID: r.principal.CredentialID,
			ActionID: force.Action.ID, ActionKey: force.Action.Key, SubjectUID: facts.Subject.UID, Actor: actor,
			ResourceType: r.Resource.Type, ResourceDigest: r.resourceDigest, ContextDigest: r.contextDigest, ActionHash: actionHash,
			Audience: r.Audience, Nonce: r.Nonce, IdempotencyKey: &r.IdempotencyKey, RequestHash: r.hash,
			RequestedAt: apitime.Unix(float64(r.RequestedAt)), TraceID: r.principal.TraceID, Mode: force.Action.Mode,
			PolicyVersion: force.Version, PolicyHash: force.Hash, SessionID: r.Session, SessionPinned: r.Session != nil,
		},
		kind: policy.EnvironmentKind(r.principal.Kind), actor: r.principal.Actor(), requestID: r.principal.RequestID,
	}, err
}
