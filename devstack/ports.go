package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
)

// loopback is the only address devstack listens on, besides [::1] for the web UI, unless --listen says otherwise. Inside
// the process all parts reach each other over it.
const loopback = "127.0.0.1"

// Picked ports lie below the range from which operating systems number outgoing connections, so that none of those
// takes a port between the moment it is picked and the moment the server listens on it.
const (
	lowestPickedPort  = 20000
	highestPickedPort = 32000
)

// reservations holds the server's ports from the moment they are chosen until the server is about to listen on them.
type reservations struct {
	listeners []net.Listener
}

// reserve takes port on 127.0.0.1, or a free one where port is 0, and returns its number. flagName is what to change
// when the port is taken.
func (r *reservations) reserve(port int, flagName string) (int, error) {
	if port == 0 {
		return r.reserveAny()
	}
	l, err := listen(loopback, port)
	if err != nil {
		return 0, portError(port, flagName, err)
	}
	r.listeners = append(r.listeners, l)
	return port, nil
}

func (r *reservations) reserveAny() (int, error) {
	const tries = 200
	var err error
	for range tries {
		port := lowestPickedPort + rand.IntN(highestPickedPort-lowestPickedPort)
		var l net.Listener
		if l, err = listen(loopback, port); err == nil {
			r.listeners = append(r.listeners, l)
			return port, nil
		}
	}
	return 0, fmt.Errorf("no free port was found on %s: %w", loopback, err)
}

// release gives all ports back, right before the server takes them.
func (r *reservations) release() {
	for _, l := range r.listeners {
		_ = l.Close()
	}
	r.listeners = nil
}

// portError says in one sentence that port cannot be listened on and which flag chooses another.
func portError(port int, flagName string, err error) error {
	var call *os.SyscallError
	if errors.As(err, &call) {
		err = call.Err
	}
	return fmt.Errorf("port %d cannot be used (%w): free it, or choose another with --%s", port, err, flagName)
}

func listen(host string, port int) (net.Listener, error) {
	return net.Listen("tcp", address(host, port))
}

func address(host string, port int) string {
	return net.JoinHostPort(host, strconv.Itoa(port))
}
