// Package mcpgate guards the tools of an MCP server with Countersign actions. Before a tool runs, the person for whom the agent
// works is authorized: a challenge becomes a URL elicitation to the hosted page, a hold waits for its review, and the tool
// runs only if a proof for exactly this call was verified and consumed.
//
// The package makes no decisions of its own, and fails closed: no call runs while the service is unavailable, or if a quota or
// rate limit of the service refuses it (429). It is a module of its own, so that the SDK does not depend on
// the MCP SDK.
package mcpgate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	countersign "github.com/countersign-dev/countersign/sdk/go"
	"github.com/countersign-dev/countersign/sdk/go/proof"
	"github.com/countersign-dev/countersign/sdk/go/protect"
)

// Gate guards tools. Client and Verifier are required. It holds no state: another process can finish a call that this one began.
type Gate struct {
	Client   *countersign.Client
	Verifier *proof.Verifier // its Audience is the audience of the decisions
	// StateKey seals the state of a call that waits, with 32 bytes or more. Processes that serve the same clients share it. Nil: derived from
	// the API key.
	StateKey []byte
	// Wait is how long a call waits for the person or a reviewer before it returns its state; 0 is 50 s: clients give up after 60 s
	// unless they are set otherwise.
	Wait time.Duration
	Poll time.Duration // how often it asks for the result meanwhile; 0 is 2 s
	Log  *slog.Logger  // of errors whose text a caller must not see; nil for none
}

// Call describes one call of a tool. Take Subject and Agent from the session that the server authenticated, such as
// CallToolRequest.Extra.TokenInfo, and never from the arguments, which the agent chooses. All but Session and Show are required.
type Call struct {
	Action       string // key of the action
	Subject      string // the person for whom the agent works
	Agent        string // the agent, such as the client id of its token
	ResourceType string
	ResourceID   string
	Session      string   // pins an observation session; empty: the subject's latest
	Show         []string // arguments that become part of the context, to be shown and checked by the action's context_schema
}

// Describe returns the description of a call. An error refuses the call; its text is shown to the agent.
type Describe[In any] func(ctx context.Context, req *mcp.CallToolRequest, in In) (Call, error)

const (
	waitFor   = 50 * time.Second
	pollEvery = 2 * time.Second
	// elicited names the input request of the elicitation.
	elicited = "countersign"
	// MetaAuthorization is the key in _meta of a refused call that contains its state. A call with the same arguments and this entry
	// continues to wait.
	MetaAuthorization = "countersign.dev/authorization"
)

// Tool guards a tool's handler. What is shown, authorized and executed is one value: the JSON of the decoded input, with the defaults
// of the tool's schema. describe and the handler receive the input that is decoded from it, and the request has it as its arguments.
//
//	mcp.AddTool(server, &mcp.Tool{Name: "transfer"}, mcpgate.Tool(gate, describe, transfer))
func Tool[In, Out any](g *Gate, describe Describe[In], next mcp.ToolHandlerFor[In, Out]) mcp.ToolHandlerFor[In, Out] {
	return func(ctx context.Context, req *mcp.CallToolRequest, in In) (*mcp.CallToolResult, Out, error) {
		var none Out
		if err := unambiguous(req.Params.Arguments); err != nil {
			return refused(err.Error()), none, nil
		}
		text, err := encode(in)
		if err != nil {
			return g.failed(ctx, err), none, nil
		}
		req = withArguments(req, text)
		var described, approved In // the second is decoded afresh: describe may have changed the first
		if err := errors.Join(json.Unmarshal(text, &described), json.Unmarshal(text, &approved)); err != nil {
			return g.failed(ctx, err), none, nil
		}
		call, err := describe(ctx, req, described)
		if err != nil {
			return nil, none, err
		}
		if stop := g.Check(ctx, req, call); stop != nil {
			return stop, none, nil
		}
		return next(ctx, req, approved)
	}
}

// Check returns nil if the tool may run now, once. Otherwise it returns the result of the call: an elicitation or a refusal. It
// is for handlers of the type mcp.ToolHandler; guard typed handlers with Tool, whose input has the defaults of the schema.
//
// Check replaces req.Params.Arguments with the canonical JSON that was authorized. Decode the arguments after Check.
func (g *Gate) Check(ctx context.Context, req *mcp.CallToolRequest, call Call) *mcp.CallToolResult {
	if g.Client == nil || g.Verifier == nil || len(g.StateKey) > 0 && len(g.StateKey) < 32 {
		return g.failed(ctx, errors.New("mcpgate: Gate.Client and Verifier must be set, and StateKey must have 32 bytes or more"))
	}
	r := &run{Gate: g, req: req, call: call}
	if call.Agent == "" {
		return g.failed(ctx, errors.New("mcpgate: Call.Agent must be set"))
	}
	if err := r.describe(); err != nil {
		return refused(err.Error())
	}
	if state := stateOf(req.Params); state != "" {
		authorization, err := r.unseal(state)
		if err != nil {
			return refused("The approval is for a different call, or has expired. Call the tool again without it.")
		}
		return r.resume(ctx, authorization)
	}
	return r.begin(ctx)
}

// failed is the result of a mistake of the server, whose text is for its log.
func (g *Gate) failed(ctx context.Context, err error) *mcp.CallToolResult {
	g.log(ctx, err)
	return refused("The call could not be authorized.")
}

func (g *Gate) log(ctx context.Context, err error) {
	if g.Log != nil {
		g.Log.LogAttrs(ctx, slog.LevelError, "a tool call was not authorized", slog.String("error", err.Error()))
	}
}

// refused is the result of a call that did not run.
func refused(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

// stateOf returns the state of an earlier part of the call; empty for a new call.
func stateOf(p *mcp.CallToolParamsRaw) string {
	if p.RequestState != "" {
		return p.RequestState
	}
	state, _ := p.Meta[MetaAuthorization].(string)
	return state
}

// run is one call of a tool.
type run struct {
	*Gate
	req     *mcp.CallToolRequest
	call    Call
	context map[string]any
	digest  string // of the context
}

// describe derives the context of the decision: agent, tool, the digest of all arguments, and the arguments to be shown.
func (r *run) describe() error {
	raw := r.req.Params.Arguments
	if err := unambiguous(raw); err != nil {
		return err
	}
	arguments := map[string]any{}
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &arguments); err != nil {
			return errNoObject
		}
	}
	if arguments == nil { // null
		arguments = map[string]any{}
	}
	if err := shownByName(arguments, r.call.Show); err != nil {
		return err
	}
	text, err := proof.Canonical(arguments)
	if err != nil {
		return fmt.Errorf("the arguments have no canonical form: %w", err)
	}
	r.req.Params.Arguments = text
	digest, err := proof.ContextDigest(arguments)
	if err != nil {
		return fmt.Errorf("the arguments have no canonical form: %w", err)
	}
	r.context = map[string]any{"agent": r.call.Agent, "tool": r.req.Params.Name, "arguments_digest": digest}
	shown := map[string]any{}
	for _, name := range r.call.Show {
		if value, given := arguments[name]; given {
			shown[name] = value
		}
	}
	if len(shown) > 0 {
		r.context["arguments"] = shown
	}
	r.digest, err = proof.ContextDigest(r.context)
	return err
}

// ask is the request of the call to the SDK's gate.
func (r *run) ask() protect.Ask {
	return protect.Ask{
		Subject: r.call.Subject, ResourceType: r.call.ResourceType, ResourceID: r.call.ResourceID, Context: r.context, Session: r.call.Session,
	}
}

// refusal is the result of a call that did not run and that may go on with an authorization; empty for none.
func (r *run) refusal(authorization, text string) *mcp.CallToolResult {
	out := refused(text)
	if authorization != "" {
		out.Meta = mcp.Meta{MetaAuthorization: r.seal(authorization)}
	}
	return out
}

// limited is the result of a call that a quota or rate limit of the service refused, which its operators must learn.
func (r *run) limited(ctx context.Context, authorization string, err error) *mcp.CallToolResult {
	r.log(ctx, err)
	return r.refusal(authorization, limited)
}

func (r *run) gate() *protect.Gate {
	return &protect.Gate{Client: r.Client, Verifier: r.Verifier, Action: r.call.Action, Within: 10 * time.Second}
}
