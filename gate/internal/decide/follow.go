package decide

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"time"

	countersign "github.com/countersign-dev/countersign/sdk/go"
	"github.com/countersign-dev/countersign/sdk/go/proof"
	"github.com/countersign-dev/countersign/sdk/go/protect"
)

// Codes of requests whose authorization is settled without an allow, or used.
const (
	codeSettled = "not_approved"
	codeUsed    = "proof_used"
)

// maxChain is the most follow-up decisions of one request.
const maxChain = 10

// poll is how often a client should ask whether a hold is settled, and graceOfProof how long after the end of a challenge its state is
// accepted: as long as the proof of the follow-up decision can be valid.
const (
	poll         = 15 * time.Second
	graceOfProof = 15 * time.Minute
)

// Follow continues an authorization: it returns what its challenge or hold has become.
func (c *Core) Follow(ctx context.Context, q *Inquiry, authorization string) Verdict {
	resource, err := proof.ResourceDigest(q.ResourceType, q.Values.ResourceID)
	if err != nil {
		return failed(err)
	}
	for range maxChain {
		t, err := c.client.GetAuthorization(ctx, authorization, q.Trace...)
		if err != nil {
			return failed(err)
		}
		if t.Subject != q.Subject || t.Action != q.Action || t.Audience != q.Audience || t.ContextDigest != q.Values.ContextDigest || t.ResourceDigest != resource {
			return refused(http.StatusForbidden, "state_invalid", "The state is of a different request.")
		}
		switch {
		case t.Mode == countersign.ModeShadow:
			return Verdict{Outcome: Shadow, Would: Outcome(t.Decision), Authorization: t.ID}
		case t.Decision == countersign.DecisionAllow:
			return c.approved(ctx, q, t)
		case t.Decision == countersign.DecisionDeny:
			return Verdict{Outcome: Deny, Status: http.StatusForbidden, Code: "denied", Detail: "The request is not allowed.", Authorization: t.ID}
		case t.ChildAuthorization != "":
			authorization = t.ChildAuthorization
			continue
		case t.Challenge != nil && t.Challenge.Status == "open":
			return challenged(t.ID, t.Challenge.ID, t.Challenge.ExpiresAt)
		case t.Decision == countersign.DecisionHold && t.ReviewStatus == "pending":
			return held(t.ID)
		}
		return Verdict{Outcome: Refused, Status: http.StatusForbidden, Code: codeSettled, Authorization: t.ID,
			Detail: "The request was not approved, or not in time. Send it again without Countersign-State for a new decision."}
	}
	return unavailable("unavailable", "The request cannot be authorized at the moment.", errors.New("the chain of follow-up decisions does not end"))
}

// approved redeems the proof of a follow-up decision.
func (c *Core) approved(ctx context.Context, q *Inquiry, t *countersign.AuthorizationTrace) Verdict {
	if t.Proof == nil || t.Proof.Compact == "" {
		return used(t.ID)
	}
	return c.redeem(ctx, q, t.ID, t.Proof.Compact, proof.Expect{ActionHash: t.ActionHash})
}

func used(authorization string) Verdict {
	return Verdict{Outcome: Refused, Status: http.StatusConflict, Code: codeUsed, Authorization: authorization,
		Detail: "The approval was used, or has expired. Send the request again, with a new Idempotency-Key and without Countersign-State, for a new decision."}
}

// redeem verifies a proof for this very request and consumes it. Nothing is forwarded without it.
func (c *Core) redeem(ctx context.Context, q *Inquiry, authorization, compact string, expect proof.Expect) Verdict {
	me, err := c.identity(ctx)
	if err != nil {
		return failed(err)
	}
	verifier := proof.Verifier{Keys: c.keys, Issuer: me.ProofIssuer, Environment: me.Environment, Audience: q.Audience, Leeway: 30 * time.Second, Now: c.now}
	expect.Action, expect.Subject, expect.Context = q.Action, q.Subject, q.Values.ContextDigest
	expect.ResourceType, expect.ResourceID = q.ResourceType, q.Values.ResourceID
	claims, err := verifier.Verify(ctx, compact, expect)
	if err == nil && claims.Authorization != authorization {
		err = errors.New("the proof is of a different authorization")
	}
	if err != nil {
		return unavailable("unavailable", "The request cannot be authorized at the moment.", fmt.Errorf("the proof does not verify: %w", err))
	}
	if q.LeavesProof {
		return Verdict{Outcome: Allow, Authorization: authorization, Proof: compact}
	}
	spent, err := c.client.VerifyProof(ctx, countersign.ProofVerifyRequest{Proof: compact, Audience: q.Audience, Action: q.Action, Consume: true}, q.Trace...)
	switch {
	case err != nil:
		return failed(err)
	case !spent.Valid:
		return used(authorization)
	case spent.Claims == nil || spent.Claims.JTI != claims.ID:
		return unavailable("unavailable", "The request cannot be authorized at the moment.", errors.New("the service consumed a different proof"))
	}
	return Verdict{Outcome: Allow, Authorization: authorization, Proof: compact}
}

func challenged(authorization, challenge string, expires time.Time) Verdict {
	return Verdict{Outcome: Challenge, Status: http.StatusUnauthorized, Code: "challenge_required", Authorization: authorization, Challenge: challenge, Expires: expires,
		Detail: "A person must confirm this request on the page, within the time of its link. Then send the request again with the state."}
}

func held(authorization string) Verdict {
	return Verdict{Outcome: Hold, Status: http.StatusForbidden, Code: "approval_pending", Authorization: authorization, RetryAfter: poll,
		Detail: "The request waits for the approval of a reviewer. Send it again with the state to see whether it is approved."}
}

// Link returns the link for a client to the hosted page of a challenge.
func (c *Core) Link(ctx context.Context, q *Inquiry, challenge, returnURL string) (string, error) {
	link, err := c.client.CreateChallengeLink(ctx, challenge, &countersign.ChallengeLinkRequest{For: "client", ReturnURL: returnURL}, q.Trace...)
	if err != nil {
		return "", err
	}
	return link.URL, nil
}

// dressed adds to a verdict what a client needs to come back: the state, and for a challenge the link.
func (c *call) dressed(ctx context.Context, v Verdict) Verdict {
	switch v.Outcome {
	case Hold:
		v.StateTTL = c.config.StateTTL
	case Challenge:
		v.StateTTL = max(v.Expires.Sub(c.now()), 0) + graceOfProof
	default:
		return v
	}
	if c.inquiry.Dry {
		return v
	}
	v.State, v.Cookie = c.config.State.Seal(v.Authorization, c.now().Add(v.StateTTL), c.inquiry.Binding), c.cookieName()
	if v.Outcome == Hold {
		return v
	}
	v.Login = c.login()
	var back string
	if browser(c.Request) && safe(c.Request.Method) {
		back = c.returnURL(c.Match, v.Cookie, v.State)
	}
	var err error
	v.Link, err = c.Link(ctx, c.inquiry, v.Challenge, back)
	if back != "" && countersign.IsCode(err, countersign.CodeValidationError) {
		v.Reason = fmt.Errorf("the page will not link back: add the origin of this host to return_origins of the environment: %w", err)
		v.Link, err = c.Link(ctx, c.inquiry, v.Challenge, "")
	}
	if err != nil {
		return failed(err)
	}
	return v
}

// login returns the login that can satisfy the route, or nil if the token already has what it requires: a client that is challenged all the same
// would log in for ever.
func (c *call) login() *protect.LoginRequired {
	l := c.Route.Login
	if l == nil || c.who.Token == nil {
		return nil
	}
	acr, _ := c.who.Token["acr"].(string)
	at, _ := c.who.Token["auth_time"].(float64)
	strong := len(l.ACRValues) == 0 || slices.Contains(l.ACRValues, acr)
	fresh := l.MaxAge == 0 || float64(c.now().Unix())-at <= math.Floor(l.MaxAge.Seconds())
	if strong && fresh {
		return nil
	}
	return l
}

// Decline cancels a challenge that the person declined at the client. It expires by itself if this fails.
func (c *Core) Decline(ctx context.Context, challenge string) {
	_, _ = c.client.CancelChallenge(ctx, challenge)
}
