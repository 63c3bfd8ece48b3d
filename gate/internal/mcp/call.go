package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/countersign-dev/countersign/gate/internal/config"
	"github.com/countersign-dev/countersign/gate/internal/decide"
	"github.com/countersign-dev/countersign/gate/internal/mapping"
	"github.com/countersign-dev/countersign/gate/internal/principal"
	"github.com/countersign-dev/countersign/gate/internal/rpc"
	"github.com/countersign-dev/countersign/gate/internal/state"
	"github.com/countersign-dev/countersign/sdk/go/exact"
	"github.com/countersign-dev/countersign/sdk/go/proof"
)

const (
	pollEvery     = 2 * time.Second
	progressEvery = 10 * time.Second
	patience      = 50 * time.Second // of clients that show no progress: many give up after a minute
	elicited      = "countersign"    // the name of the input request
)

// call is a call of a tool on its way.
type call struct {
	*incoming
	tool       *config.Tool
	definition *Definition
	arguments  map[string]any
	digest     string // of server, tool and arguments
	input      input  // that the server asked the client for
	inquiry    *decide.Inquiry
	shown      string // the challenge whose page the client was asked to open
}

// input is the part of a call that the server asked the client for.
type input struct {
	State     string          `json:"s,omitempty"`
	Responses json.RawMessage `json:"i,omitempty"`
}

func (i input) empty() bool { return i.State == "" && len(i.Responses) == 0 }

// pendingState is in a state: the authorization that a call waits for, or none, and the input that it waits with.
type pendingState struct {
	Authorization string `json:"a,omitempty"`
	Expires       int64  `json:"e"`
	Input         input  `json:"u"`
}

var (
	errForeign = &rpc.Error{Code: rpc.CodeParams, Message: "The state is of a different call, was changed, or has expired. Call the tool again without it."}
	errName    = &rpc.Error{Code: rpc.CodeParams, Message: "params.name must be the name of a tool."}
)

// call decides a call and sends it on.
func (r *incoming) call(ctx context.Context) error {
	c, err := r.read(ctx)
	var refusal *rpc.Error
	if errors.As(err, &refusal) {
		r.fail(refusal)
		return nil
	}
	if err != nil {
		return r.unavailable(ctx, err)
	}
	c.incoming.again = c.again
	if c.tool.Pass {
		return c.send(ctx)
	}
	waited, err := c.carried()
	if err != nil {
		return c.invalid(ctx, err)
	}
	return c.settle(ctx, waited)
}

// settle decides the call as it is now.
func (c *call) settle(ctx context.Context, waited string) error {
	if err := c.describe(ctx); err != nil {
		return c.invalid(ctx, err)
	}
	return c.decide(ctx, waited)
}

// again repeats the call with what the server asked for, which needs a decision of its own.
func (c *call) again(ctx context.Context, given input) error {
	c.input = given
	if c.tool.Pass {
		return c.send(ctx)
	}
	return c.settle(ctx, "")
}

// invalid responds to a call that cannot be decided.
func (c *call) invalid(ctx context.Context, err error) error {
	c.report(c.conf.Name, c.tool.Name, decide.Verdict{Outcome: decide.Refused, Code: "invalid_call", Reason: err})
	var refusal *rpc.Error
	if errors.As(err, &refusal) {
		c.fail(refusal)
	} else {
		c.reply(c.text("The call lacks a value that is needed to authorize it: "+err.Error()+".", ""))
	}
	return ctx.Err()
}

func (r *incoming) unavailable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	r.log.Warn("the tools of the server are unknown", "server", r.conf.Name, "error", err.Error())
	r.fail(&rpc.Error{Code: rpc.CodeInternal, Message: "The server is unavailable."})
	return nil
}

// read finds the tool and its arguments. An *rpc.Error refuses the call.
func (r *incoming) read(ctx context.Context) (*call, error) {
	name := rpc.String(r.params["name"])
	if name == "" {
		return nil, errName
	}
	tool, known := r.rule(name)
	if !known {
		return nil, &rpc.Error{Code: rpc.CodeParams, Message: "Unknown tool: " + name}
	}
	d, err := r.definition(ctx, name)
	if errors.Is(err, errUnaccepted) {
		r.report(r.conf.Name, name, decide.Verdict{Outcome: decide.Refused, Code: "unaccepted_tool"})
		return nil, &rpc.Error{Code: rpc.CodeParams, Message: "Unknown tool: " + name + ". It is unknown, or the operators of the gateway have not accepted its definition."}
	}
	if err != nil {
		return nil, err
	}
	if r.header != nil && r.modern() {
		if err := compareArguments(r.header, d, r.params["arguments"]); err != nil {
			return nil, err
		}
	}
	c := &call{incoming: r, tool: tool, definition: d, arguments: map[string]any{}}
	if raw := r.params["arguments"]; len(raw) > 0 {
		if err := json.Unmarshal(raw, &c.arguments); err != nil || c.arguments == nil {
			return nil, &rpc.Error{Code: rpc.CodeParams, Message: "params.arguments must be an object."}
		}
	}
	for argument := range c.arguments {
		for _, shown := range tool.Show {
			if argument != shown && exact.Fold(argument) == exact.Fold(shown) {
				return nil, &rpc.Error{Code: rpc.CodeParams, Message: fmt.Sprintf("The argument %.60q must be spelled %q.", argument, shown)}
			}
		}
	}
	return c, nil
}

// carried reads the state that the client brings back, and returns the authorization that the call waits for; empty for a new call.
func (c *call) carried() (string, error) {
	var err error
	if c.digest, err = proof.ContextDigest(map[string]any{"server": c.conf.Name, "tool": c.tool.Name, "arguments": c.arguments}); err != nil {
		return "", err
	}
	text := rpc.String(c.meta[metaAuthorization])
	if given := c.params["requestState"]; given != nil {
		text = rpc.String(given)
	} else if c.meta[metaAuthorization] == nil {
		c.input.Responses = c.params["inputResponses"]
		return "", nil
	}
	s, err := c.unseal(text)
	if err != nil {
		return "", errForeign
	}
	c.input = s.Input
	if s.Authorization == "" {
		c.input.Responses = c.params["inputResponses"]
	}
	return s.Authorization, nil
}

func (c *call) purpose() string { return "mcp call\n" + c.digest + "\n" + c.client.Who.Key() }

// seal returns the state of the call: with an authorization that it waits for, or empty with the server's own state.
func (c *call) seal(authorization string, i input) string {
	text, _ := json.Marshal(pendingState{authorization, time.Now().Add(c.config.StateTTL).Unix(), i}) // texts and valid JSON
	return c.config.State.Sign(c.purpose(), string(text))
}

func (c *call) unseal(sealed string) (pendingState, error) {
	var s pendingState
	text, err := c.config.State.Verify(c.purpose(), sealed)
	if err == nil {
		err = json.Unmarshal([]byte(text), &s)
	}
	if err == nil && time.Now().Unix() >= s.Expires {
		err = state.ErrInvalid
	}
	return s, err
}

// describe derives what is asked: agent, tool, the digests of all arguments and of the input, the arguments to be shown, and the mapping.
func (c *call) describe(ctx context.Context) error {
	canonical, err := proof.Canonical(c.arguments)
	if err != nil {
		return err
	}
	c.params["arguments"] = canonical
	digest, err := proof.ContextDigest(c.arguments)
	if err != nil {
		return err
	}
	fixed := map[string]any{"agent": c.client.Agent, "tool": c.tool.Name, "arguments_digest": digest}
	shown := map[string]any{}
	for _, name := range c.tool.Show {
		if value, given := c.arguments[name]; given {
			shown[name] = value
		}
	}
	if len(shown) > 0 {
		fixed["arguments"] = shown
	}
	if !c.input.empty() {
		if fixed["input_digest"], err = proof.ContextDigest(map[string]any{"state": c.input.State, "responses": c.input.Responses}); err != nil {
			return err
		}
	}
	who := c.client.Who
	values, err := c.tool.Mapping.CallValues(ctx, mapping.CallInput{
		Input:  mapping.Input{Token: who.Token, Subject: who.Subject, Issuer: who.Issuer, Principal: who.Source},
		Server: c.conf.Name, Tool: c.tool.Name, Agent: c.client.Agent, Arguments: c.arguments, Fixed: fixed,
	})
	if err != nil {
		return err
	}
	c.inquiry = &decide.Inquiry{Subject: who.Subject, Action: c.tool.Action, Audience: c.tool.Audience, ResourceType: c.tool.ResourceType, Values: values,
		Binding: state.Binding{Principal: who.Key(), Route: "mcp " + c.conf.Name, Digest: values.Digest}}
	return nil
}

// decide asks for the decision, waits if a person has to settle it, and sends the call on if it passes.
func (c *call) decide(ctx context.Context, waited string) error {
	v := c.ask(ctx, waited)
	if v.Outcome == decide.Challenge && waited != "" && c.declined() {
		c.core.Decline(ctx, v.Challenge)
		v = decide.Verdict{Outcome: decide.Refused, Code: "declined", Detail: "The person declined the call.", Authorization: v.Authorization}
	}
	if v.Waits() {
		var stop bool
		if v, stop = c.wait(ctx, v, waited != "" && c.answered()); stop {
			c.report(c.conf.Name, c.tool.Name, v)
			return ctx.Err()
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	c.report(c.conf.Name, c.tool.Name, v)
	if v.Passes() {
		return c.send(ctx)
	}
	c.refused(v)
	return nil
}

// ask continues the authorization that the call waits for, or that of identical calls.
func (c *call) ask(ctx context.Context, waited string) decide.Verdict {
	ctx, cancel := context.WithTimeout(ctx, 2*c.config.Timeout)
	defer cancel()
	if waited != "" {
		return c.core.Follow(ctx, c.inquiry, waited)
	}
	key := c.inquiry.Binding.Principal + "\n" + c.inquiry.Binding.Digest
	defer c.alone(key)()
	c.Gateway.mu.Lock()
	last := c.last[key]
	c.Gateway.mu.Unlock()
	v, last := c.core.Continued(ctx, c.inquiry, last, c.conf.RepeatWithin)
	if v.Outcome == decide.Allow {
		last = v.Authorization // consumed: the same call is a new one
	}
	c.Gateway.mu.Lock()
	defer c.Gateway.mu.Unlock()
	if len(c.last) >= keptRecent {
		clear(c.last)
	}
	c.last[key] = last
	return v
}

// turn is taken by identical calls one after the other, so that each finds what the previous one has consumed.
type turn struct {
	mu    sync.Mutex
	users int
}

// alone waits for the turn of a call, and returns its end.
func (g *Gateway) alone(key string) (end func()) {
	g.mu.Lock()
	t := g.turns[key]
	if t == nil {
		t = &turn{}
		g.turns[key] = t
	}
	t.users++
	g.mu.Unlock()
	t.mu.Lock()
	return func() {
		t.mu.Unlock()
		g.mu.Lock()
		defer g.mu.Unlock()
		if t.users--; t.users == 0 {
			delete(g.turns, key)
		}
	}
}

// response is the client's response to the request to open the page.
func (c *call) response() string {
	return rpc.String(rpc.Members(rpc.Members(c.params["inputResponses"])[elicited])["action"])
}

func (c *call) answered() bool { return c.response() == "accept" }

func (c *call) declined() bool { return slices.Contains([]string{"decline", "cancel"}, c.response()) }

// send sends the call to its server, with the input that the server asked for and without what is the gateway's.
func (c *call) send(ctx context.Context) error {
	if !c.tool.Pass || !c.input.empty() {
		c.input.into(c.params)
	}
	delete(c.params, "task") // tasks are the gateway's own
	if c.meta[metaAuthorization] != nil {
		delete(c.meta, metaAuthorization)
		c.params["_meta"] = rpc.Object(c.meta)
	}
	c.withoutTasks()
	c.m.Params = rpc.Object(c.params)
	return c.forward(ctx, c.definition, func(m *rpc.Message) {
		result := rpc.Members(m.Result)
		if c.tool.Pass || !c.modern() || rpc.String(result["resultType"]) != "input_required" {
			return
		}
		result["requestState"], _ = json.Marshal(c.seal("", input{State: rpc.String(result["requestState"])})) // a text
		m.Result = rpc.Object(result)
	})
}

// text is the result of a call that did not run. With a state, the same call continues.
func (c *call) text(sentence, sealed string) map[string]any {
	result := map[string]any{"isError": true, "content": []any{map[string]string{"type": "text", "text": sentence}}}
	if sealed != "" {
		result["_meta"] = map[string]string{metaAuthorization: sealed}
	}
	return c.complete(result)
}

// complete marks a result as the modern revision does.
func (c *call) complete(result map[string]any) map[string]any {
	if c.modern() {
		result["resultType"] = "complete"
	}
	return result
}

// refused responds to a call that does not run.
func (c *call) refused(v decide.Verdict) {
	sentence := v.Detail
	switch {
	case v.Used():
		sentence = "The approval was used by an identical call, or has expired. Call the tool again without state for a new decision."
	case v.Code == "not_approved":
		sentence = "The call was not approved: it was declined, or not approved in time."
	case v.Outcome == decide.Unavailable:
		c.log.Warn("a call was not authorized", "server", c.conf.Name, "tool", c.tool.Name, "code", v.Code, "error", errorText(v.Reason))
	}
	c.reply(c.text(sentence, ""))
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// opensPages reports whether the client opens pages when it is asked to.
func (c *call) opensPages() bool {
	if !c.modern() {
		return c.client.Pages
	}
	return pages(rpc.Members(c.meta[metaCapabilities])["elicitation"])
}

// pages reads whether a client's capability of elicitation includes the mode url.
func pages(capability json.RawMessage) bool {
	url := rpc.Members(capability)["url"]
	return url != nil && string(url) != "null"
}

// elicitation is the purpose of the ids of requests to open a page: their responses find their challenge on any replica.
func elicitation(who *principal.Principal) string { return "mcp elicitation\n" + who.Key() }

// progress notifies the client that the call waits, if the client asked for progress.
func (c *call) progress(n int) {
	token := c.meta["progressToken"]
	if token == nil {
		return
	}
	params := map[string]json.RawMessage{"progressToken": token, "progress": json.RawMessage(strconv.Itoa(n)), "message": json.RawMessage(`"The call waits for a person."`)}
	c.out.Send(Event{Message: &rpc.Message{Method: "notifications/progress", Params: rpc.Object(params)}})
}

// host is the part of a link that a person compares with their brand.
func host(link string) string {
	_, rest, _ := strings.Cut(link, "://")
	name, _, _ := strings.Cut(rest, "/")
	return name
}
