package api

import (
	"bytes"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/transport/linger"
)

// rejectAmbiguousFraming refuses a request whose framing two parsers could read differently, and closes its connection: the
// bytes behind it may be a request that a proxy in front never saw (request smuggling). fasthttp prefers Transfer-Encoding to
// Content-Length, takes the last of several, and accepts misspellings of chunked; RFC 9112 section 6.3 requires that such
// requests are refused.
func (s *server) rejectAmbiguousFraming(c *fiber.Ctx) error {
	if !unambiguousFraming(c.Request().Header.RawHeaders(), c.Request().Header.IsHTTP11()) {
		c.Response().SetConnectionClose()
		linger.MarkUnread(c)
		return problem.New(problem.BadRequest, "The Content-Length, Transfer-Encoding or Host header is repeated or not valid HTTP/1.1.")
	}
	return c.Next()
}

var (
	contentLength    = []byte("content-length")
	transferEncoding = []byte("transfer-encoding")
	host             = []byte("host")
	chunked          = []byte("chunked")
)

// unambiguousFraming reports whether the header lines have one length or one encoding at most, no encoding but chunked, one
// host at most, and none of the control characters at which some parsers end a line or a value.
func unambiguousFraming(lines []byte, http11 bool) bool {
	lengths, encodings, hosts := 0, 0, 0
	for len(lines) > 0 {
		line, rest, _ := bytes.Cut(lines, []byte{'\n'})
		lines = rest
		line = bytes.TrimSuffix(line, []byte{'\r'})
		if bytes.IndexByte(line, '\r') >= 0 || bytes.IndexByte(line, 0) >= 0 {
			return false
		}
		name, value, _ := bytes.Cut(line, []byte{':'})
		switch {
		case bytes.EqualFold(name, contentLength):
			lengths++
		case bytes.EqualFold(name, host):
			hosts++
		case bytes.EqualFold(name, transferEncoding):
			encodings++
			if !http11 || !bytes.EqualFold(bytes.Trim(value, " \t"), chunked) {
				return false
			}
		}
	}
	return lengths+encodings <= 1 && hosts <= 1
}
