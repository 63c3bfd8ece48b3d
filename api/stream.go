package api

import (
	"bufio"
	"context"
	"errors"
	"net"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/events/stream"
	"github.com/countersign-dev/countersign/internal/platform/problem"
)

// streamHandlers answer for the event stream (server-sent events, WHATWG HTML section 9.2).
type streamHandlers struct {
	Hub       *stream.Hub
	Clock     clock.Clock
	Identity  *identity.Service // asked whether a key still holds; nil for streams that are followed without one
	Heartbeat time.Duration     // default 15 s
	Patience  time.Duration     // how long a client may leave what was sent to it unread; default 30 s
	Life      time.Duration     // how long a stream lives at most; default an hour
}

const (
	heartbeat = 15 * time.Second
	// patience is how long a client may leave what was sent to it unread before its stream is cut.
	patience = 30 * time.Second
	// streamLife is how long a stream lives at most, whatever its credential: what may be followed is asked again after it.
	streamLife = time.Hour
	// readWait bounds one reading of the log for a stream that catches up.
	readWait = 10 * time.Second
	// shareWait is how long a client should wait that found its environment's share of streams used up.
	shareWait = 30 * time.Second
	// retryHint tells a client how long to wait before it connects again.
	retryHint = "retry: 2000\n\n"
)

func (h *streamHandlers) follow(c *fiber.Ctx) error {
	if _, err := selectedTypes(c); err != nil {
		return err
	}
	p := principal(c)
	f := stream.Filter{Type: query(c, "type"), Subject: query(c, "subject"), Action: query(c, "action")}
	life := streamLife
	if p.ExpiresAt != nil {
		life = min(life, p.ExpiresAt.Sub(h.Clock.Now()))
	}
	return h.open(c, p, p.CredentialID, f, life)
}

// open starts the stream under a key by which it can be ended. It ends by itself after its life, which is an hour at most.
func (h *streamHandlers) open(c *fiber.Ctx, p identity.Principal, key string, f stream.Filter, life time.Duration) error {
	most := h.Life
	if most <= 0 {
		most = streamLife
	}
	life = min(life, most)
	sub, err := h.Hub.Subscribe(requestContext(c), p.Store(), key, f, string(c.Request().Header.Peek("Last-Event-ID")))
	switch {
	case errors.Is(err, stream.ErrShare):
		return &problem.Error{
			Code: problem.TooManyStreams, RetryAfter: shareWait,
			Detail: "This environment has as many event streams here as it may have: close one, or read GET /api/v1/activity.",
		}
	case errors.Is(err, stream.ErrFull), errors.Is(err, stream.ErrEnded):
		return problem.NewUnavailable("This process takes no more streams just now.", err)
	case err != nil:
		return err
	}
	if p.KeyID() != "" && !sub.Hold(requestContext(c), h.holder(p)) {
		return problem.New(problem.Unauthenticated, "The credential is missing, malformed, expired or revoked.")
	}
	c.Set(fiber.HeaderContentType, "text/event-stream")
	c.Set("X-Accel-Buffering", "no") // a proxy in front must not hold events back
	// The request's context ends when this handler returns; the stream lives on until its subscription or connection ends.
	w := streamWriter{conn: c.Context().Conn(), beat: h.Heartbeat, patience: h.Patience}
	if w.beat <= 0 {
		w.beat = heartbeat
	}
	if w.patience <= 0 {
		w.patience = patience
	}
	c.Context().SetBodyStreamWriter(func(out *bufio.Writer) {
		defer sub.Close()
		defer time.AfterFunc(life, sub.Close).Stop()
		w.run(out, sub)
	})
	return nil
}

// holder is the caller's key, for as long as it holds as it did when the stream began.
func (h *streamHandlers) holder(p identity.Principal) stream.Holder {
	return stream.Holder{Key: p.KeyID(), Check: func(ctx context.Context) (bool, error) { return h.Identity.StillValid(ctx, p) }}
}

// streamWriter writes one stream to one connection.
type streamWriter struct {
	conn           net.Conn
	beat, patience time.Duration
}

// run sends messages and heartbeats until the subscription ends or the client stops reading.
func (s streamWriter) run(w *bufio.Writer, sub *stream.Subscription) {
	if _, err := w.WriteString(retryHint); err != nil {
		return
	}
	for {
		if err := s.conn.SetWriteDeadline(time.Now().Add(s.beat + s.patience)); err != nil { //nolint:forbidigo // a socket's deadline
			return
		}
		if err := w.Flush(); err != nil {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), s.beat+readWait)
		m, ok, err := sub.Next(ctx, s.beat)
		cancel()
		if err != nil {
			_, _ = w.WriteString(retryHint) // how soon the client connects again
			_ = w.Flush()
			return
		}
		if !ok {
			_, err = w.WriteString(": heartbeat\n\n")
		} else {
			err = writeMessage(w, m)
		}
		if err != nil {
			return
		}
	}
}

// writeMessage writes one event. Its data is JSON without line breaks, so one data line holds it.
func writeMessage(w *bufio.Writer, m stream.Message) error {
	if m.ID != "" {
		_, _ = w.WriteString("id: " + m.ID + "\n")
	}
	_, _ = w.WriteString("event: " + m.Type + "\ndata: ")
	_, _ = w.Write(m.Data)
	_, err := w.WriteString("\n\n") // the first error sticks
	return err
}
