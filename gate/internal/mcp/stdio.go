package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/countersign-dev/countersign/gate/internal/config"
	"github.com/countersign-dev/countersign/gate/internal/principal"
	"github.com/countersign-dev/countersign/gate/internal/rpc"
)

// stdio is a client over standard streams.
type stdio struct {
	server *Server
	client atomic.Pointer[Client] // replaced once a session begins

	write sync.Mutex
	out   io.Writer

	mu      sync.Mutex
	working map[string]context.CancelFunc // requests, by their ids
}

// ServeStdio serves one server to the client at the other end of the streams, until the input ends. The process is the principal.
func (g *Gateway) ServeStdio(ctx context.Context, conf *config.MCPServer, in io.Reader, out io.Writer, transport http.RoundTripper) error {
	if g.config.Process == nil {
		return errors.New("over stdio, identity.process must name the person and the agent")
	}
	c := &Client{Who: &principal.Principal{Subject: g.config.Process.Subject, Source: "process"}, Agent: g.config.Process.Agent}
	s := &stdio{out: out, working: map[string]context.CancelFunc{}}
	s.client.Store(c)
	s.server = g.server(conf, nil)
	watched := s.server.Unsolicited(s)
	upstream, err := g.connect(conf, transport, watched.Send)
	if err != nil {
		return err
	}
	defer upstream.Close()
	s.server.upstream = upstream
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if ended := upstream.Ended(); ended != nil {
		go func() {
			<-ended
			cancel()
		}()
	}
	return s.read(ctx, in)
}

// read takes messages until the input or the server ends, and then waits for the requests that have begun.
func (s *stdio) read(ctx context.Context, in io.Reader) error {
	var requests sync.WaitGroup
	defer requests.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	lines := make(chan []byte)
	failed := make(chan error, 1)
	go func() {
		scanner := newLines(in, s.server.config.MessageBytes)
		for scanner.Scan() {
			select {
			case lines <- append([]byte(nil), scanner.Bytes()...):
			case <-ctx.Done():
				return
			}
		}
		failed <- scanner.Err()
	}()
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-failed:
			return err
		case line := <-lines:
			s.take(ctx, line, &requests)
		}
	}
}

// take handles one message.
func (s *stdio) take(ctx context.Context, line []byte, requests *sync.WaitGroup) {
	m, err := rpc.FromClient(line)
	var refusal *rpc.Error
	if errors.As(err, &refusal) {
		s.Send(Event{Message: rpc.Failure(nil, refusal)})
		return
	}
	switch {
	case m.Response():
		err = s.server.Respond(ctx, s.client.Load(), m)
	case m.Request():
		s.request(ctx, m, requests)
	case m.Method == "notifications/cancelled":
		s.mu.Lock()
		end := s.working[string(rpc.Members(m.Params)["requestId"])]
		s.mu.Unlock()
		if end != nil {
			end()
		}
	default:
		err = s.server.Notify(ctx, s.client.Load(), m)
	}
	if err != nil {
		s.server.log.Warn("a message was not passed on", "server", s.server.conf.Name, "error", err.Error())
	}
}

// request handles a request beside the others. Two at once with the same id are ambiguous.
func (s *stdio) request(ctx context.Context, m *rpc.Message, requests *sync.WaitGroup) {
	ctx, cancel := context.WithCancel(ctx)
	id := string(m.ID)
	s.mu.Lock()
	_, twice := s.working[id]
	if !twice {
		s.working[id] = cancel
	}
	s.mu.Unlock()
	if twice {
		cancel()
		s.Send(Event{Message: rpc.Failure(m.ID, &rpc.Error{Code: rpc.CodeInvalid, Message: "A request with this id has not ended yet."})})
		return
	}
	handle := func() {
		defer cancel()
		reply := &stdioReply{s: s, ctx: ctx, request: m}
		err := s.server.Handle(ctx, s.client.Load(), m, nil, reply)
		s.mu.Lock()
		delete(s.working, id)
		s.mu.Unlock()
		reply.end()
		if err != nil {
			s.server.log.Info("a request ended without a response", "server", s.server.conf.Name, "error", err.Error())
		}
	}
	if m.Method == "initialize" {
		handle() // before all that follows
		return
	}
	requests.Go(handle)
}

// Begin does nothing.
func (s *stdio) Begin(Head) {}

// Send writes a message. A client that is gone ends the input too.
func (s *stdio) Send(e Event) {
	if e.Message == nil {
		return
	}
	s.write.Lock()
	defer s.write.Unlock()
	_, _ = s.out.Write(append(e.Message.Text(), '\n'))
}

// stdioReply is the reply of one request. After the request is cancelled it sends nothing.
type stdioReply struct {
	s       *stdio
	ctx     context.Context
	request *rpc.Message

	mu      sync.Mutex
	session string
	ended   bool
}

// Begin keeps the session that a server over HTTP begins.
func (r *stdioReply) Begin(h Head) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.session = h.Session
}

// Send writes a message that belongs to the request.
func (r *stdioReply) Send(e Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended || r.ctx.Err() != nil {
		return
	}
	if e.Message != nil && e.Message.Response() {
		r.ended = true
		r.negotiated(e.Message)
	}
	r.s.Send(e)
}

// negotiated keeps what a session began with: the version and the session of a server over HTTP, and whether the client opens pages.
func (r *stdioReply) negotiated(m *rpc.Message) {
	if r.request.Method != "initialize" || m.Error != nil {
		return
	}
	c := *r.s.client.Load()
	c.Session, c.Version = r.session, rpc.String(rpc.Members(m.Result)["protocolVersion"])
	c.Pages = pages(rpc.Members(rpc.Members(r.request.Params)["capabilities"])["elicitation"])
	r.s.client.Store(&c)
}

func (r *stdioReply) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
}

// connect begins a connection to a server, whichever revision it speaks.
func (g *Gateway) connect(conf *config.MCPServer, transport http.RoundTripper, unsolicited func(Event)) (Upstream, error) {
	if conf.URL != nil {
		return translated(newRemote(conf, transport, g.config.MessageBytes)), nil
	}
	t := translated(nil)
	t.process = true
	p, err := start(conf.Command, conf.Env, g.config.MessageBytes, g.log, t.unsolicited(unsolicited))
	if err != nil {
		return nil, fmt.Errorf("the server %s: %w", conf.Name, err)
	}
	t.server = p
	return t, nil
}
