package destination

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/url"
	"time"
)

// syslogOutput sends a batch of syslog messages over a TLS connection of its own. Syslog confirms no message, but a server that receives the close_notify at
// the end of a connection must reply with its own (RFC 5425, section 4.4), which TLS puts behind all that was sent: it confirms the batch.
type syslogOutput struct {
	dialer *net.Dialer
	config *tls.Config
	url    string
}

func newSyslogOutput(dialer *net.Dialer, config *tls.Config, url string) *syslogOutput {
	return &syslogOutput{dialer, config, url}
}

func (o *syslogOutput) close() {}

func (o *syslogOutput) send(ctx context.Context, b batch) *fault {
	err := o.deliver(ctx, b.body)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errUnconfirmed):
		return &fault{text: "The server ended the connection without a close_notify, which confirms what it received. rsyslog sends one with the network stream driver ossl."}
	}
	return unreachable(err)
}

func (o *syslogOutput) deliver(ctx context.Context, body []byte) error {
	u, err := url.Parse(o.url)
	if err != nil {
		return err
	}
	raw, err := o.dialer.DialContext(ctx, "tcp", u.Host)
	if err != nil {
		return err
	}
	defer func() { _ = raw.Close() }()
	if deadline, ok := ctx.Deadline(); ok {
		if err := raw.SetDeadline(deadline); err != nil {
			return err
		}
	}
	stop := context.AfterFunc(ctx, func() { _ = raw.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	config := o.config.Clone()
	config.ServerName = u.Hostname()
	conn := tls.Client(wire{raw}, config)
	if err := conn.HandshakeContext(ctx); err != nil {
		return err
	}
	if _, err := conn.Write(body); err != nil {
		return err
	}
	if err := conn.CloseWrite(); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, conn)
	return err
}

var errUnconfirmed = errors.New("destination: the connection ended without a close_notify")

// wire is a connection that ends with errUnconfirmed. Package tls takes the end of the connection between two records for a close_notify.
type wire struct{ net.Conn }

func (w wire) Read(p []byte) (int, error) {
	n, err := w.Conn.Read(p)
	if errors.Is(err, io.EOF) {
		err = errUnconfirmed
	}
	return n, err
}
