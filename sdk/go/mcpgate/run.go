package mcpgate

import (
	"context"
	"errors"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	countersign "github.com/countersign-dev/countersign/sdk/go"
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
		return refusal("", unavailable)
	}
	d := outcome.Decision
	switch {
	case d.Mode == countersign.ModeShadow:
		return nil // decisions have no effect yet
	case d.Decision == countersign.DecisionAllow && d.Proof == "":
		return refusal(d.ID, "The tool runs only on a proof, and the action issues none: set its mode to enforce.")
	case d.Decision == countersign.DecisionAllow:
		return r.redeem(ctx, d.ID, d.Proof)
	case d.Decision == countersign.DecisionChallenge && d.Challenge != nil:
		return r.elicit(ctx, d.ID, d.Challenge.ID, d.HumanReadable.Detail)
	case d.Decision == countersign.DecisionHold:
		return r.wait(ctx, d.ID)
	}
	return refusal(d.ID, d.HumanReadable.Detail)
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
		return refusal(authorization, unavailable)
	case outcome.Refusal != nil:
		return refusal(authorization, "The approval cannot be used for this call: "+outcome.Refusal.Code+".")
	}
	return nil
}

// elicit asks the client to open the hosted page of a challenge. The link is for the person only: it is never part of the text
// that the agent reads.
func (r *run) elicit(ctx context.Context, authorization, challenge, message string) *mcp.CallToolResult {
	if len(r.req.Params.InputResponses) > 0 && r.older() {
		return refusal(authorization, "One more confirmation is required. Call the tool again with the same arguments and the entry "+MetaAuthorization+" of _meta.")
	}
	if !r.opensPages() {
		return refusal(authorization, "The person must confirm this call, and the client cannot open pages: it must support elicitation in mode url.")
	}
	link, err := r.Client.CreateChallengeLink(ctx, challenge, nil)
	if countersign.RateLimited(err) {
		return r.limited(ctx, authorization, err)
	}
	if err != nil {
		return r.failed(ctx, err)
	}
	return &mcp.CallToolResult{
		RequestState: authorization,
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

// resume continues a call whose first part opened a challenge or a hold. The caller chose the id: the record must be of this
// person and for these arguments.
func (r *run) resume(ctx context.Context, authorization string) *mcp.CallToolResult {
	t, err := r.Client.GetAuthorization(ctx, authorization)
	var refused *countersign.Error
	switch {
	case errors.As(err, &refused) && refused.Status == 404:
		return refusal("", "The approval is unknown. Call the tool again without it.")
	case countersign.RateLimited(err):
		return r.limited(ctx, authorization, err)
	case err != nil:
		return refusal(authorization, unavailable)
	case t.Subject != r.call.Subject || t.Action != r.call.Action || t.ContextDigest != r.digest:
		return refusal("", "The approval is for a different call. Call the tool again without it.")
	}
	answer, answered := r.req.Params.InputResponses[elicited].(*mcp.ElicitResult)
	switch open := t.Challenge != nil && t.Challenge.Status == "open"; {
	case open && !answered:
		return r.elicit(ctx, authorization, t.Challenge.ID, confirm)
	case open && answer.Action != "accept":
		_, _ = r.Client.CancelChallenge(ctx, t.Challenge.ID) // it expires by itself if this fails
		return refusal("", "The person declined the call.")
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
		return refusal(authorization, "The call waits for approval. Call the tool again with the same arguments and the entry "+MetaAuthorization+" of _meta.")
	case countersign.RateLimited(err):
		return r.limited(ctx, authorization, err)
	case err != nil:
		return refusal(authorization, unavailable)
	case t == nil:
		return refusal("", "The call was not approved: it was declined, or not approved in time.")
	case t.Decision == countersign.DecisionAllow && (t.Proof == nil || t.Proof.Compact == ""):
		return refusal("", "The approval was used or has expired. Call the tool again without it.")
	case t.Decision == countersign.DecisionAllow:
		return r.redeem(ctx, t.ID, t.Proof.Compact)
	case t.Decision == countersign.DecisionChallenge && t.Challenge != nil:
		return r.elicit(ctx, t.ID, t.Challenge.ID, confirm)
	case t.Decision == countersign.DecisionHold:
		return r.wait(ctx, t.ID)
	}
	return refusal(t.ID, "The call is not allowed.")
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
