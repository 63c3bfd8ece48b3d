package mcpgate

import (
	"context"
	"errors"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	countersign "github.com/countersign-dev/countersign/sdk/go"
	"github.com/countersign-dev/countersign/sdk/go/proof"
)

const (
	unavailable = "The call could not be authorized now. Try again in a moment."
	limited     = "The call could not be authorized now: too many requests. Try again later."
	confirm     = "Confirm this call on the page."
)

// firstMultiRound is the first version of the protocol in which a call can ask for input more than once. For older clients the
// MCP SDK runs the handler again once.
const firstMultiRound = "2026-07-28"

// begin requests a decision.
func (r *run) begin(ctx context.Context) *mcp.CallToolResult {
	outcome, err := r.gate().Check(ctx, r.ask(), "")
	switch {
	case err != nil:
		return r.failed(ctx, err)
	case outcome.Limited != nil:
		return r.limited(ctx, "", outcome.Limited)
	case outcome.Unavailable:
		return refused(unavailable)
	}
	d := outcome.Decision
	switch {
	case d.Mode == countersign.ModeShadow || outcome.Proof != nil: // in mode shadow decisions have no effect yet
		return nil
	case outcome.Refusal != nil:
		return r.unusable(d.ID, outcome.Refusal)
	case d.Decision == countersign.DecisionAllow:
		return r.refusal(d.ID, "The tool runs only on a proof, and the action issues none: set its mode to enforce.")
	case d.Decision == countersign.DecisionChallenge && d.Challenge != nil:
		return r.elicit(ctx, d.ID, d.Challenge.ID, d.HumanReadable.Detail)
	case d.Decision == countersign.DecisionHold:
		return r.wait(ctx, d.ID)
	}
	return r.refusal(d.ID, d.HumanReadable.Detail)
}

// redeem verifies and consumes a proof for this call.
func (r *run) redeem(ctx context.Context, authorization, compact string) *mcp.CallToolResult {
	outcome, err := r.gate().Check(ctx, r.ask(), compact)
	switch {
	case err != nil:
		return r.failed(ctx, err)
	case outcome.Limited != nil:
		return r.limited(ctx, authorization, outcome.Limited)
	case outcome.Unavailable:
		return r.refusal(authorization, unavailable)
	case outcome.Refusal != nil:
		return r.unusable(authorization, outcome.Refusal)
	}
	return nil
}

// unusable is the result of a call whose proof is not for it.
func (r *run) unusable(authorization string, why *proof.Error) *mcp.CallToolResult {
	return r.refusal(authorization, "The approval cannot be used for this call: "+why.Code+".")
}

// elicit asks the client to open the hosted page of a challenge. The link is for the person only: it is never part of the text
// that the agent reads.
func (r *run) elicit(ctx context.Context, authorization, challenge, message string) *mcp.CallToolResult {
	if len(r.req.Params.InputResponses) > 0 && r.older() {
		return r.refusal(authorization, "One more confirmation is required. Call the tool again with the same arguments and the entry "+MetaAuthorization+" of _meta.")
	}
	if !r.opensPages() {
		return r.refusal(authorization, "The person must confirm this call, and the client cannot open pages: it must support elicitation in mode url.")
	}
	link, err := r.Client.CreateChallengeLink(ctx, challenge, &countersign.ChallengeLinkRequest{For: "client"})
	if countersign.RateLimited(err) {
		return r.limited(ctx, authorization, err)
	}
	if err != nil {
		return r.failed(ctx, err)
	}
	return &mcp.CallToolResult{
		RequestState: r.seal(authorization),
		InputRequests: mcp.InputRequestMap{elicited: &mcp.ElicitParams{
			Mode: "url", URL: link.URL, ElicitationID: challenge, Message: message,
		}},
	}
}

// older reports whether the client speaks a version before firstMultiRound.
func (r *run) older() bool {
	p := r.req.Session.InitializeParams()
	return p != nil && p.ProtocolVersion < firstMultiRound
}

// opensPages reports whether the client supports elicitation in mode url.
func (r *run) opensPages() bool {
	if r.req.Session == nil {
		return false
	}
	p := r.req.Session.InitializeParams()
	return p != nil && p.Capabilities != nil && p.Capabilities.Elicitation != nil && p.Capabilities.Elicitation.URL != nil
}

// resume continues a call whose first part opened a challenge or a hold. Its state was sealed for this call.
func (r *run) resume(ctx context.Context, authorization string) *mcp.CallToolResult {
	t, err := r.Client.GetAuthorization(ctx, authorization)
	var unknown *countersign.Error
	switch {
	case errors.As(err, &unknown) && unknown.Status == 404: // erased meanwhile
		return refused("The approval is unknown. Call the tool again without it.")
	case countersign.RateLimited(err):
		return r.limited(ctx, authorization, err)
	case err != nil:
		return r.refusal(authorization, unavailable)
	}
	answer, answered := r.req.Params.InputResponses[elicited].(*mcp.ElicitResult)
	switch open := t.Challenge != nil && t.Challenge.Status == "open"; {
	case open && !answered:
		return r.elicit(ctx, authorization, t.Challenge.ID, confirm)
	case open && answer.Action != "accept":
		_, _ = r.Client.CancelChallenge(ctx, t.Challenge.ID) // it expires by itself if this fails
		return refused("The person declined the call.")
	}
	return r.wait(ctx, authorization)
}

// wait waits until a challenge or a hold is settled, and continues with its follow-up decision.
func (r *run) wait(ctx context.Context, authorization string) *mcp.CallToolResult {
	limit := r.Wait
	if limit <= 0 {
		limit = waitFor
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	t, err := r.settled(ctx, authorization)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return r.refusal(authorization, "The call waits for approval. Call the tool again with the same arguments and the entry "+MetaAuthorization+" of _meta.")
	case countersign.RateLimited(err):
		return r.limited(ctx, authorization, err)
	case err != nil:
		return r.refusal(authorization, unavailable)
	case t == nil:
		return refused("The call was not approved: it was declined, or not approved in time.")
	case t.Decision == countersign.DecisionAllow && (t.Proof == nil || t.Proof.Compact == ""):
		return refused("The approval was used or has expired. Call the tool again without it.")
	case t.Decision == countersign.DecisionAllow:
		return r.redeem(ctx, t.ID, t.Proof.Compact)
	case t.Decision == countersign.DecisionChallenge && t.Challenge != nil:
		return r.elicit(ctx, t.ID, t.Challenge.ID, confirm)
	case t.Decision == countersign.DecisionHold:
		return r.wait(ctx, t.ID)
	}
	return r.refusal(t.ID, "The call is not allowed.")
}

// settled polls an authorization until its challenge or hold is settled, and returns the follow-up decision; nil if there will
// be none.
func (r *run) settled(ctx context.Context, authorization string) (*countersign.AuthorizationTrace, error) {
	every := r.Poll
	if every <= 0 {
		every = pollEvery
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		t, err := r.Client.GetAuthorization(ctx, authorization)
		if err != nil {
			return nil, contextError(ctx, err)
		}
		switch {
		case t.Decision == countersign.DecisionAllow:
			return t, nil // a resumed call whose proof may still be unused
		case t.ChildAuthorization != "":
			child, err := r.Client.GetAuthorization(ctx, t.ChildAuthorization)
			return child, contextError(ctx, err)
		case t.Challenge != nil && t.Challenge.Status != "open", t.Challenge == nil && t.ReviewStatus != "pending":
			return nil, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-tick.C:
		}
	}
}

// contextError prefers the end of the wait to the error of the call that it interrupted.
func contextError(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}
