package api

import (
	"net"
	"sync/atomic"
	"time"

	"github.com/gofiber/fiber/v2"
)

// A connection that is closed while its client still sends is reset, and the reset overtakes the answer: the client reports a broken
// connection where it should report 413. So what is still coming is read and thrown away for a while after the answer, as other
// servers do (lingering close, RFC 9112 section 9.6). The while is bounded by bytes, by time, and by how many connections do so.
const (
	lingerBytes  = 8 << 20
	lingerWithin = 10 * time.Second
	lingerIdle   = 2 * time.Second // without a byte
	lingerAtOnce = 256
)

// Lingering is a listener whose connections read on before they close, if an answer was given before the request was read.
func Lingering(l net.Listener) net.Listener {
	return &lingerListener{Listener: l, places: make(chan struct{}, lingerAtOnce)}
}

type lingerListener struct {
	net.Listener
	places chan struct{}
}

func (l *lingerListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &lingerConn{Conn: c, places: l.places}, nil
}

type lingerConn struct {
	net.Conn
	places chan struct{}
	unread atomic.Bool // an answer was given before the request was read
}

// Close closes the connection, after reading on where the client may still be sending.
func (c *lingerConn) Close() error {
	if c.unread.Swap(false) {
		select {
		case c.places <- struct{}{}:
			c.drain()
			<-c.places
		default:
		}
	}
	return c.Conn.Close()
}

// drain ends the answer and reads until the client ends too, or a bound is met.
func (c *lingerConn) drain() {
	half, ok := c.Conn.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil {
		return
	}
	end := time.Now().Add(lingerWithin) //nolint:forbidigo // a socket's deadline
	buffer := make([]byte, 16<<10)
	for left := lingerBytes; left > 0; {
		deadline := time.Now().Add(lingerIdle) //nolint:forbidigo // a socket's deadline
		if deadline.After(end) {
			deadline = end
		}
		if c.SetReadDeadline(deadline) != nil {
			return
		}
		n, err := c.Read(buffer)
		if err != nil {
			return
		}
		left -= n
	}
}

// leftUnread says that the request is answered before it was read to its end: the connection is closed, gently.
func leftUnread(c *fiber.Ctx) {
	if conn, ok := c.Context().Conn().(*lingerConn); ok {
		conn.unread.Store(true)
	}
}
