// Package protect puts a Countersign action in front of a route: the route runs when the service allows this subject this
// action on this resource, or when the request brings a proof that it did. Package protect/fibergate does the same for
// Fiber.
//
// A gate decides nothing itself but what to do while the service does not answer, and that by the rule it was given.
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

// ProofHeader is the request header in which a page brings the proof it was given after a step-up.
const ProofHeader = "Countersign-Proof"

// Ask is the action that a route is about to perform. Fill it from the request's own session and body, never from what
// only the page claims about its user. Subject and both parts of the resource are required.
type Ask struct {
	Subject        string
	ResourceType   string
	ResourceID     string
	Context        map[string]any // as the action's context_schema wants it
	Session        string         // pins an observation session; empty: the subject's latest
	IdempotencyKey string         // 8 to 128 characters; empty: a fresh one. The same one for the same attempt of a person
}

// Failure is what a gate does while the service does not decide.
type Failure int

// FailClosed refuses with 503, and is the zero value. FailOpen lets the request through and says so in Outcome.Unavailable,
// for the route to note.
const (
	FailClosed Failure = iota
	FailOpen
)

// ForRisk is the failure mode that suits a risk class: only what is of low risk goes on without a decision.
func ForRisk(class countersign.RiskClass) Failure {
	if class == countersign.RiskClassLow {
		return FailOpen
	}
	return FailClosed
}

// Gate guards one action. Client, Verifier and Action are required. It is safe for concurrent use.
//
// In an action's mode shadow nothing is refused. In mode test what is not allowed is refused, and there are no proofs to
// bring back: try the whole path with mode enforce in a sandbox.
type Gate struct {
	Client   *countersign.Client
	Verifier *proof.Verifier // its Audience is the audience asked for
	Action   string          // key
	Failure  Failure
	Within   time.Duration // how long a decision may take before Failure applies; 0 is 2 s
}

// Outcome is what came of an Ask.
type Outcome struct {
	Allowed     bool
	Unavailable bool                           // the service did not decide
	Decision    *countersign.AuthorizeResponse // nil where a proof was brought or nothing was decided
	Proof       *proof.Claims                  // of a proof that was brought, now used up
	Refusal     *proof.Error                   // why a proof that was brought is not taken
}

const decideWithin = 2 * time.Second

// Check asks. A proof, where it is not empty, is verified against ask and used up; one that does not hold is refused
// without asking anew. The error says what of the gate or of ask is wrong, or that the service refused the request
// itself (*countersign.Error), such as one whose context breaks the action's schema.
func (g *Gate) Check(ctx context.Context, ask Ask, compact string) (*Outcome, error) {
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
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	check := g.authorize
	if compact != "" {
		check = func(ctx context.Context, ask Ask) (*Outcome, error) { return g.redeem(ctx, ask, compact) }
	}
	outcome, err := check(ctx, ask)
	if err != nil && undecided(err) {
		return &Outcome{Unavailable: true, Allowed: g.Failure == FailOpen && compact == ""}, nil
	}
	return outcome, err
}

// undecided also holds where our own deadline ended the wait.
func undecided(err error) bool {
	return countersign.Unavailable(err) || errors.Is(err, context.DeadlineExceeded)
}

func (g *Gate) authorize(ctx context.Context, ask Ask) (*Outcome, error) {
	key := ask.IdempotencyKey
	if key == "" {
		key = rand.Text()
	}
	decision, err := g.Client.Authorize(ctx, countersign.AuthorizeRequest{
		Subject: ask.Subject, Action: g.Action, Audience: g.Verifier.Audience, Session: ask.Session, Context: ask.Context,
		Resource: countersign.Resource{Type: ask.ResourceType, ID: ask.ResourceID},
		Nonce:    rand.Text(), RequestedAt: time.Now().Unix(), IdempotencyKey: key,
	})
	if err != nil {
		return nil, err
	}
	allowed := decision.Decision == countersign.DecisionAllow || decision.Mode == countersign.ModeShadow
	return &Outcome{Allowed: allowed, Decision: decision}, nil
}

// redeem verifies a proof here and uses it up there, so that of any number of requests with one proof one goes through.
func (g *Gate) redeem(ctx context.Context, ask Ask, compact string) (*Outcome, error) {
	digest, err := proof.ContextDigest(ask.Context)
	if err != nil {
		return nil, fmt.Errorf("protect: Ask.Context: %w", err)
	}
	claims, err := g.Verifier.Verify(ctx, compact, proof.Expect{
		Action: g.Action, Subject: ask.Subject, ResourceType: ask.ResourceType, ResourceID: ask.ResourceID, Context: digest,
	})
	var refused *proof.Error
	if errors.As(err, &refused) {
		return &Outcome{Refusal: refused}, nil
	}
	if err != nil {
		return &Outcome{Unavailable: true}, nil //nolint:nilerr // the keys could not be had, and a proof cannot be taken unread
	}
	used, err := g.Client.VerifyProof(ctx, countersign.ProofVerifyRequest{Proof: compact, Audience: g.Verifier.Audience, Action: g.Action, Consume: true})
	if err != nil {
		return nil, err
	}
	if used.Valid && used.Claims.JTI != claims.ID {
		return &Outcome{Unavailable: true}, nil // the answer is about another proof
	}
	if !used.Valid {
		code := "proof_unknown"
		if len(used.ReasonCodes) > 0 {
			code = used.ReasonCodes[0]
		}
		return &Outcome{Refusal: &proof.Error{Code: code, Msg: "the service does not take it"}}, nil
	}
	return &Outcome{Allowed: true, Proof: claims}, nil
}
