package localpg

import (
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
)

// Picked ports are below the range that operating systems use for outgoing
// connections, so that none of those takes a port between picking it and
// listening on it.
const (
	lowestPort  = 20000
	highestPort = 32000
)

// freePort returns the preferred port if it is free on 127.0.0.1, or a free
// one.
func freePort(preferred int) (int, error) {
	if preferred != 0 && isFree(preferred) {
		return preferred, nil
	}
	for range 200 {
		port := lowestPort + rand.IntN(highestPort-lowestPort) // #nosec G404 -- no secret
		if isFree(port) {
			return port, nil
		}
	}
	return 0, errors.New("no free port was found on 127.0.0.1 for Postgres")
}

// isFree reports whether the port can be listened on.
func isFree(port int) bool {
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return false
	}
	return l.Close() == nil
}
