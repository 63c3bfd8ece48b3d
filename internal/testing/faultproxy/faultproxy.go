// Package faultproxy forwards TCP connections and lets a test cut, silence or delay them. It may be used by tests only.
package faultproxy

import (
	"io"
	"net"
	"net/url"
	"sync"
	"time"
)

// Proxy forwards TCP connections to one address. It can cut them, hold back
// their data or delay it.
type Proxy struct {
	listener net.Listener
	target   string

	mu     sync.Mutex
	mode   Mode
	delay  time.Duration // before each piece that is passed on, either way
	change chan struct{} // closed when the mode changes
	conns  map[net.Conn]struct{}
}

// Mode is how a proxy treats its connections.
type Mode int

// The modes. Cut closes open and new connections; Silent keeps connections
// open and forwards nothing, as a network that drops packets does.
const (
	Passing Mode = iota
	Cut
	Silent
)

// New listens on a free port.
func New(target string) (*Proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{listener: l, target: target, change: make(chan struct{}), conns: map[net.Conn]struct{}{}}
	go p.accept()
	return p, nil
}

// Address is the address that the proxy listens at.
func (p *Proxy) Address() string { return p.listener.Addr().String() }

// URL replaces the host of a URL of the target by the proxy's.
func (p *Proxy) URL(direct string) string {
	u, err := url.Parse(direct)
	if err != nil {
		return direct
	}
	u.Host = p.Address()
	return u.String()
}

// Set changes the mode. Connections that wait in the old mode follow the
// new one.
func (p *Proxy) Set(m Mode) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mode = m
	close(p.change)
	p.change = make(chan struct{})
	if m == Cut {
		p.closeAll()
	}
}

// Slow delays every piece of data by d, in both directions; 0 ends the
// delay.
func (p *Proxy) Slow(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = d
}

// Close stops the proxy and closes its connections.
func (p *Proxy) Close() {
	_ = p.listener.Close()
	p.Set(Cut)
}

// closeAll closes every connection. The caller holds the lock.
func (p *Proxy) closeAll() {
	for c := range p.conns {
		_ = c.Close()
	}
	clear(p.conns)
}

// state returns the mode, the delay and a channel that is closed when the
// mode changes.
func (p *Proxy) state() (Mode, time.Duration, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mode, p.delay, p.change
}

// accept serves connections until the listener is closed.
func (p *Proxy) accept() {
	for {
		c, err := p.listener.Accept()
		if err != nil {
			return
		}
		go p.serve(c)
	}
}

// serve forwards one connection until either side closes it.
func (p *Proxy) serve(c net.Conn) {
	if !p.keep(c) {
		return
	}
	defer p.drop(c)
	to, err := net.DialTimeout("tcp", p.target, 5*time.Second)
	if err != nil || !p.keep(to) {
		return
	}
	defer p.drop(to)
	done := make(chan struct{}, 2)
	for _, way := range [][2]net.Conn{{c, to}, {to, c}} {
		go func() {
			p.pass(way[0], way[1])
			done <- struct{}{}
		}()
	}
	<-done // either side's end is the other's
}

// keep registers a connection. In the mode Cut it closes the connection and
// reports false.
func (p *Proxy) keep(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mode == Cut {
		_ = c.Close()
		return false
	}
	p.conns[c] = struct{}{}
	return true
}

// drop closes a connection and forgets it.
func (p *Proxy) drop(c net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = c.Close()
	delete(p.conns, c)
}

// pass copies data until either connection ends.
func (p *Proxy) pass(from io.Reader, to io.Writer) {
	piece := make([]byte, 32<<10)
	for {
		n, err := from.Read(piece)
		if n > 0 {
			p.hold()
			if _, err := to.Write(piece[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// hold blocks as long as the mode and the delay require.
func (p *Proxy) hold() {
	mode, delay, change := p.state()
	for mode == Silent {
		<-change
		mode, delay, change = p.state()
	}
	if delay > 0 {
		<-time.After(delay)
	}
}
