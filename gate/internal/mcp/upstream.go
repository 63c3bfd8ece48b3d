package mcp

import (
	"context"
	"errors"

	"github.com/countersign-dev/countersign/gate/internal/principal"
	"github.com/countersign-dev/countersign/gate/internal/rpc"
)

// Client is who sends a message, and by which session.
type Client struct {
	Who     *principal.Principal
	Agent   string
	Token   string // to be exchanged for one of the upstream; empty over stdio
	Session string // the upstream's; empty without one
	Pages   bool   // the client said at the beginning of its session that it opens pages
	Version string // of the protocol, as a client of a session sends it in a header
}

// key identifies the client's view of the server.
func (c *Client) key() string { return c.Who.Key() + "\n" + c.Session }

// Event is one event of a stream: a message, and its place in the stream, by which a client resumes it.
type Event struct {
	ID, Retry string
	Message   *rpc.Message // nil of an event without data
	Asks      bool         // the response is a question to a client of a session, and not its response
}

// Head is the beginning of a response over HTTP.
type Head struct {
	Status  int
	Stream  bool   // events follow
	Session string // that begins
}

// Replier receives what a request leads to. Its methods may be called at once.
type Replier interface {
	Begin(h Head)
	Send(e Event)
}

// Outgoing is a message on its way to the server.
type Outgoing struct {
	Message *rpc.Message
	Version string      // of the protocol
	Tool    *Definition // of a call
}

// Upstream is a connection to a server.
type Upstream interface {
	// Request sends a request and passes on everything up to its response.
	Request(ctx context.Context, c *Client, o Outgoing, out Replier) error
	// Send sends a notification or a response.
	Send(ctx context.Context, c *Client, o Outgoing) error
	// Listen passes on what the server sends by itself, after an event.
	Listen(ctx context.Context, c *Client, after string, out Replier) error
	// End ends a session.
	End(ctx context.Context, c *Client) error
	// Ended is closed once the server's program has ended; nil without a program.
	Ended() <-chan struct{}
	// Close ends all.
	Close()
}

// Errors of upstreams.
var (
	errNoSession  = errors.New("the session has ended")
	errNoListener = errors.New("the server sends nothing by itself")
	errBroken     = errors.New("the server ended the connection without a response")
)

// collector keeps the response of a request of the gateway's own.
type collector struct{ response *rpc.Message }

// Begin does nothing.
func (*collector) Begin(Head) {}

// Send keeps a response.
func (c *collector) Send(e Event) {
	if e.Message != nil && e.Message.Response() {
		c.response = e.Message
	}
}
