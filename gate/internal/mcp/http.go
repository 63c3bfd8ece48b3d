package mcp

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/countersign-dev/countersign/gate/internal/config"
	"github.com/countersign-dev/countersign/gate/internal/principal"
	gate "github.com/countersign-dev/countersign/gate/internal/request"
	"github.com/countersign-dev/countersign/gate/internal/rpc"
)

// endpoint is one server over Streamable HTTP, as an OAuth resource server.
type endpoint struct {
	*Gateway
	conf      *config.MCPServer
	jwt       *principal.JWT
	transport http.RoundTripper
	shared    *Server // of a server over HTTP; nil of a program

	mu     sync.Mutex
	hosted map[string]*hosted // programs, by principal and session
	// working are the requests of sessions, by session and id, so that a notification can cancel them.
	working map[string]map[*httpReply]context.CancelFunc
}

// Handler serves the servers over Streamable HTTP, each at its name, until stop. The transport reaches servers over HTTP.
func (g *Gateway) Handler(transport http.RoundTripper) (handler http.Handler, stop func()) {
	mux := http.NewServeMux()
	var all []*endpoint
	for _, conf := range g.config.Servers {
		e := &endpoint{Gateway: g, conf: conf, transport: transport, hosted: map[string]*hosted{}, working: map[string]map[*httpReply]context.CancelFunc{}}
		jwt := *g.config.JWT
		if jwt.Audience == "" {
			jwt.Audience = e.url()
		}
		e.jwt = &jwt
		if conf.URL != nil {
			e.shared = g.server(conf, translated(newRemote(conf, transport, g.config.MessageBytes)))
		}
		all = append(all, e)
		mux.Handle("/"+conf.Name, e)
		mux.HandleFunc("GET /.well-known/oauth-protected-resource/"+conf.Name, e.metadata)
	}
	return mux, func() {
		for _, e := range all {
			e.close()
		}
	}
}

func (e *endpoint) url() string { return e.config.URL + "/" + e.conf.Name }

// metadata is the document of RFC 9728.
func (e *endpoint) metadata(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Access-Control-Allow-Origin", "*")
	_ = json.NewEncoder(w).Encode(map[string]any{"resource": e.url(), "authorization_servers": []string{e.jwt.Issuer}, "bearer_methods_supported": []string{"header"}})
}

// ServeHTTP takes one message, opens a stream, or ends a session.
func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if origin := r.Header.Get("Origin"); origin != "" && origin != e.config.URL && !slices.Contains(e.config.Origins, origin) {
		http.Error(w, "The origin is not allowed.", http.StatusForbidden)
		return
	}
	c, err := e.client(r)
	if err != nil {
		e.unauthenticated(w, err)
		return
	}
	switch r.Method {
	case http.MethodPost:
		e.post(w, r, c)
	case http.MethodGet, http.MethodDelete:
		e.stream(w, r, c)
	default:
		w.Header().Set("Allow", "POST, GET, DELETE")
		w.WriteHeader(http.StatusMethodNotAllowed)
	}
}

// client finds out who sends a request, by which session.
func (e *endpoint) client(r *http.Request) (*Client, error) {
	who, err := e.jwt.Of(r.Context(), &gate.Request{Header: r.Header})
	if err != nil {
		return nil, err
	}
	agent, _ := who.Token[e.config.AgentClaim].(string)
	if agent == "" {
		return nil, &principal.Error{Why: "The token names no agent: it must have the claim " + e.config.AgentClaim + "."}
	}
	_, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	c := &Client{Who: who, Agent: agent, Token: strings.TrimSpace(token), Version: r.Header.Get(headerVersion)}
	if c.Version == modernVersion {
		return c, nil
	}
	sealed := r.Header.Values(headerSession)
	if len(sealed) == 0 {
		return c, nil
	}
	text, err := e.config.State.Verify(e.sessions(who), sealed[0])
	var s sealedSession
	if err != nil || len(sealed) > 1 || json.Unmarshal([]byte(text), &s) != nil {
		return nil, errNoSession
	}
	c.Session, c.Pages = s.Upstream, s.Pages
	return c, nil
}

// sealedSession is in a session's id, which only the principal that began the session can use.
type sealedSession struct {
	Upstream string `json:"u,omitempty"`
	Pages    bool   `json:"p,omitempty"`
}

func (e *endpoint) sessions(who *principal.Principal) string {
	return "mcp session\n" + e.conf.Name + "\n" + who.Key()
}

func (e *endpoint) unauthenticated(w http.ResponseWriter, err error) {
	var refusal *principal.Error
	var ambiguous *gate.Refusal
	switch {
	case errors.Is(err, errNoSession):
		http.Error(w, "The session is unknown.", http.StatusNotFound)
	case errors.As(err, &ambiguous):
		http.Error(w, ambiguous.Detail, http.StatusBadRequest)
	case errors.As(err, &refusal):
		value := fmt.Sprintf(`Bearer resource_metadata="%s/.well-known/oauth-protected-resource/%s"`, e.config.URL, e.conf.Name)
		if !refusal.Missing {
			value += `, error="invalid_token"`
		}
		w.Header().Set("WWW-Authenticate", value)
		http.Error(w, refusal.Why, http.StatusUnauthorized)
	default:
		http.Error(w, "The user cannot be identified at the moment.", http.StatusServiceUnavailable)
	}
}

// post takes one message.
func (e *endpoint) post(w http.ResponseWriter, r *http.Request, c *Client) {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		http.Error(w, "The body must be application/json.", http.StatusUnsupportedMediaType)
		return
	}
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, int64(e.config.MessageBytes)))
	if err != nil {
		http.Error(w, "The message is too large, or incomplete.", http.StatusRequestEntityTooLarge)
		return
	}
	m, err := rpc.FromClient(text)
	var refusal *rpc.Error
	if errors.As(err, &refusal) {
		writeJSON(w, http.StatusBadRequest, rpc.Failure(nil, refusal))
		return
	}
	if c.Version != "" && !slices.Contains(versions, c.Version) && rpc.Members(rpc.Members(m.Params)["_meta"])[metaVersion] == nil {
		writeJSON(w, http.StatusBadRequest, rpc.Failure(m.ID, &rpc.Error{Code: rpc.CodeInvalid, Message: "The gateway does not know the version of " + headerVersion + "."}))
		return
	}
	host, err := e.host(c, m)
	if err != nil {
		e.failed(w, m, err)
		return
	}
	defer host.leave()
	if m.Request() {
		e.request(w, r, c, m, host)
		return
	}
	if m.Response() {
		err = host.Respond(r.Context(), c, m)
	} else {
		err = e.notify(r.Context(), c, m, host)
	}
	if err != nil {
		e.failed(w, m, err)
		return
	}
	w.WriteHeader(http.StatusAccepted)
}

func (e *endpoint) failed(w http.ResponseWriter, m *rpc.Message, err error) {
	e.log.Info("a message was not passed on", "server", e.conf.Name, "error", err.Error())
	status := statusOf(err)
	var refusal *rpc.Error
	if !errors.As(err, &refusal) {
		refusal = &rpc.Error{Code: rpc.CodeInternal, Message: "The server is unavailable."}
	}
	if status == http.StatusNotFound {
		refusal = &rpc.Error{Code: rpc.CodeInvalid, Message: "The session is unknown."}
	}
	writeJSON(w, status, rpc.Failure(m.ID, refusal))
}

func (e *endpoint) request(w http.ResponseWriter, r *http.Request, c *Client, m *rpc.Message, host *hosted) {
	reply := &httpReply{w: w}
	if m.Method == "initialize" {
		opens := pages(rpc.Members(rpc.Members(m.Params)["capabilities"])["elicitation"])
		reply.session = func(upstream string) string {
			if upstream == "" {
				upstream = host.session
			}
			text, _ := json.Marshal(sealedSession{upstream, opens}) // texts
			return e.config.State.Sign(e.sessions(c.Who), string(text))
		}
	}
	host.out.add(reply)
	defer host.out.remove(reply)
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer e.work(c, string(m.ID), reply, cancel)()
	err := host.Handle(ctx, c, m, r.Header, reply)
	reply.end(err)
}

// work keeps the end of a request of a session, until the request has ended.
func (e *endpoint) work(c *Client, id string, reply *httpReply, cancel context.CancelFunc) (done func()) {
	key := c.key() + "\n" + id
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.working[key] == nil {
		e.working[key] = map[*httpReply]context.CancelFunc{}
	}
	e.working[key][reply] = cancel
	return func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		if delete(e.working[key], reply); len(e.working[key]) == 0 {
			delete(e.working, key)
		}
	}
}

// notify passes on a notification. One that cancels a request ends it here, and at the server; a program learns it by the gateway's id.
func (e *endpoint) notify(ctx context.Context, c *Client, m *rpc.Message, host *hosted) error {
	if m.Method != "notifications/cancelled" {
		return host.Notify(ctx, c, m)
	}
	e.mu.Lock()
	for _, cancel := range e.working[c.key()+"\n"+string(rpc.Members(m.Params)["requestId"])] {
		cancel()
	}
	e.mu.Unlock()
	if host.remote() {
		return host.upstream.Send(ctx, c, Outgoing{Message: m, Version: c.Version})
	}
	return nil
}

// stream opens the stream of what the server sends by itself, or ends a session. The modern revision has neither.
func (e *endpoint) stream(w http.ResponseWriter, r *http.Request, c *Client) {
	if c.Version == modernVersion || e.shared == nil && c.Session == "" {
		w.Header().Set("Allow", "POST")
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	host, err := e.host(c, nil)
	if err != nil {
		http.Error(w, "The session is unknown.", statusOf(err))
		return
	}
	defer host.leave()
	if r.Method == http.MethodDelete {
		if err := host.upstream.End(r.Context(), c); err != nil {
			http.Error(w, "The session cannot be ended.", statusOf(err))
			return
		}
		e.forgetHost(host)
		w.WriteHeader(http.StatusOK)
		return
	}
	reply := &httpReply{w: w}
	if e.shared == nil {
		reply.Begin(Head{Status: http.StatusOK, Stream: true})
		host.out.listen(reply)
		defer host.out.remove(reply)
	}
	err = host.upstream.Listen(r.Context(), c, r.Header.Get("Last-Event-Id"), host.Unsolicited(reply))
	if err != nil && !reply.streaming() {
		http.Error(w, "The stream cannot be opened.", statusOf(err))
		return
	}
	reply.end(nil)
}

// hosted is a connection to a server: shared, or a program of one principal and session.
type hosted struct {
	*Server
	key, session string
	out          *fanout
	users        int
	idle         *time.Timer
	endpoint     *endpoint
}

func (h *hosted) remote() bool { return h.endpoint.shared != nil }

const (
	idleAfter    = 30 * time.Minute // a program without requests
	mostPrograms = 1000
)

var errTooMany = errors.New("too many programs or sessions at once")

// host returns the connection for a message.
func (e *endpoint) host(c *Client, m *rpc.Message) (*hosted, error) {
	if e.shared != nil {
		return &hosted{Server: e.shared, out: &fanout{}, endpoint: e}, nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	begins := m != nil && m.Method == "initialize"
	key := c.key()
	if begins {
		c.Session = rand.Text()
		key = c.key()
	}
	h := e.hosted[key]
	if h == nil && !begins && c.Session != "" {
		return nil, errNoSession
	}
	if h == nil {
		if len(e.hosted) >= mostPrograms {
			return nil, errTooMany
		}
		h = &hosted{Server: e.server(e.conf, nil), key: key, session: c.Session, out: &fanout{}, endpoint: e}
		watched := h.Unsolicited(h.out)
		upstream, err := e.connect(e.conf, e.transport, watched.Send)
		if err != nil {
			return nil, err
		}
		h.upstream = upstream
		h.idle = time.AfterFunc(idleAfter, func() { e.retire(h) })
		e.hosted[key] = h
		go func() {
			<-upstream.Ended()
			e.forgetHost(h)
		}()
	}
	h.users++
	h.idle.Stop()
	return h, nil
}

// leave ends the use of a connection by one request.
func (h *hosted) leave() {
	if h.remote() {
		return
	}
	h.endpoint.mu.Lock()
	defer h.endpoint.mu.Unlock()
	if h.users--; h.users == 0 {
		h.idle.Reset(idleAfter)
	}
}

func (e *endpoint) retire(h *hosted) {
	e.mu.Lock()
	used := h.users > 0
	e.mu.Unlock()
	if !used {
		e.forgetHost(h)
		h.upstream.Close()
	}
}

func (e *endpoint) forgetHost(h *hosted) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.hosted[h.key] == h {
		delete(e.hosted, h.key)
	}
}

func (e *endpoint) close() {
	e.mu.Lock()
	all := e.hosted
	e.hosted = map[string]*hosted{}
	e.mu.Unlock()
	for _, h := range all {
		h.upstream.Close()
	}
}

func writeJSON(w http.ResponseWriter, status int, m *rpc.Message) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(m.Text())
}
