// Package mcp is a gateway in front of MCP servers that know nothing of Countersign. A call of a tool reaches its server only with a consumed
// proof for exactly this call; everything else that the protocol names passes by a table. It stores nothing: what a client brings back is
// sealed, and what it repeats is found at the service.
package mcp

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/countersign-dev/countersign/gate/internal/config"
	"github.com/countersign-dev/countersign/gate/internal/decide"
	"github.com/countersign-dev/countersign/gate/internal/rpc"
)

// Revisions of the protocol. In the modern one each request says what it needs; in the others a session begins with initialize.
const modernVersion = "2026-07-28"

var versions = []string{modernVersion, "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}

// legacyVersion reports whether a version is one in which sessions begin with initialize.
func legacyVersion(v string) bool { return v != modernVersion && slices.Contains(versions, v) }

// Names in _meta.
const (
	metaVersion      = "io.modelcontextprotocol/protocolVersion"
	metaCapabilities = "io.modelcontextprotocol/clientCapabilities"
	metaClient       = "io.modelcontextprotocol/clientInfo"
	metaServer       = "io.modelcontextprotocol/serverInfo"
	metaLevel        = "io.modelcontextprotocol/logLevel"
	metaSubscription = "io.modelcontextprotocol/subscriptionId"
	extensionTasks   = "io.modelcontextprotocol/tasks"
	// metaAuthorization has the state of a call that waits. A call with the same arguments and this entry continues.
	metaAuthorization = "countersign.dev/authorization"
)

// Gateway serves the servers of one configuration.
type Gateway struct {
	config *config.MCP
	core   *decide.Core
	log    *slog.Logger
	report func(server, tool string, v decide.Verdict)
	refuse func(server, tool, difference string)

	mu      sync.Mutex
	waiting map[string]int      // calls that wait, by principal
	tasks   map[string]*running // by the digest of their ids
	turns   map[string]*turn
	inputs  map[string]chan *rpc.Message // responses of clients to a server's questions, by principal and id
	last    map[string]string            // the last authorization of a call whose proof was consumed, so that the next one asks once
}

// Reports receive what becomes of calls, and the tools that are not accepted.
type Reports struct {
	Call       func(server, tool string, v decide.Verdict)
	Unaccepted func(server, tool, difference string)
}

// New returns a gateway. The transport reaches the service.
func New(c *config.MCP, transport http.RoundTripper, reports Reports, log *slog.Logger) (*Gateway, error) {
	core, err := decide.NewCore(c.Common, transport)
	if err != nil {
		return nil, err
	}
	return &Gateway{config: c, core: core, log: log, report: reports.Call, refuse: reports.Unaccepted, waiting: map[string]int{}, tasks: map[string]*running{}, turns: map[string]*turn{}, inputs: map[string]chan *rpc.Message{}, last: map[string]string{}}, nil
}

// Ready returns nil if the service accepts the key.
func (g *Gateway) Ready(ctx context.Context) error { return g.core.Ready(ctx) }

// Server is one server behind the gateway, by one connection.
type Server struct {
	*Gateway
	conf     *config.MCPServer
	upstream Upstream

	mu     sync.Mutex
	lists  map[string]*listing // what clients see, by their key
	logged map[string]string   // the difference of a tool that was logged
}

// listing is the tools of a server as one client sees them.
type listing struct {
	at    time.Time
	tools map[string]*Definition
}

const (
	listedFor  = 5 * time.Second // how long a listing is used: a changed tool is refused by then
	keptLists  = 10_000
	mostPages  = 1000
	keptRecent = 100_000
)

func (g *Gateway) server(conf *config.MCPServer, u Upstream) *Server {
	return &Server{Gateway: g, conf: conf, upstream: u, lists: map[string]*listing{}, logged: map[string]string{}}
}

// incoming is one request of a client on its way.
type incoming struct {
	*Server
	client *Client
	m      *rpc.Message
	header http.Header // nil over stdio
	out    Replier

	params, meta map[string]json.RawMessage
	version      string // of the protocol

	again func(ctx context.Context, given input) error // repeats a request with what the server asked for; nil for one without a decision
	asked int                                          // how often the server has asked
}

// Handle takes a request of a client to its response. It returns an error if there is none, such as after the client has gone.
func (s *Server) Handle(ctx context.Context, c *Client, m *rpc.Message, header http.Header, out Replier) error {
	r := &incoming{Server: s, client: c, m: m, header: header, out: out, params: rpc.Members(m.Params), version: c.Version}
	r.meta = rpc.Members(r.params["_meta"])
	if err := r.revision(); err != nil {
		r.fail(err)
		return nil
	}
	switch methods[m.Method].fromClient {
	case relay:
		return r.pass(ctx, nil)
	case filter:
		return r.list(ctx)
	case amend:
		return r.introduce(ctx)
	case decideOn:
		return r.call(ctx)
	case own:
		return r.task(ctx)
	}
	r.fail(&rpc.Error{Code: rpc.CodeMethod, Message: "The gateway does not know the method " + m.Method + "."})
	return nil
}

// revision reads the version of a request, and refuses one whose headers and body differ.
func (r *incoming) revision() *rpc.Error {
	given, modern := r.meta[metaVersion]
	if !modern {
		if r.header != nil && r.header.Get(headerVersion) == modernVersion {
			return &rpc.Error{Code: rpc.CodeParams, Message: "The request must have " + metaVersion + " and " + metaCapabilities + " in _meta."}
		}
		return nil
	}
	r.version = rpc.String(given)
	if r.header != nil {
		if err := compare(r.header, r.m, r.version); err != nil {
			return err
		}
	}
	if r.version != modernVersion {
		return &rpc.Error{Code: rpc.CodeVersion, Message: "Unsupported protocol version", Data: map[string]any{"supported": []string{modernVersion}, "requested": r.version}}
	}
	if r.meta[metaCapabilities] == nil {
		return &rpc.Error{Code: rpc.CodeParams, Message: "The request must have " + metaCapabilities + " in _meta."}
	}
	return nil
}

func (r *incoming) modern() bool { return r.version == modernVersion }

// statuses are the HTTP statuses of the gateway's own errors, since the modern revision.
var statuses = map[int]int{rpc.CodeMethod: http.StatusNotFound, rpc.CodeParams: http.StatusBadRequest, rpc.CodeHeaderMismatch: http.StatusBadRequest, rpc.CodeVersion: http.StatusBadRequest}

// fail responds with an error of the gateway's own.
func (r *incoming) fail(e *rpc.Error) {
	head := Head{Status: http.StatusOK}
	if status, has := statuses[e.Code]; has && (r.meta[metaVersion] != nil || r.header.Get(headerVersion) == modernVersion) {
		head.Status = status
	}
	r.out.Begin(head)
	r.out.Send(Event{Message: rpc.Failure(r.m.ID, e)})
}

func (r *incoming) reply(result any) {
	r.out.Begin(Head{Status: http.StatusOK})
	r.out.Send(Event{Message: rpc.Result(r.m.ID, result)})
}

// capabilities are those of the client, without tasks, which the gateway does itself.
func (r *incoming) withoutTasks() {
	capabilities := rpc.Members(r.meta[metaCapabilities])
	if !r.modern() {
		return
	}
	extensions := rpc.Members(capabilities["extensions"])
	if _, has := extensions[extensionTasks]; !has {
		return
	}
	delete(extensions, extensionTasks)
	capabilities["extensions"] = rpc.Object(extensions)
	r.meta[metaCapabilities] = rpc.Object(capabilities)
	r.params["_meta"] = rpc.Object(r.meta)
}

// pass sends the request on. Change is applied to its response.
func (r *incoming) pass(ctx context.Context, change func(*rpc.Message)) error {
	r.withoutTasks()
	if r.params["_meta"] != nil || r.m.Params != nil {
		r.m.Params = rpc.Object(r.params)
	}
	return r.forward(ctx, nil, change)
}

func (r *incoming) forward(ctx context.Context, d *Definition, change func(*rpc.Message)) error {
	seen := &inspector{r: r, change: change}
	err := r.upstream.Request(ctx, r.client, Outgoing{r.m, r.version, d}, seen)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err == nil && seen.question != nil:
		return r.question(ctx, seen.question, change)
	case err == nil:
		return nil
	}
	r.log.Warn("the server did not respond", "server", r.conf.Name, "method", r.m.Method, "error", err.Error())
	r.fail(&rpc.Error{Code: rpc.CodeInternal, Message: "The server is unavailable."})
	return nil
}

// inspector passes on what a server may send, and changes the response.
type inspector struct {
	r        *incoming
	change   func(*rpc.Message)
	question json.RawMessage // the result, if the server asks a client of a session
}

// Begin passes on.
func (i *inspector) Begin(h Head) { i.r.out.Begin(h) }

// Send passes on.
func (i *inspector) Send(e Event) {
	if e.Asks {
		i.question = e.Message.Result
		return
	}
	if e.Message != nil && e.Message.Response() && e.Message.Error == nil && i.change != nil {
		i.change(e.Message)
	}
	if i.r.admits(e.Message) {
		i.r.out.Send(e)
	}
}

// admits reports whether a server may send a message, and forgets the lists if its tools have changed.
func (s *Server) admits(m *rpc.Message) bool {
	if m == nil || m.Response() {
		return true
	}
	if m.Method == "notifications/tools/list_changed" {
		s.forget()
	}
	if methods[m.Method].fromServer == relay {
		return true
	}
	s.log.Warn("the server sent a message that the gateway does not pass on", "server", s.conf.Name)
	return false
}

// Unsolicited is a message that a server sends by itself; a response among them can be the rest of a stream that was resumed.
func (s *Server) Unsolicited(out Replier) Replier { return &watcher{s, out} }

type watcher struct {
	s   *Server
	out Replier
}

// Begin passes on.
func (w *watcher) Begin(h Head) { w.out.Begin(h) }

// Send passes on what a server may send; a list of tools is filtered here too.
func (w *watcher) Send(e Event) {
	if e.Message != nil && e.Message.Response() && rpc.Members(e.Message.Result)["tools"] != nil {
		w.s.accepted(e.Message, false)
	}
	if w.s.admits(e.Message) {
		w.out.Send(e)
	}
}

func (s *Server) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.lists)
}

// introduce passes on how the server introduces itself: without its tasks, and with the versions that the gateway knows.
func (r *incoming) introduce(ctx context.Context) error {
	if !r.modern() {
		capabilities := rpc.Members(r.params["capabilities"])
		delete(capabilities, "tasks")
		r.params["capabilities"] = rpc.Object(capabilities)
	}
	return r.pass(ctx, func(m *rpc.Message) {
		result := rpc.Members(m.Result)
		capabilities := rpc.Members(result["capabilities"])
		delete(capabilities, "tasks")
		if r.modern() {
			extensions := rpc.Members(capabilities["extensions"])
			extensions[extensionTasks] = json.RawMessage("{}")
			capabilities["extensions"] = rpc.Object(extensions)
			known := slices.DeleteFunc(supported(m.Result), func(v string) bool { return !slices.Contains(versions, v) })
			result["supportedVersions"], _ = json.Marshal(append([]string{}, known...)) // a list of texts
		}
		result["capabilities"] = rpc.Object(capabilities)
		m.Result = rpc.Object(result)
	})
}

// supported are the versions that a server supports; none of anything but the result of server/discover.
func supported(result json.RawMessage) []string {
	var list []string
	_ = json.Unmarshal(rpc.Members(result)["supportedVersions"], &list) // anything else supports none
	return list
}

// list passes on a list of tools with the accepted definitions only.
func (r *incoming) list(ctx context.Context) error {
	return r.pass(ctx, func(m *rpc.Message) { r.accepted(m, r.modern()) })
}

// accepted leaves the accepted definitions in a list of tools.
func (s *Server) accepted(m *rpc.Message, modern bool) {
	lock, err := ReadLock(s.config.LockFile)
	if err != nil {
		s.log.Error("the lock file cannot be read: no tool is accepted", "error", err.Error())
		lock = &Lock{}
	}
	tools, _, faults := Definitions(m.Result)
	for _, fault := range faults {
		s.log.Warn("a definition was left out", "server", s.conf.Name, "error", fault.Error())
	}
	kept := []json.RawMessage{}
	for _, d := range tools {
		if _, known := s.rule(d.Name); known && s.matches(lock, d) {
			kept = append(kept, d.Text)
		}
	}
	result := rpc.Members(m.Result)
	result["tools"], _ = json.Marshal(kept) // of valid JSON
	if modern {
		result["cacheScope"] = json.RawMessage(`"private"`)
	}
	m.Result = rpc.Object(result)
}

// matches reports whether a definition is the accepted one. What is not is logged, once for each definition.
func (s *Server) matches(lock *Lock, d *Definition) bool {
	digest, known := lock.Servers[s.conf.Name][d.Name]
	if digest == d.Digest {
		return true
	}
	difference := "new"
	if known {
		difference = "changed"
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.logged[d.Name] != d.Digest && len(s.logged) < keptLists {
		s.logged[d.Name] = d.Digest
		s.log.Warn("a tool is refused until an operator accepts its definition: countersign-gate mcp accept", "server", s.conf.Name, "tool", d.Name, "difference", difference)
		s.refuse(s.conf.Name, d.Name, difference)
	}
	return false
}

// rule returns what calls of a tool need; false if they are refused.
func (s *Server) rule(tool string) (*config.Tool, bool) {
	if t := s.conf.Tools[tool]; t != nil {
		return t, true
	}
	return &config.Tool{Name: tool, Pass: true}, s.conf.Passes
}

// errUnaccepted reports a tool that no operator has accepted as it is.
var errUnaccepted = errors.New("the tool is unknown, or its definition is not accepted by the operators of the gateway")

// definition returns the definition of a tool, as the server has it now, if it is accepted.
func (r *incoming) definition(ctx context.Context, tool string) (*Definition, error) {
	r.Server.mu.Lock()
	list := r.lists[r.client.key()]
	r.Server.mu.Unlock()
	if list == nil || time.Since(list.at) > listedFor {
		var err error
		if list, err = r.listed(ctx); err != nil {
			return nil, err
		}
	}
	d := list.tools[tool]
	if d == nil {
		return nil, errUnaccepted
	}
	return d, nil
}

// listed asks the server for all its tools, in the client's session, and remembers the accepted ones.
func (r *incoming) listed(ctx context.Context) (*listing, error) {
	tools, err := r.everything(ctx)
	if err != nil {
		return nil, err
	}
	lock, err := ReadLock(r.config.LockFile)
	if err != nil {
		return nil, err
	}
	list := &listing{at: time.Now(), tools: map[string]*Definition{}}
	for name, d := range tools {
		if r.matches(lock, d) {
			list.tools[name] = d
		}
	}
	r.Server.mu.Lock()
	defer r.Server.mu.Unlock()
	if len(r.lists) >= keptLists {
		clear(r.lists)
	}
	r.lists[r.client.key()] = list
	return list, nil
}

// everything reads all pages of the list of tools.
func (r *incoming) everything(ctx context.Context) (map[string]*Definition, error) {
	all, params := map[string]*Definition{}, map[string]json.RawMessage{}
	if r.modern() {
		meta := map[string]json.RawMessage{metaVersion: r.meta[metaVersion], metaCapabilities: json.RawMessage("{}")}
		if client := r.meta[metaClient]; client != nil {
			meta[metaClient] = client
		}
		params["_meta"] = rpc.Object(meta)
	}
	for range mostPages {
		id, _ := json.Marshal("countersign-" + rand.Text()) // a text
		got := &collector{}
		ask := &rpc.Message{ID: id, Method: "tools/list", Params: rpc.Object(params)}
		if err := r.upstream.Request(ctx, r.client, Outgoing{ask, r.version, nil}, got); err != nil {
			return nil, err
		}
		if got.response == nil {
			return nil, errors.New("the server does not list its tools")
		}
		if got.response.Error != nil {
			return nil, fmt.Errorf("the server does not list its tools: %s", got.response.Error)
		}
		tools, next, faults := Definitions(got.response.Result)
		for _, fault := range faults {
			r.log.Warn("a definition was left out", "server", r.conf.Name, "error", fault.Error())
		}
		for _, d := range tools {
			if all[d.Name] != nil {
				return nil, errors.New("the server lists a tool twice")
			}
			all[d.Name] = d
		}
		if next == "" {
			return all, nil
		}
		params["cursor"], _ = json.Marshal(next) // a text
	}
	return nil, errors.New("the server's list of tools does not end")
}

// Notify takes a notification of a client.
func (s *Server) Notify(ctx context.Context, c *Client, m *rpc.Message) error {
	if methods[m.Method].fromClient != relay {
		return &rpc.Error{Code: rpc.CodeMethod, Message: "The gateway does not know the notification " + m.Method + "."}
	}
	return s.upstream.Send(ctx, c, Outgoing{Message: m, Version: c.Version})
}

// Respond takes the response of a client: to the gateway's elicitation, to a server's question that the gateway translated, or to a request of
// the server.
func (s *Server) Respond(ctx context.Context, c *Client, m *rpc.Message) error {
	if challenge, err := s.config.State.Verify(elicitation(c.Who), rpc.String(m.ID)); err == nil {
		if action := rpc.String(rpc.Members(m.Result)["action"]); m.Error == nil && action != "accept" {
			s.core.Decline(ctx, challenge)
		}
		return nil
	}
	if s.given(c, m) {
		return nil
	}
	return s.upstream.Send(ctx, c, Outgoing{Message: m, Version: c.Version})
}
