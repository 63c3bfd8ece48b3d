// Package linger keeps an early response from being lost when the server closes a connection whose client is still sending.
//
// Such a connection is reset, and the client reports a broken connection instead of, say, 413. The package therefore discards
// what still arrives for a while before it closes (lingering close, RFC 9112 section 9.6). It does not parse HTTP: package framing
// decides which bytes the server may read as requests.
//
// A connection on which nothing arrives is closed without a response, which could be taken for that to a first request that crosses it.
package linger

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/transport/framing"
)

// The bounds of a lingering close.
const (
	maxBytes       = 8 << 20
	maxDuration    = 10 * time.Second
	maxIdle        = 2 * time.Second // without receiving a byte
	maxConnections = 256             // at the same time; further ones are closed at once
)

// NewListener returns a listener whose connections linger on Close after MarkUnread, and read only requests that pass
// framing.Checker.
func NewListener(l net.Listener) net.Listener {
	return &listener{Listener: l, slots: make(chan struct{}, maxConnections), close: sync.OnceValue(l.Close)}
}

// MarkUnread records that the response is sent before the request was read to its end: the connection lingers on close.
func MarkUnread(c *fiber.Ctx) {
	if conn, ok := c.Context().Conn().(*conn); ok {
		conn.unread.Store(true)
	}
}

type listener struct {
	net.Listener
	slots chan struct{}
	close func() error
}

// Close stops accepting connections; those that were accepted go on. It may be called more than once.
func (l *listener) Close() error { return l.close() }

func (l *listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &conn{Conn: c, slots: l.slots}, nil
}

type conn struct {
	net.Conn
	slots  chan struct{}
	unread atomic.Bool
	began  bool // a byte was received
	frames framing.Checker
}

// Read reports the end of a connection that timed out before its first byte, and a *framing.Error if a request is not valid.
func (c *conn) Read(b []byte) (int, error) {
	if err := c.frames.Err(); err != nil {
		return 0, err
	}
	n, err := c.Conn.Read(b)
	c.began = c.began || n > 0
	if !c.began && errors.Is(err, os.ErrDeadlineExceeded) {
		return 0, io.EOF
	}
	valid, refused := c.frames.Check(b[:n])
	if refused != nil {
		c.unread.Store(true)
		return valid, refused
	}
	return n, err
}

// Close drains the connection first if its request is unread and a slot is free.
func (c *conn) Close() error {
	if c.unread.Swap(false) {
		select {
		case c.slots <- struct{}{}:
			c.drain()
			<-c.slots
		default:
		}
	}
	return c.Conn.Close()
}

// drain closes the writing half and reads until the client closes too, or a bound is reached.
func (c *conn) drain() {
	half, ok := c.Conn.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil {
		return
	}
	end := time.Now().Add(maxDuration) //nolint:forbidigo // a socket's deadline
	buffer := make([]byte, 16<<10)
	for left := maxBytes; left > 0; {
		deadline := time.Now().Add(maxIdle) //nolint:forbidigo // a socket's deadline
		if deadline.After(end) {
			deadline = end
		}
		if c.SetReadDeadline(deadline) != nil {
			return
		}
		n, err := c.Conn.Read(buffer)
		if err != nil {
			return
		}
		left -= n
	}
}
