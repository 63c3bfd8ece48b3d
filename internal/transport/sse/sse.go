// Package sse serves the event stream of an environment as server-sent events (WHATWG HTML section 9.2).
//
// It subscribes to the hub, writes messages and heartbeats, and ends streams that are too old or whose client stops reading.
// It may not select or authorize events: the hub filters them, and the caller has been authenticated before.
package sse

import (
	"bufio"
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/platform/events/stream"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/transport/request"
)

// MaxLife is the longest life of a stream, whatever its credential. A client that may still follow connects again.
const MaxLife = time.Hour

const (
	// defaultHeartbeat is below the idle timeout of common proxies (60 s).
	defaultHeartbeat = 15 * time.Second
	// defaultPatience is how long a client may leave sent bytes unread before its stream is cut.
	defaultPatience = 30 * time.Second
	readTimeout     = 10 * time.Second // of one read of the event log
	shareRetry      = 30 * time.Second // Retry-After of problem.TooManyStreams
	retryHint       = "retry: 2000\n"  // ms until the client connects again
)

// errNotKept means that the HTTP server would close the connections that streams have taken over.
var errNotKept = errors.New("sse: the server must be set to keep hijacked connections")

// Server opens streams in an application whose server keeps hijacked connections. The zero values of the durations are their defaults.
type Server struct {
	Hub       *stream.Hub
	Identity  *identity.Service // revalidates API keys while a stream is open; nil if no principal has a key
	Heartbeat time.Duration     // interval of comments on a silent stream; default 15 s
	Patience  time.Duration     // how long a client may leave sent bytes unread; default 30 s
	Life      time.Duration     // the longest life of a stream; default MaxLife
}

// Subscription names the events of one stream and its end.
type Subscription struct {
	Principal identity.Principal
	Key       string // credential or session id by which the hub checks the stream on revocation
	// Check reports whether the session is still valid. It may not use the request, which ends before the stream. A principal with an
	// API key needs none: the server checks the key.
	Check  func(ctx context.Context) (bool, error)
	Filter stream.Filter
	Life   time.Duration // at most Server.Life
	Sent   func()        // is called after each event; nil for none
}

// Serve starts the stream as the response of c, from the event after Last-Event-ID if the client sent one. It begins and ends with the id
// of its position, so that a stream that is cut before its first event is resumed at its beginning. It returns
// problem.TooManyStreams if the environment has used up its share, problem.Unavailable if the process is full or stopping or cannot
// check the credential, and problem.Unauthenticated if the credential was revoked meanwhile or nothing checks it.
func (s *Server) Serve(c *fiber.Ctx, in Subscription) error {
	ctx := request.Context(c)
	sub, err := s.Hub.Subscribe(ctx, in.Principal.Store(), in.Key, in.Filter, string(c.Request().Header.Peek("Last-Event-ID")))
	switch {
	case errors.Is(err, stream.ErrShare):
		return &problem.Error{
			Code: problem.TooManyStreams, RetryAfter: shareRetry,
			Detail: "The environment has reached its limit of open event streams. Close one, or read GET /api/v1/activity.",
		}
	case errors.Is(err, stream.ErrFull), errors.Is(err, stream.ErrEnded):
		return problem.NewUnavailable("No further event stream can be opened. Retry after the Retry-After header.", err)
	case err != nil:
		return err
	}
	if err := hold(ctx, sub, s.holder(in)); err != nil {
		return err
	}
	begin, err := position(ctx, sub)
	if err != nil {
		sub.Close()
		return err
	}
	c.Set(fiber.HeaderContentType, "text/event-stream")
	c.Set("X-Accel-Buffering", "no")                          // nginx would otherwise hold events back
	c.Set(fiber.HeaderCacheControl, "no-store, no-transform") // and a proxy that compresses them
	in.Life = min(in.Life, or(s.Life, MaxLife))
	return s.takeOver(c, sub, begin, in)
}

// position returns the message that gives a client the id to resume with and the time to wait before. It has no data, so that
// clients dispatch no event.
func position(ctx context.Context, sub *stream.Subscription) (string, error) {
	id, err := sub.Position(ctx)
	if id == "" || err != nil {
		return retryHint + "\n", err
	}
	return "id: " + id + "\n" + retryHint + "\n", nil
}

// takeOver takes the connection from the HTTP server, whose buffers and state of the request would otherwise be held as long as the
// stream lasts. A message needs no framing: the response ends with the connection (RFC 9112 section 6.3).
func (s *Server) takeOver(c *fiber.Ctx, sub *stream.Subscription, first string, in Subscription) error {
	if !c.App().Server().KeepHijackedConns {
		sub.Close()
		return errNotKept
	}
	ctx := c.Context()
	ctx.Response.Header.SetConnectionClose()
	w := writer{conn: ctx.Conn(), heartbeat: or(s.Heartbeat, defaultHeartbeat), patience: or(s.Patience, defaultPatience), sent: in.Sent}
	end := time.AfterFunc(in.Life, sub.Close)
	ctx.HijackSetNoResponse(true) // or the server would close the connection of a client that asked for that, with the stream unsent
	ctx.Hijack(func(net.Conn) {
		begin := func(out *bufio.Writer) {
			_ = ctx.Response.Header.Write(out) // an error stays with out
			_, _ = out.WriteString(first)
		}
		if w.send(begin) != nil {
			sub.Close()
			_ = w.conn.Close()
			return
		}
		// A goroutine of its own, because the server holds the request until this function returns.
		go func() {
			defer end.Stop()
			defer w.conn.Close()
			defer sub.Close()
			w.run(sub)
		}()
	})
	return nil
}

// holder returns the authorization of a stream: the principal's API key, or the session.
func (s *Server) holder(in Subscription) stream.Holder {
	p := in.Principal
	if p.KeyID() == "" {
		return stream.Holder{Key: in.Key, Check: in.Check}
	}
	return stream.Holder{Key: p.KeyID(), Check: func(ctx context.Context) (bool, error) { return s.Identity.StillValid(ctx, p) }}
}

// hold lets the hub check, now and later, that the caller's credential is still as it was when the stream began.
func hold(ctx context.Context, sub *stream.Subscription, by stream.Holder) error {
	switch holds, err := sub.Hold(ctx, by); {
	case err != nil: // not unauthenticated: a client would give up a credential that is valid
		return problem.NewUnavailable("The credential could not be checked. Retry after the Retry-After header.", err)
	case !holds:
		return problem.New(problem.Unauthenticated, "The credential is missing, malformed, expired or revoked.")
	default:
		return nil
	}
}

func or(d, otherwise time.Duration) time.Duration {
	if d <= 0 {
		return otherwise
	}
	return d
}

type writer struct {
	conn                net.Conn
	heartbeat, patience time.Duration
	sent                func()
}

// run sends messages and heartbeats until the subscription ends or the client stops reading.
func (s writer) run(sub *stream.Subscription) {
	for {
		ctx, cancel := context.WithTimeout(context.Background(), s.heartbeat+readTimeout)
		m, ok, err := sub.Next(ctx, s.heartbeat)
		cancel()
		if err != nil {
			s.end(sub)
			return
		}
		if !ok {
			err = s.send(func(w *bufio.Writer) { _, _ = w.WriteString(": heartbeat\n\n") })
		} else {
			err = s.send(func(w *bufio.Writer) { writeMessage(w, m) })
		}
		if err != nil {
			return
		}
		if ok && s.sent != nil {
			s.sent()
		}
	}
}

// end sends the position from which the client connects again. If it cannot be read, the client has that of the last event.
func (s writer) end(sub *stream.Subscription) {
	ctx, cancel := context.WithTimeout(context.Background(), readTimeout)
	defer cancel()
	last, _ := position(ctx, sub) // an error leaves the time to wait
	_ = s.send(func(w *bufio.Writer) { _, _ = w.WriteString(last) })
}

// buffers are shared by all streams: most streams wait most of the time.
var buffers = sync.Pool{New: func() any { return bufio.NewWriter(nil) }}

// send writes to the connection. It returns the first error of all writes, which bufio keeps.
func (s writer) send(write func(*bufio.Writer)) error {
	if err := s.conn.SetWriteDeadline(time.Now().Add(s.heartbeat + s.patience)); err != nil { //nolint:forbidigo // a socket's deadline
		return err
	}
	w := buffers.Get().(*bufio.Writer)
	w.Reset(s.conn)
	write(w)
	err := w.Flush()
	w.Reset(nil)
	buffers.Put(w)
	return err
}

// writeMessage writes one event. Its data is JSON without line breaks, so a single data line is enough.
func writeMessage(w *bufio.Writer, m *stream.Message) {
	if m.ID != "" {
		_, _ = w.WriteString("id: " + m.ID + "\n")
	}
	_, _ = w.WriteString("event: " + m.Type + "\ndata: ")
	_, _ = w.Write(m.Data)
	_, _ = w.WriteString("\n\n")
}
