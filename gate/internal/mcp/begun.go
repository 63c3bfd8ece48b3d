package mcp

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/countersign-dev/countersign/gate/internal/rpc"
)

// introduction has what a client said when it began a session, for a server that knows none: each of its requests says it again.
type introduction struct {
	Capabilities json.RawMessage `json:"c"`
	Client       json.RawMessage `json:"i,omitempty"`
}

const (
	// introduced begins the session of a client whose server knows no sessions. No header can have it, so that no server can make it up. The rest
	// is the introduction, which any replica can read.
	introduced = "\n"
	// longestInfo is how long the description of a client may be: it is part of a header.
	longestInfo = 512
)

// introduction returns how the client began the session; nil if its server knows sessions, or the client does not.
func (t *translator) introduction(c *Client) *introduction {
	if text, is := strings.CutPrefix(c.Session, introduced); is {
		var i introduction
		if json.Unmarshal([]byte(text), &i) == nil {
			return &i
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.begun
}

// initialize begins a session: with the server, or, if it knows no sessions, by what it says of itself.
func (t *translator) initialize(ctx context.Context, c *Client, o Outgoing, out Replier) error {
	kept := &keeper{}
	if err := t.server.Request(ctx, c, o, kept); err != nil {
		return err
	}
	if t.serves(ctx, c, kept) {
		kept.pass(out)
		return nil
	}
	found := t.discover(ctx, c)
	if !recognized(found) || found.Error != nil {
		kept.pass(out)
		return ctx.Err()
	}
	begun := introduce(rpc.Members(o.Message.Params))
	head := Head{Status: http.StatusOK}
	if t.process {
		t.mu.Lock()
		t.begun = begun
		t.mu.Unlock()
	} else {
		text, _ := json.Marshal(begun) // JSON
		head.Session = introduced + string(text)
	}
	out.Begin(head)
	out.Send(Event{Message: rpc.Result(o.Message.ID, initialized(o.Message, rpc.Members(found.Result)))})
	return nil
}

// serves reports whether a session has begun that the server serves. Some servers that know none agree to any, and refuse all that follows.
func (t *translator) serves(ctx context.Context, c *Client, begun *keeper) bool {
	if begun.response == nil || begun.response.Error != nil {
		return false
	}
	in := *c
	if in.Version = rpc.String(rpc.Members(begun.response.Result)["protocolVersion"]); !legacyVersion(in.Version) {
		return false
	}
	t.mu.Lock()
	known := t.sessions
	t.mu.Unlock()
	if known {
		return true
	}
	if len(begun.heads) > 0 {
		in.Session = begun.heads[0].Session
	}
	got := &collector{}
	ping := &rpc.Message{ID: t.id(), Method: "ping"}
	if t.server.Request(ctx, &in, Outgoing{Message: ping, Version: in.Version}, got) != nil || got.response == nil || got.response.Error != nil {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sessions = true
	return true
}

// initialized is the result of initialize, from what the server says of itself.
func initialized(m *rpc.Message, found map[string]json.RawMessage) map[string]json.RawMessage {
	version := rpc.String(rpc.Members(m.Params)["protocolVersion"])
	if !legacyVersion(version) {
		version = legacyLatest
	}
	text, _ := json.Marshal(version) // a text
	result := map[string]json.RawMessage{"protocolVersion": text, "capabilities": sharedCapabilities(found["capabilities"]), "serverInfo": json.RawMessage(`{"name":"unknown","version":"0"}`)}
	if info := rpc.Members(found["_meta"])[metaServer]; info != nil {
		result["serverInfo"] = info
	}
	if found["instructions"] != nil {
		result["instructions"] = found["instructions"]
	}
	return result
}

// introduce keeps the capabilities of a client that both revisions have.
func introduce(params map[string]json.RawMessage) *introduction {
	given, kept := rpc.Members(params["capabilities"]), map[string]json.RawMessage{}
	for name, members := range map[string][]string{"elicitation": {"form", "url"}, "sampling": {"context", "tools"}, "roots": nil} {
		if given[name] == nil {
			continue
		}
		has, modes := rpc.Members(given[name]), map[string]json.RawMessage{}
		for _, member := range members {
			if has[member] != nil {
				modes[member] = json.RawMessage("{}")
			}
		}
		kept[name] = rpc.Object(modes)
	}
	i := &introduction{Capabilities: rpc.Object(kept)}
	if info := params["clientInfo"]; len(info) <= longestInfo {
		i.Client = info
	}
	return i
}

// keeper keeps what a request leads to.
type keeper struct {
	collector
	heads  []Head
	events []Event
}

// Begin keeps the head.
func (k *keeper) Begin(h Head) { k.heads = append(k.heads, h) }

// Send keeps an event.
func (k *keeper) Send(e Event) {
	k.collector.Send(e)
	k.events = append(k.events, e)
}

// pass passes on what was kept.
func (k *keeper) pass(out Replier) {
	for _, h := range k.heads {
		out.Begin(h)
	}
	for _, e := range k.events {
		out.Send(e)
	}
}

// inBegun sends a request of a client of a session to a server that knows none.
func (t *translator) inBegun(ctx context.Context, c *Client, begun *introduction, o Outgoing, out Replier) error {
	if o.Message.Method == "ping" {
		out.Begin(Head{Status: http.StatusOK})
		out.Send(Event{Message: rpc.Result(o.Message.ID, struct{}{})})
		return nil
	}
	if _, has := shared[o.Message.Method]; !has {
		refuseMethod(o.Message, http.StatusOK, out)
		return nil
	}
	params := rpc.Members(o.Message.Params)
	meta := rpc.Members(params["_meta"])
	meta[metaVersion], meta[metaCapabilities] = json.RawMessage(`"`+modernVersion+`"`), begun.Capabilities
	if begun.Client != nil {
		meta[metaClient] = begun.Client
	}
	params["_meta"] = rpc.Object(meta)
	m := &rpc.Message{ID: o.Message.ID, Method: o.Message.Method, Params: rpc.Object(params)}
	r := &begunReply{begun: begun, out: out}
	err := t.server.Request(ctx, without(c), Outgoing{m, modernVersion, o.Tool}, r)
	if err == nil && !r.replied {
		return errBroken
	}
	return err
}

// begunReply receives what a request of a client of a session leads to at a server that knows none.
type begunReply struct {
	begun   *introduction
	out     Replier
	replied bool
}

// Begin does nothing: the client's response begins with its message.
func (*begunReply) Begin(Head) {}

// Send passes on the response and its progress.
func (r *begunReply) Send(e Event) {
	m := e.Message
	switch {
	case m == nil:
	case m.Response():
		r.replied = true
		r.respond(m)
	case !m.Request() && m.Method == "notifications/progress":
		r.out.Send(Event{Message: m})
	}
}

func (r *begunReply) respond(m *rpc.Message) {
	r.out.Begin(Head{Status: http.StatusOK})
	if m.Error != nil {
		r.out.Send(Event{Message: m})
		return
	}
	result := rpc.Members(m.Result)
	switch kind := rpc.String(result["resultType"]); kind {
	case "", "complete":
		for _, name := range []string{"resultType", "ttlMs", "cacheScope"} {
			delete(result, name)
		}
		r.out.Send(Event{Message: &rpc.Message{ID: m.ID, Result: rpc.Object(result)}})
	case "input_required":
		if lacks := r.begun.lacks(result["inputRequests"]); lacks != "" {
			required := map[string]any{"requiredCapabilities": capability(lacks)}
			r.out.Send(Event{Message: rpc.Failure(m.ID, &rpc.Error{Code: rpc.CodeCapability, Message: "The server asks the client for " + lacks + ", which the client has not declared.", Data: required})})
			return
		}
		r.out.Send(Event{Message: m, Asks: true})
	default:
		r.out.Send(Event{Message: rpc.Failure(m.ID, &rpc.Error{Code: rpc.CodeInternal, Message: "The server's result is of a type that the client's revision does not have."})})
	}
}

// needed are the capabilities that requests of servers need.
var needed = map[string]string{"elicitation/create": "elicitation", "roots/list": "roots", "sampling/createMessage": "sampling"}

// lacks names a capability that the client would need to be asked; empty if it has all.
func (i *introduction) lacks(requests json.RawMessage) string {
	has := rpc.Members(i.Capabilities)
	for _, request := range rpc.Members(requests) {
		members := rpc.Members(request)
		name, known := needed[rpc.String(members["method"])]
		if !known {
			return "something else than elicitation, roots or sampling"
		}
		if has[name] == nil {
			return name
		}
		modes := rpc.Members(has[name])
		switch url := rpc.String(rpc.Members(members["params"])["mode"]) == "url"; {
		case name != "elicitation":
		case url && modes["url"] == nil:
			return "elicitation.url"
		case !url && modes["form"] == nil && modes["url"] != nil: // without modes, it is that of forms
			return "elicitation.form"
		}
	}
	return ""
}

// capability is the object with a capability.
func capability(name string) map[string]any {
	out := map[string]any{}
	for parts := strings.Split(name, "."); len(parts) > 0; parts = parts[:len(parts)-1] {
		out = map[string]any{parts[len(parts)-1]: out}
	}
	return out
}
