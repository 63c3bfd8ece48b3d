package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
)

// loopback is the default listen address; the web UI also listens on [::1]. --listen changes it. The services inside
// the process always use loopback to reach each other.
const loopback = "127.0.0.1"

// Picked ports are below the ephemeral range of operating systems, so that no outgoing connection takes a port
// between the moment it is picked and the moment the server listens on it.
const (
	lowestPickedPort  = 20000
	highestPickedPort = 32000
)

// reservations holds the server's ports from the moment they are chosen until the server is about to listen on them.
type reservations struct {
	listeners []net.Listener
}

// reserve reserves port on 127.0.0.1, or a free port if port is 0, and returns its number. flagName is the flag that
// the error message suggests if the port is in use.
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

// release closes all reserved ports, right before the server listens on them.
func (r *reservations) release() {
	for _, l := range r.listeners {
		_ = l.Close()
	}
	r.listeners = nil
}

// portError returns one sentence that names the port, the cause and the flag that selects another port.
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
