package integration_test

import (
	"io"
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// cable is a TCP proxy to a server that a test takes away: cut, every connection ends and none is taken.
type cable struct {
	address, target string
	mu              sync.Mutex
	listener        net.Listener // nil while it is cut
	open            map[net.Conn]bool
}

func newCable(t *testing.T, target string) *cable {
	t.Helper()
	c := &cable{target: target, open: map[net.Conn]bool{}, address: "127.0.0.1:0"}
	c.mend(t)
	t.Cleanup(c.cut)
	return c
}

func (c *cable) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.listener != nil {
		_ = c.listener.Close()
		c.listener = nil
	}
	for conn := range c.open {
		_ = conn.Close()
	}
}

func (c *cable) mend(t *testing.T) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	l, err := net.Listen("tcp", c.address)
	require.NoError(t, err)
	c.listener, c.address = l, l.Addr().String()
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			go c.join(in, l)
		}
	}()
}

// join carries bytes both ways until either side ends. A connection that was taken just before the cut ends too.
func (c *cable) join(in net.Conn, l net.Listener) {
	out, err := net.Dial("tcp", c.target)
	if err != nil {
		_ = in.Close()
		return
	}
	c.mu.Lock()
	c.open[in], c.open[out] = true, true
	late := c.listener != l
	c.mu.Unlock()
	end := sync.OnceFunc(func() {
		_, _ = in.Close(), out.Close()
		c.mu.Lock()
		delete(c.open, in)
		delete(c.open, out)
		c.mu.Unlock()
	})
	if late {
		end()
		return
	}
	go func() {
		_, _ = io.Copy(out, in)
		end()
	}()
	_, _ = io.Copy(in, out)
	end()
}
