package mcp

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/countersign-dev/countersign/gate/internal/rpc"
)

// translator is a server in the revision of each client. If client and server have a revision in common, messages pass as they are. Otherwise it
// holds a session with the server for clients that know none (held.go), or is the session of a client whose server knows none (begun.go). What it
// is given has been decided; it sends each call of a tool once.
type translator struct {
	server  Upstream
	process bool // the server is a program, which has one client

	probing sync.Mutex
	ids     atomic.Int64

	mu    sync.Mutex
	era   era
	held  map[string]*session // with a server that only knows sessions, by principal
	begun *introduction       // of the client of a program that knows no sessions

	sessions bool // the server serves the sessions that clients begin
}

// era says which revisions a server knows. It is found out once, as the specification has it (2026-07-28, basic/versioning).
type era int

const (
	eraUnknown era = iota
	eraModern      // the server may know sessions too
	eraLegacy      // only sessions
)

// shared are the requests that mean the same in both revisions. Each other one ends at the translator.
var shared = map[string]struct{ cached bool }{
	"completion/complete":      {},
	"prompts/get":              {},
	"prompts/list":             {cached: true},
	"resources/list":           {cached: true},
	"resources/read":           {cached: true},
	"resources/templates/list": {cached: true},
	"tools/call":               {},
	"tools/list":               {cached: true},
}

// sharedCapabilities are those of servers whose methods are shared. Neither subscriptions nor notifications of changes are translated.
func sharedCapabilities(given json.RawMessage) json.RawMessage {
	has, out := rpc.Members(given), map[string]json.RawMessage{}
	for _, name := range []string{"completions", "prompts", "resources", "tools"} {
		if has[name] != nil {
			out[name] = json.RawMessage("{}")
		}
	}
	return rpc.Object(out)
}

// probeFor is how long a server may take to describe itself. Some servers of earlier revisions never respond to what they do not know.
const probeFor = 10 * time.Second

func translated(server Upstream) *translator {
	return &translator{server: server, held: map[string]*session{}}
}

// Request sends a request on, translated if the server does not know the client's revision.
func (t *translator) Request(ctx context.Context, c *Client, o Outgoing, out Replier) error {
	switch begun := t.introduction(c); {
	case o.Version == modernVersion:
		return t.modern(ctx, c, o, out)
	case o.Message.Method == "initialize":
		return t.initialize(ctx, c, o, out)
	case begun != nil:
		return t.inBegun(ctx, c, begun, o, out)
	}
	return t.server.Request(ctx, c, o, out)
}

// modern sends a request of a client that knows no sessions.
func (t *translator) modern(ctx context.Context, c *Client, o Outgoing, out Replier) error {
	modern, err := t.speaksModern(ctx, c)
	switch {
	case err != nil:
		return err
	case modern:
		watched := &statusWatch{Replier: out}
		err := t.server.Request(ctx, c, o, watched)
		if watched.refused {
			t.learn(eraUnknown) // it may be a different server by now
		}
		return err
	case o.Message.Method == "server/discover":
		return t.introduce(ctx, c, o, out)
	}
	if _, has := shared[o.Message.Method]; !has {
		refuseMethod(o.Message, 404, out)
		return nil
	}
	return t.inHeld(ctx, c, o, out)
}

func refuseMethod(m *rpc.Message, status int, out Replier) {
	out.Begin(Head{Status: status})
	out.Send(Event{Message: rpc.Failure(m.ID, &rpc.Error{Code: rpc.CodeMethod, Message: "The server speaks a different revision of the protocol, which does not have " + m.Method + "."})})
}

// statusWatch sees whether a server refuses a request.
type statusWatch struct {
	Replier
	refused bool
}

// Begin passes on.
func (w *statusWatch) Begin(h Head) {
	w.refused = w.refused || h.Status/100 == 4
	w.Replier.Begin(h)
}

// speaksModern finds out whether a server knows the modern revision, once.
func (t *translator) speaksModern(ctx context.Context, c *Client) (bool, error) {
	if e := t.known(); e != eraUnknown {
		return e == eraModern, nil
	}
	t.probing.Lock()
	defer t.probing.Unlock()
	if e := t.known(); e != eraUnknown {
		return e == eraModern, nil
	}
	if recognized(t.discover(ctx, c)) {
		t.learn(eraModern)
		return true, nil
	}
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	_, err := t.session(ctx, c)
	switch {
	case err == nil:
		t.learn(eraLegacy)
		return false, nil
	case recognized(t.discover(ctx, c)): // it began slowly
		t.learn(eraModern)
		return true, nil
	}
	return false, err // neither: the server may be down, so that nothing is known
}

func (t *translator) known() era {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.era
}

func (t *translator) learn(e era) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.era, t.sessions = e, t.sessions && e != eraUnknown
}

// discover asks a server to describe itself. The response is nil if there is none.
func (t *translator) discover(ctx context.Context, c *Client) *rpc.Message {
	ctx, cancel := context.WithTimeout(ctx, probeFor)
	defer cancel()
	got := &collector{}
	m := &rpc.Message{ID: t.id(), Method: "server/discover", Params: rpc.Object(map[string]json.RawMessage{"_meta": ownMeta})}
	if t.server.Request(ctx, without(c), Outgoing{Message: m, Version: modernVersion}, got) != nil {
		return nil
	}
	return got.response
}

// What the gateway says of itself.
var (
	ownInfo = json.RawMessage(`{"name":"countersign-gate","version":"1"}`)
	ownMeta = rpc.Object(map[string]json.RawMessage{metaVersion: json.RawMessage(`"` + modernVersion + `"`), metaCapabilities: json.RawMessage("{}"), metaClient: ownInfo})
)

// recognized reports whether a response to server/discover is of a server that knows the modern revision.
func recognized(m *rpc.Message) bool {
	if m == nil || m.Error == nil {
		return m != nil && slices.Contains(supported(m.Result), modernVersion)
	}
	var e struct {
		Code int
		Data struct{ Supported []string }
	}
	_ = json.Unmarshal(m.Error, &e) // anything else is not of the modern revision
	return e.Code == rpc.CodeHeaderMismatch || e.Code == rpc.CodeCapability || e.Code == rpc.CodeVersion && slices.Contains(e.Data.Supported, modernVersion)
}

// id returns the id of a request of the gateway's own.
func (t *translator) id() json.RawMessage {
	return json.RawMessage(`"countersign-` + strconv.FormatInt(t.ids.Add(1), 10) + `"`)
}

// without is a client without a session.
func without(c *Client) *Client {
	plain := *c
	plain.Session, plain.Version = "", modernVersion
	return &plain
}

// Send sends a notification or a response on. A server that knows no sessions expects none.
func (t *translator) Send(ctx context.Context, c *Client, o Outgoing) error {
	if t.introduction(c) != nil {
		return nil
	}
	return t.server.Send(ctx, c, o)
}

// Listen passes on what the server sends by itself.
func (t *translator) Listen(ctx context.Context, c *Client, after string, out Replier) error {
	if t.introduction(c) != nil && !t.process {
		return errNoListener
	}
	return t.server.Listen(ctx, c, after, out)
}

// End ends a session.
func (t *translator) End(ctx context.Context, c *Client) error {
	if t.introduction(c) != nil && !t.process {
		return nil
	}
	return t.server.End(ctx, c)
}

// Ended is closed once the server's program has ended.
func (t *translator) Ended() <-chan struct{} { return t.server.Ended() }

// Close ends all.
func (t *translator) Close() {
	t.endHeld()
	t.server.Close()
}

// unsolicited passes on what a program sends by itself, unless its session is the gateway's.
func (t *translator) unsolicited(next func(Event)) func(Event) {
	return func(e Event) {
		t.mu.Lock()
		held, begun := len(t.held) > 0, t.begun != nil
		t.mu.Unlock()
		switch {
		case held && e.Message.Request():
			go t.respond(context.Background(), &Client{}, e.Message)
		case !held && !begun:
			next(e)
		}
	}
}

// respond responds to a request of a server in the gateway's own session, which has no capabilities.
func (t *translator) respond(ctx context.Context, c *Client, m *rpc.Message) {
	response := rpc.Result(m.ID, struct{}{})
	if m.Method != "ping" {
		response = rpc.Failure(m.ID, &rpc.Error{Code: rpc.CodeMethod, Message: "The client has not declared the capability."})
	}
	ctx, cancel := context.WithTimeout(ctx, probeFor)
	defer cancel()
	_ = t.server.Send(ctx, c, Outgoing{Message: response, Version: c.Version}) // a server that has gone needs none
}
