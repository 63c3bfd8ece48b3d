package mcp

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/countersign-dev/countersign/gate/internal/rpc"
)

const (
	inputWithin   = 3 * time.Minute // how long a person may take for a server's question
	mostQuestions = 10              // of a server in the course of one request
)

// question asks a client of a session what a server that knows none has asked for, and repeats the request with the responses. A call of a tool
// that is repeated so is decided again, with its input.
func (r *incoming) question(ctx context.Context, asked json.RawMessage, change func(*rpc.Message)) error {
	if r.asked++; r.asked > mostQuestions {
		r.fail(&rpc.Error{Code: rpc.CodeInternal, Message: "The server asks for too much."})
		return nil
	}
	result := rpc.Members(asked)
	responses, refusal := r.inquire(ctx, rpc.Members(result["inputRequests"]))
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case refusal != nil:
		r.fail(refusal)
		return nil
	}
	given := input{State: rpc.String(result["requestState"])}
	if len(responses) > 0 {
		given.Responses = rpc.Object(responses)
	}
	if r.again != nil {
		return r.again(ctx, given)
	}
	given.into(r.params)
	r.m.Params = rpc.Object(r.params)
	return r.forward(ctx, nil, change)
}

// into sets the input of a request.
func (i input) into(params map[string]json.RawMessage) {
	delete(params, "requestState")
	delete(params, "inputResponses")
	if i.State != "" {
		params["requestState"], _ = json.Marshal(i.State) // a text
	}
	if len(i.Responses) > 0 {
		params["inputResponses"] = i.Responses
	}
}

// inquire sends the client one request after the other, and returns the results by the names of the requests.
func (r *incoming) inquire(ctx context.Context, requests map[string]json.RawMessage) (map[string]json.RawMessage, *rpc.Error) {
	if !r.enter() {
		return nil, &rpc.Error{Code: rpc.CodeInternal, Message: "Too many calls wait at once."}
	}
	defer r.leave()
	ctx, cancel := context.WithTimeout(ctx, inputWithin)
	defer cancel()
	out := map[string]json.RawMessage{}
	for _, name := range slices.Sorted(maps.Keys(requests)) {
		request := rpc.Members(requests[name])
		id, _ := json.Marshal("countersign-input-" + rand.Text()) // a text
		params := rpc.Members(request["params"])
		if rpc.String(params["mode"]) == "url" {
			params["elicitationId"] = id
		}
		m := &rpc.Message{ID: id, Method: rpc.String(request["method"]), Params: rpc.Object(params)}
		response, forget := r.expect(m)
		r.out.Send(Event{Message: m})
		select {
		case given := <-response:
			if given.Error != nil {
				return nil, &rpc.Error{Code: rpc.CodeInternal, Message: "The client did not respond to the server's question."}
			}
			out[name] = given.Result
		case <-ctx.Done():
			forget()
			return nil, &rpc.Error{Code: rpc.CodeInternal, Message: "The server's question was not settled in time."}
		}
	}
	return out, nil
}

// expect receives the client's response to a request, until it is forgotten.
func (r *incoming) expect(m *rpc.Message) (response <-chan *rpc.Message, forget func()) {
	key, c := inputKey(r.client, m), make(chan *rpc.Message, 1)
	r.Gateway.mu.Lock()
	defer r.Gateway.mu.Unlock()
	r.inputs[key] = c
	return c, func() {
		r.Gateway.mu.Lock()
		defer r.Gateway.mu.Unlock()
		delete(r.inputs, key)
	}
}

// given takes a response that a request waits for.
func (s *Server) given(c *Client, m *rpc.Message) bool {
	key := inputKey(c, m)
	s.Gateway.mu.Lock()
	defer s.Gateway.mu.Unlock()
	waiting := s.inputs[key]
	delete(s.inputs, key)
	if waiting != nil {
		waiting <- m
	}
	return waiting != nil
}

func inputKey(c *Client, m *rpc.Message) string { return c.Who.Key() + "\n" + rpc.String(m.ID) }
