// Package protect guards a route with a Countersign action: the route runs if the service allows the subject to perform the
// action on the resource, or if the request carries a proof of an earlier allow. Either way the proof is verified for exactly
// this request and consumed before the route runs. Package protect/fibergate does the same for Fiber.
//
// A gate makes no decisions of its own. While the service is unavailable it applies the configured Failure mode. A request that
// a quota or rate limit of the service refuses (429) never goes through.
package protect

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	countersign "github.com/countersign-dev/countersign/sdk/go"
	"github.com/countersign-dev/countersign/sdk/go/proof"
)

// ProofHeader is the request header in which a page sends the proof that it received after a step-up.
const ProofHeader = "Countersign-Proof"

// Ask is the action that a route is about to perform. Fill it from the request's own session and body, never from what
// only the page claims about its user. Subject and both parts of the resource are required.
//
// Each Check is an attempt of its own: its nonce and idempotency key are fresh and cover the retries of the client. To repeat
// an attempt yourself, for example after a restart, keep its AuthorizeRequest and send it with Client.Authorize.
type Ask struct {
	Subject      string
	ResourceType string
	ResourceID   string
	Context      map[string]any // as the action's context_schema requires
	Session      string         // pins an observation session; empty: the subject's latest
}

// Failure selects how a gate treats requests while the service is unavailable. A request whose own context has ended never
// goes through: its sender disconnected, which must not replace a decision. Nor does one that the service refuses with 429: an
// attacker who can cause requests can use up a quota or rate limit.
type Failure int

// FailClosed, the zero value, refuses the request with 503. FailOpen lets the request through and sets Outcome.Unavailable,
// so that the route can record it; it refuses as FailClosed does if Outcome.Limited is set.
const (
	FailClosed Failure = iota
	FailOpen
)

// ForRisk returns the failure mode for a risk class: only actions of low risk proceed without a decision.
func ForRisk(class countersign.RiskClass) Failure {
	if class == countersign.RiskClassLow {
		return FailOpen
	}
	return FailClosed
}

// Gate guards one action. Client, Verifier and Action are required. It is safe for concurrent use.
//
// If the action's mode is shadow, no request is refused. In mode test, a request that is not allowed is refused, and no
// proofs are issued: to test the whole flow, use mode enforce in a sandbox. Once the action is in mode enforce, set RequireProof.
type Gate struct {
	Client   *countersign.Client
	Verifier *proof.Verifier // its Audience is the audience asked for
	Action   string          // key
	Failure  Failure
	Within   time.Duration // how long a decision may take before Failure applies; 0 is 2 s
	// RequireProof refuses what comes without a proof whatever the response says, so that neither a changed response nor a change
	// of the action's mode opens the route. It does not affect Failure.
	RequireProof bool
}

// Outcome is the result of an Ask.
type Outcome struct {
	Allowed     bool
	Unavailable bool                           // the service made no decision
	Limited     error                          // the refusal by a quota or rate limit (429), if that is why; never allowed
	Decision    *countersign.AuthorizeResponse // nil if the request carried a proof or there is no decision
	Proof       *proof.Claims                  // of the proof that let the request through, now consumed; nil in modes shadow and test
	Refusal     *proof.Error                   // why a proof is rejected
}

const decideWithin = 2 * time.Second

// Check requests a decision on ask. If compact is not empty, it verifies and consumes that proof instead; an invalid proof is
// refused without a new decision. The error reports an invalid gate or ask, or a request that the service rejected
// (*countersign.Error), for example because the context violates the action's schema. A refusal with 429 is not among them: it
// is in Outcome.Limited, after the retries of the client.
func (g *Gate) Check(parent context.Context, ask Ask, compact string) (*Outcome, error) {
	if g.Client == nil || g.Verifier == nil || g.Action == "" {
		return nil, errors.New("protect: Gate.Client, Verifier and Action must be set")
	}
	if ask.Subject == "" || ask.ResourceType == "" || ask.ResourceID == "" {
		return nil, errors.New("protect: Ask.Subject, ResourceType and ResourceID must be set")
	}
	within := g.Within
	if within <= 0 {
		within = decideWithin
	}
	ctx, cancel := context.WithTimeout(parent, within)
	defer cancel()
	expect, err := g.expect(ask)
	if err != nil {
		return nil, err
	}
	var outcome *Outcome
	if compact != "" {
		outcome, err = g.redeem(ctx, expect, compact)
	} else {
		outcome, err = g.authorize(ctx, ask, expect)
	}
	if countersign.RateLimited(err) {
		return &Outcome{Unavailable: true, Limited: err}, nil
	}
	if err != nil && undecided(err) {
		return &Outcome{Unavailable: true, Allowed: g.Failure == FailOpen && compact == "" && !ended(parent)}, nil
	}
	return outcome, err
}

// errNoKeys reports that a proof could be neither accepted nor refused.
var errNoKeys = errors.New("protect: the proof could not be verified")

// undecided reports whether there is no decision: the service or its keys are unavailable, or the gate's own deadline passed.
func undecided(err error) bool {
	return countersign.Unavailable(err) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, errNoKeys)
}

// ended reports whether the caller's own context is over. A connection that gives up at the deadline can be ahead of Err.
func ended(ctx context.Context) bool {
	deadline, has := ctx.Deadline()
	return ctx.Err() != nil || (has && !time.Now().Before(deadline))
}

// expect returns the claims that a proof for ask must have.
func (g *Gate) expect(ask Ask) (proof.Expect, error) {
	digest, err := proof.ContextDigest(ask.Context)
	if err != nil {
		return proof.Expect{}, fmt.Errorf("protect: Ask.Context: %w", err)
	}
	return proof.Expect{Action: g.Action, Subject: ask.Subject, ResourceType: ask.ResourceType, ResourceID: ask.ResourceID, Context: digest}, nil
}

// authorize requests a decision. An allow in mode enforce goes through by its proof alone.
func (g *Gate) authorize(ctx context.Context, ask Ask, expect proof.Expect) (*Outcome, error) {
	expect.Nonce = rand.Text()
	decision, err := g.Client.Authorize(ctx, countersign.AuthorizeRequest{
		Subject: ask.Subject, Action: g.Action, Audience: g.Verifier.Audience, Session: ask.Session, Context: ask.Context,
		Resource: countersign.Resource{Type: ask.ResourceType, ID: ask.ResourceID},
		Nonce:    expect.Nonce, RequestedAt: time.Now().Unix(), IdempotencyKey: rand.Text(),
	})
	if err != nil {
		return nil, err
	}
	outcome := &Outcome{Decision: decision}
	switch {
	case decision.Decision == countersign.DecisionAllow && decision.Proof != "":
		outcome, err = g.redeem(ctx, expect, decision.Proof)
		if err != nil {
			return nil, err
		}
		outcome.Decision = decision
	case decision.Decision == countersign.DecisionAllow || decision.Mode == countersign.ModeShadow:
		outcome.Allowed = decision.Mode != countersign.ModeEnforce && !g.RequireProof
	}
	return outcome, nil
}

// redeem verifies a proof locally and consumes it at the service, so that only one of several requests with the same proof
// goes through. An error that is undecided, such as missing keys, is not a refusal.
func (g *Gate) redeem(ctx context.Context, expect proof.Expect, compact string) (*Outcome, error) {
	claims, err := g.Verifier.Verify(ctx, compact, expect)
	var refused *proof.Error
	if errors.As(err, &refused) {
		return &Outcome{Refusal: refused}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoKeys, err)
	}
	used, err := g.Client.VerifyProof(ctx, countersign.ProofVerifyRequest{Proof: compact, Audience: g.Verifier.Audience, Action: g.Action, Consume: true})
	if err != nil {
		return nil, err
	}
	if used.Valid && used.Claims.JTI != claims.ID {
		return &Outcome{Unavailable: true}, nil // the response is about another proof
	}
	if !used.Valid {
		code := "proof_unknown"
		if len(used.ReasonCodes) > 0 {
			code = used.ReasonCodes[0]
		}
		return &Outcome{Refusal: &proof.Error{Code: code, Msg: "the service does not accept it"}}, nil
	}
	return &Outcome{Allowed: true, Proof: claims}, nil
}
