package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/countersign-dev/countersign/gate/internal/rpc"
)

// session is one that the gateway holds with a server for a principal whose clients know no sessions. It declares no capabilities, so that the
// server has nothing to ask for.
type session struct {
	mu          sync.Mutex
	begun       bool
	id, version string
	result      map[string]json.RawMessage // of initialize
	last        *Client
	used        int
	idle        *time.Timer
}

const (
	keptSessions = 10_000
	legacyLatest = "2025-11-25"
)

// session returns the session of a principal, which it begins if there is none.
func (t *translator) session(ctx context.Context, c *Client) (*session, error) {
	key := c.Who.Key()
	t.mu.Lock()
	s := t.held[key]
	if s == nil {
		if len(t.held) >= keptSessions {
			t.mu.Unlock()
			return nil, errTooMany
		}
		s = &session{}
		t.held[key] = s
	}
	t.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.begun {
		return s, nil
	}
	if err := t.begin(ctx, c, s); err != nil {
		t.drop(key, s)
		return nil, err
	}
	s.begun, s.last = true, s.client(c)
	if !t.process {
		s.idle = time.AfterFunc(idleAfter, func() { t.retire(key, s) })
	}
	return s, nil
}

// begin initializes a session.
func (t *translator) begin(ctx context.Context, c *Client, s *session) error {
	begun := &beginner{}
	m := &rpc.Message{ID: t.id(), Method: "initialize", Params: rpc.Object(map[string]json.RawMessage{
		"protocolVersion": json.RawMessage(`"` + legacyLatest + `"`), "capabilities": json.RawMessage("{}"), "clientInfo": ownInfo})}
	fresh := without(c)
	fresh.Version = ""
	if err := t.server.Request(ctx, fresh, Outgoing{Message: m}, begun); err != nil {
		return err
	}
	if begun.response == nil || begun.response.Error != nil {
		return errors.New("the server does not begin a session")
	}
	s.result = rpc.Members(begun.response.Result)
	s.id, s.version = begun.session, rpc.String(s.result["protocolVersion"])
	if !legacyVersion(s.version) {
		return errors.New("the server begins a session of an unknown version")
	}
	return t.server.Send(ctx, s.client(c), Outgoing{Message: &rpc.Message{Method: "notifications/initialized"}, Version: s.version})
}

// beginner keeps the response to initialize, and the session that it begins.
type beginner struct {
	collector
	session string
}

// Begin keeps the session.
func (b *beginner) Begin(h Head) { b.session = h.Session }

// client is a client in the session.
func (s *session) client(c *Client) *Client {
	in := *c
	in.Session, in.Version = s.id, s.version
	return &in
}

// use keeps the session until done.
func (s *session) use(c *Client) (in *Client, done func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used++
	s.last = s.client(c)
	if s.idle != nil {
		s.idle.Stop()
	}
	return s.last, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.used--; s.used == 0 && s.idle != nil {
			s.idle.Reset(idleAfter)
		}
	}
}

func (t *translator) drop(key string, s *session) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.held[key] == s {
		delete(t.held, key)
	}
}

// retire ends a session that no client uses.
func (t *translator) retire(key string, s *session) {
	s.mu.Lock()
	used, last := s.used > 0, s.last
	s.mu.Unlock()
	if used {
		return
	}
	t.drop(key, s)
	t.end(context.Background(), last)
}

func (t *translator) endHeld() {
	t.mu.Lock()
	all := t.held
	t.held = map[string]*session{}
	t.mu.Unlock()
	if t.process {
		return // the program ends
	}
	ctx, cancel := context.WithTimeout(context.Background(), stopWithin)
	defer cancel()
	for _, s := range all {
		s.mu.Lock()
		last := s.last
		if s.idle != nil {
			s.idle.Stop()
		}
		s.mu.Unlock()
		t.end(ctx, last)
	}
}

func (t *translator) end(ctx context.Context, c *Client) {
	ctx, cancel := context.WithTimeout(ctx, stopWithin)
	defer cancel()
	if c != nil && c.Session != "" {
		_ = t.server.End(ctx, c) // a server may not know the end of sessions
	}
}

// introduce describes a server by what it said when the session began.
func (t *translator) introduce(ctx context.Context, c *Client, o Outgoing, out Replier) error {
	s, err := t.session(ctx, c)
	if err != nil {
		return err
	}
	known, _ := json.Marshal([]string{modernVersion, s.version}) // texts
	result := map[string]json.RawMessage{"supportedVersions": known, "capabilities": sharedCapabilities(s.result["capabilities"])}
	if s.result["instructions"] != nil {
		result["instructions"] = s.result["instructions"]
	}
	s.complete(result, true)
	out.Begin(Head{Status: http.StatusOK})
	out.Send(Event{Message: rpc.Result(o.Message.ID, result)})
	return nil
}

// complete marks a result as the modern revision does. The server has not said that a result may be kept.
func (s *session) complete(result map[string]json.RawMessage, cached bool) {
	delete(result, "requestState")
	delete(result, "inputRequests")
	result["resultType"] = json.RawMessage(`"complete"`)
	if cached {
		result["ttlMs"], result["cacheScope"] = json.RawMessage("0"), json.RawMessage(`"private"`)
	}
	if info := s.result["serverInfo"]; info != nil {
		meta := rpc.Members(result["_meta"])
		meta[metaServer] = info
		result["_meta"] = rpc.Object(meta)
	}
}

// inHeld sends a request in the gateway's session. If the session has ended, it begins a new one and sends the request again; but a call of a
// tool is sent once.
func (t *translator) inHeld(ctx context.Context, c *Client, o Outgoing, out Replier) error {
	for once := o.Message.Method == "tools/call"; ; once = true {
		s, err := t.session(ctx, c)
		if err != nil {
			return err
		}
		r := &heldReply{t: t, s: s, request: o.Message, out: out, id: t.id()}
		if err := r.run(ctx, c); err != nil {
			return err
		}
		if !r.gone {
			return nil
		}
		t.drop(c.Who.Key(), s)
		t.learn(eraUnknown)
		if once {
			return errNoSession
		}
	}
}

// heldReply receives what a request in the gateway's session leads to.
type heldReply struct {
	t       *translator
	s       *session
	client  *Client
	request *rpc.Message // of the client
	out     Replier
	id      json.RawMessage // by which the server knows the request, and its progress
	gone    bool
	replied bool
}

func (r *heldReply) run(ctx context.Context, c *Client) error {
	in, done := r.s.use(c)
	defer done()
	r.client = in
	err := r.t.server.Request(ctx, in, Outgoing{Message: r.translated(), Version: in.Version}, r)
	switch {
	case ctx.Err() != nil:
		if !r.t.process { // a program has been notified
			params := rpc.Object(map[string]json.RawMessage{"requestId": r.id})
			_ = r.t.server.Send(context.WithoutCancel(ctx), in, Outgoing{Message: &rpc.Message{Method: "notifications/cancelled", Params: params}, Version: in.Version})
		}
		return ctx.Err()
	case err != nil:
		return err
	case !r.replied && !r.gone:
		return errBroken
	}
	return nil
}

// translated is the request without what each request of the modern revision says. Clients of one principal share a session, so that ids and
// tokens of progress are the gateway's.
func (r *heldReply) translated() *rpc.Message {
	params := rpc.Members(r.request.Params)
	meta := rpc.Members(params["_meta"])
	for _, name := range []string{metaVersion, metaCapabilities, metaClient, metaLevel} {
		delete(meta, name)
	}
	if meta["progressToken"] != nil {
		meta["progressToken"] = r.id
	}
	for _, name := range []string{"_meta", "requestState", "inputResponses"} {
		delete(params, name)
	}
	if len(meta) > 0 {
		params["_meta"] = rpc.Object(meta)
	}
	return &rpc.Message{ID: r.id, Method: r.request.Method, Params: rpc.Object(params)}
}

// Begin sees whether the session has ended. The client's response begins with its message.
func (r *heldReply) Begin(h Head) { r.gone = h.Status == http.StatusNotFound }

// Send passes on the response and its progress. Nothing else of the session is of one request.
func (r *heldReply) Send(e Event) {
	m := e.Message
	switch {
	case m == nil || r.gone:
	case m.Response():
		r.replied = true
		r.respond(m)
	case m.Request():
		go r.t.respond(context.Background(), r.client, m)
	case m.Method == "notifications/progress":
		params := rpc.Members(m.Params)
		token := rpc.Members(rpc.Members(r.request.Params)["_meta"])["progressToken"]
		if token == nil || string(params["progressToken"]) != string(r.id) {
			return
		}
		params["progressToken"] = token
		r.out.Send(Event{Message: &rpc.Message{Method: m.Method, Params: rpc.Object(params)}})
	}
}

func (r *heldReply) respond(m *rpc.Message) {
	translated, status := &rpc.Message{ID: r.request.ID, Error: m.Error}, http.StatusOK
	if m.Error != nil {
		members := rpc.Members(m.Error)
		switch string(members["code"]) {
		case "-32002": // a missing resource, until the modern revision
			if r.request.Method == "resources/read" {
				members["code"] = json.RawMessage("-32602")
				translated.Error = rpc.Object(members)
			}
		case "-32601":
			status = http.StatusNotFound
		}
	} else {
		result := rpc.Members(m.Result)
		r.s.complete(result, shared[r.request.Method].cached)
		translated.Result = rpc.Object(result)
	}
	r.out.Begin(Head{Status: status})
	r.out.Send(Event{Message: translated})
}
