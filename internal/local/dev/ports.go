package dev

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
)

// Picked ports lie below the range from which operating systems number outgoing connections.
const (
	lowestPort  = 20000
	highestPort = 32000
)

// Listen listens on the port on localhost, on IPv4 and IPv6 if the machine
// has both: a browser may use either for localhost. If the port is taken,
// it picks a free one; 0 is any. It returns the number of the port.
func Listen(preferred int) ([]net.Listener, int, error) {
	if preferred != 0 {
		if listeners, err := listenBoth(preferred); err == nil {
			return listeners, preferred, nil
		}
	}
	for range 200 {
		port := lowestPort + rand.IntN(highestPort-lowestPort) // #nosec G404 -- no secret
		if listeners, err := listenBoth(port); err == nil {
			return listeners, port, nil
		}
	}
	return nil, 0, errors.New("no free port was found on localhost")
}

// listenBoth listens on one port in both address families, or in none.
func listenBoth(port int) ([]net.Listener, error) {
	v4, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return nil, err
	}
	if !hasIPv6() {
		return []net.Listener{v4}, nil
	}
	v6, err := net.Listen("tcp", net.JoinHostPort("::1", strconv.Itoa(port)))
	if err != nil {
		_ = v4.Close()
		return nil, err
	}
	return []net.Listener{v4, v6}, nil
}

// hasIPv6 reports whether the machine can listen on the IPv6 loopback
// address.
func hasIPv6() bool {
	l, err := net.Listen("tcp", "[::1]:0")
	return err == nil && l.Close() == nil
}

// PickPort returns the port if it is free on localhost, or a free one.
func PickPort(preferred int) (int, error) {
	r, err := reserve(preferred)
	if err != nil {
		return 0, err
	}
	r.release()
	return r.port, nil
}

// reservation holds a port on localhost for a server that starts later. It closes the connections that it gets, so that clients fail
// at once.
type reservation struct {
	port    int
	release func()
}

// reserve takes the port, or a free one if it is in use.
func reserve(preferred int) (*reservation, error) {
	listeners, port, err := Listen(preferred)
	if err != nil {
		return nil, err
	}
	for _, l := range listeners {
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				_ = c.Close()
			}
		}()
	}
	return &reservation{port: port, release: sync.OnceFunc(func() {
		for _, l := range listeners {
			_ = l.Close()
		}
	})}, nil
}

// LocalURL is the URL of the port for a browser on this machine.
func LocalURL(port int) string { return fmt.Sprintf("http://localhost:%d", port) }
