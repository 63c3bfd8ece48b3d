package mcp

import (
	"context"
	"encoding/json"
	"time"

	"github.com/countersign-dev/countersign/gate/internal/decide"
	"github.com/countersign-dev/countersign/gate/internal/rpc"
)

// wait waits until a person has settled the call. If stop is true the client has its response: it is asked to open a page, has a task, or
// learns how to continue.
func (c *call) wait(ctx context.Context, v decide.Verdict, confirmed bool) (_ decide.Verdict, stop bool) {
	if v.Outcome == decide.Hold && c.takesTasks() {
		c.begin(v)
		return v, true
	}
	if stopped, done := c.present(ctx, v, confirmed); done {
		return stopped, true
	}
	if !c.enter() {
		c.pendingReply(v)
		return v, true
	}
	defer c.leave()
	v, expired := c.poll(ctx, v)
	switch {
	case ctx.Err() != nil:
		return v, true // a client that disconnects ends nothing: the same call finds its authorization
	case expired:
		c.pendingReply(v)
		return v, true
	}
	if c.shown != "" && !c.modern() {
		params, _ := json.Marshal(map[string]string{"elicitationId": c.shown}) // texts
		c.out.Send(Event{Message: &rpc.Message{Method: "notifications/elicitation/complete", Params: params}})
	}
	return v, false
}

// poll follows the authorization until it is settled. Expired is true after the time that the call may wait.
func (c *call) poll(ctx context.Context, v decide.Verdict) (_ decide.Verdict, expired bool) {
	began, told := time.Now(), time.Now()
	budget, said := c.tool.Wait, 0
	if c.meta["progressToken"] == nil {
		budget = min(budget, patience)
	}
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for time.Since(began) < budget {
		select {
		case <-ctx.Done():
			return v, false
		case <-tick.C:
		}
		if time.Since(told) >= progressEvery {
			said, told = said+1, time.Now()
			c.progress(said)
		}
		next := c.ask(ctx, v.Authorization)
		switch {
		case next.Outcome == decide.Unavailable:
			continue
		case !next.Waits():
			return next, false
		case next.Authorization != v.Authorization:
			if stopped, done := c.present(ctx, next, false); done {
				return stopped, true
			}
		}
		v = next
	}
	return v, true
}

// present asks the client to open the page of a challenge. Done is true if that is the response of the call.
func (c *call) present(ctx context.Context, v decide.Verdict, confirmed bool) (_ decide.Verdict, done bool) {
	if v.Outcome != decide.Challenge || confirmed {
		return v, false
	}
	if !c.opensPages() {
		c.reply(c.text("The person must confirm this call, and the client cannot open pages: it must support elicitation in mode url.", c.seal(v.Authorization, c.input)))
		return v, true
	}
	link, err := c.core.Link(ctx, c.inquiry, v.Challenge, "")
	if err != nil {
		c.refused(decide.Verdict{Outcome: decide.Unavailable, Code: "no_link", Detail: "The call could not be authorized now. Try again in a moment.", Reason: err})
		return v, true
	}
	ask := map[string]any{"mode": "url", "url": link, "elicitationId": v.Challenge, "message": "Confirm this call on the page of " + host(link) + "."}
	if c.modern() {
		delete(ask, "elicitationId")
		c.reply(map[string]any{"resultType": "input_required", "requestState": c.seal(v.Authorization, c.input),
			"inputRequests": map[string]any{elicited: map[string]any{"method": "elicitation/create", "params": ask}}})
		return v, true
	}
	c.shown = v.Challenge
	id, _ := json.Marshal(c.config.State.Sign(elicitation(c.client.Who), v.Challenge)) // a text
	params, _ := json.Marshal(ask)                                                     // texts
	c.out.Send(Event{Message: &rpc.Message{ID: id, Method: "elicitation/create", Params: params}})
	return v, false
}

// pendingReply says how to continue.
func (c *call) pendingReply(v decide.Verdict) {
	c.reply(c.text("The call waits for the approval of a person. Call the tool again with the same arguments to see whether it is approved.", c.seal(v.Authorization, c.input)))
}

// enter takes one of the slots of the principal for calls that wait.
func (r *incoming) enter() bool {
	r.Gateway.mu.Lock()
	defer r.Gateway.mu.Unlock()
	key := r.client.Who.Key()
	if r.waiting[key] >= r.config.Waiting {
		return false
	}
	r.waiting[key]++
	return true
}

func (r *incoming) leave() {
	r.Gateway.mu.Lock()
	defer r.Gateway.mu.Unlock()
	key := r.client.Who.Key()
	if r.waiting[key]--; r.waiting[key] == 0 {
		delete(r.waiting, key)
	}
}
