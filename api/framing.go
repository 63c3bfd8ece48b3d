package api

import (
	"bytes"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/platform/problem"
)

// plainly refuses a request that two readers could take for different ones, and ends its connection: what stands behind it
// may be a request that a balancer in front never saw as one. The server below takes Transfer-Encoding over Content-Length,
// the last of several, and near misses of chunked; RFC 9112 section 6.3 has such requests refused.
func (s *server) plainly(c *fiber.Ctx) error {
	if !plain(c.Request().Header.RawHeaders(), c.Request().Header.IsHTTP11()) {
		c.Response().SetConnectionClose()
		leftUnread(c)
		return problem.New(problem.BadRequest, "The request's length, encoding or host is given twice or not as HTTP/1.1 has it.")
	}
	return c.Next()
}

var (
	contentLength    = []byte("content-length")
	transferEncoding = []byte("transfer-encoding")
	host             = []byte("host")
	chunked          = []byte("chunked")
)

// plain holds for header lines with one length or one encoding, which is chunked, one host at most, and no control characters
// that some readers end a line or a value at.
func plain(lines []byte, http11 bool) bool {
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
