// Package pacing makes a client read a streamed response at a minimum pace, so that a slow or stopped client does not occupy what
// the stream needs on the server.
//
// It may not decide what is sent or write a response itself.
package pacing

import (
	"io"
	"net"
	"time"
)

// Body is a response body whose client must read without pauses longer than one limit and within a total time. The server
// alternates reads of the body and writes to the client, so each Read sets the deadline of the write that follows.
type Body struct {
	io.ReadCloser
	conn  net.Conn
	pause time.Duration
	ends  time.Time
}

// New returns the body for the client at conn. The total time begins now.
func New(body io.ReadCloser, conn net.Conn, pause, total time.Duration) *Body {
	return &Body{ReadCloser: body, conn: conn, pause: pause, ends: time.Now().Add(total)} //nolint:forbidigo // a socket's deadline
}

// Read reads the next part of the body.
func (b *Body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)      // may wait for the source, which is no pause of the client
	deadline := time.Now().Add(b.pause) //nolint:forbidigo // a socket's deadline
	if deadline.After(b.ends) {
		deadline = b.ends
	}
	if failed := b.conn.SetWriteDeadline(deadline); failed != nil {
		return 0, failed
	}
	return n, err
}
