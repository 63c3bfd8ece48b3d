// Package framing checks where the requests of a connection begin and end before the HTTP server reads them.
//
// RFC 9112 lets a recipient be lenient in several places, and each of them is a request that a proxy in front reads differently
// (request smuggling). The package accepts one form only: lines that end with CRLF, one length or one chunked encoding, chunk
// sizes of plain hexadecimal digits, one host, no trailers, and once each field that says who asks and what. It does not read bodies and it stores no more than one line.
package framing

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
)

// The limits of a request, in bytes. The server's own limits are lower, except for a line of a chunk.
const (
	maxLine      = 32 << 10
	maxChunkLine = 256 // the size of a chunk and its extensions
)

// Error says why a request was refused.
type Error struct{ rule string }

// Error returns a sentence for the client.
func (e *Error) Error() string { return "The request is not valid HTTP/1.1: " + e.rule + "." }

// position is the part of a request that the next line belongs to.
type position int

const (
	requestLine position = iota
	headerLine
	chunkSize
	chunkEnd
	bodyEnd
)

// Checker follows the requests of one connection. The zero value is ready.
type Checker struct {
	at      position
	pending []byte // the beginning of a line whose end has not arrived
	left    int64  // bytes of a body or a chunk that follow
	blank   bool   // an empty line came before the request line
	head    head
	refused *Error
}

// head has the fields of a header that determine the framing of its request.
type head struct {
	http11    bool
	hosts     int
	host      string
	authority string // of a target in absolute form
	lengths   int
	length    int64
	chunked   bool
	once      [len(once)]bool // which fields of once were given
}

// once are the fields with one value, by which a request is authorised, read or repeated. Given twice, a proxy could check one value and the
// server use the other.
var once = [...]string{"authorization", "content-type", "content-encoding", "idempotency-key", "origin", "last-event-id"}

// Err returns the error of an earlier Check.
func (c *Checker) Err() error {
	if c.refused != nil {
		return c.refused
	}
	return nil
}

// Check returns how many of the next bytes of the connection the server may read. After an error, which it returns for every later
// call too, nothing of the connection can be read as a request. It may change the first byte of an empty line that it refuses.
func (c *Checker) Check(b []byte) (int, error) {
	if c.refused != nil {
		return 0, c.refused
	}
	for i := 0; i < len(b); {
		if c.left > 0 {
			n := min(c.left, int64(len(b)-i))
			c.left -= n
			i += int(n)
			continue
		}
		end := bytes.IndexByte(b[i:], '\n')
		if end < 0 {
			c.pending = append(c.pending, b[i:]...)
			if len(c.pending) > c.longest() {
				return c.refuse(len(b), "a line is too long")
			}
			return len(b), nil
		}
		line := b[i : i+end]
		if len(c.pending) > 0 {
			line = append(c.pending, line...)
			c.pending = c.pending[:0]
		}
		if rule := c.line(line); rule != "" {
			if len(line) == 0 {
				// fasthttp takes an error behind the last chunk for the end of the body, unless a byte of a trailer precedes it.
				b[i] = '-'
				end = 1
			}
			return c.refuse(i+end, rule) // without the line's end the server cannot have read the line
		}
		i += end + 1
	}
	return len(b), nil
}

func (c *Checker) refuse(n int, rule string) (int, error) {
	c.pending, c.refused = nil, &Error{rule: rule}
	return n, c.refused
}

func (c *Checker) longest() int {
	if c.at == requestLine || c.at == headerLine {
		return maxLine
	}
	return maxChunkLine
}

// line checks a line without its LF and returns the rule that it breaks.
func (c *Checker) line(raw []byte) (broken string) {
	line, ok := bytes.CutSuffix(raw, []byte{'\r'})
	if !ok {
		return "a line must end with CR LF"
	}
	if len(line) > c.longest() {
		return "a line is too long"
	}
	if i := bytes.IndexFunc(line, isControl); i >= 0 {
		return "a line contains a control character"
	}
	switch c.at {
	case requestLine:
		return c.requestLine(line)
	case headerLine:
		if len(line) == 0 {
			return c.endHead()
		}
		return c.head.field(line)
	case chunkSize:
		return c.chunk(line)
	case chunkEnd:
		c.at = chunkSize
		if len(line) > 0 {
			return "a chunk is longer than its size"
		}
	case bodyEnd:
		c.at = requestLine
		if len(line) > 0 {
			return "trailers are not accepted"
		}
	}
	return ""
}

// isControl matches what RFC 9110 section 5.5 forbids in a field value.
func isControl(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }

// requestLine reads "METHOD target HTTP/1.x". One empty line may precede it (RFC 9112 section 2.2).
func (c *Checker) requestLine(line []byte) string {
	if len(line) == 0 {
		if c.blank {
			return "the request line is empty"
		}
		c.blank = true
		return ""
	}
	c.blank, c.head = false, head{}
	parts := strings.Split(string(line), " ")
	if len(parts) != 3 || !isToken(parts[0]) {
		return "the request line must be a method, a target and a version"
	}
	switch parts[2] {
	case "HTTP/1.1":
		c.head.http11 = true
	case "HTTP/1.0":
	default:
		return "the version must be HTTP/1.1 or HTTP/1.0"
	}
	target, absolute := parts[1], false
	for _, scheme := range []string{"http://", "https://"} {
		if len(target) > len(scheme) && strings.EqualFold(target[:len(scheme)], scheme) {
			c.head.authority, _, _ = strings.Cut(target[len(scheme):], "/")
			c.head.authority, _, _ = strings.Cut(c.head.authority, "?")
			absolute = true
		}
	}
	if !absolute && target != "*" && !strings.HasPrefix(target, "/") || strings.ContainsAny(target, "#\t") {
		return "the target must be a path"
	}
	c.at = headerLine
	return ""
}

func (h *head) field(line []byte) string {
	name, value, found := strings.Cut(string(line), ":")
	if !found || !isToken(name) {
		return "a header line must be a name, a colon and a value"
	}
	value, name = strings.Trim(value, " \t"), strings.ToLower(name)
	if at := slices.Index(once[:], name); at >= 0 {
		if h.once[at] {
			return name + " may be given once"
		}
		h.once[at] = true
	}
	switch name {
	case "host":
		h.hosts++
		h.host = value
	case "content-length":
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || !digits(value) {
			return "Content-Length must be one number"
		}
		h.lengths++
		h.length = n
	case "transfer-encoding":
		if h.chunked || !strings.EqualFold(value, "chunked") {
			return "the only transfer encoding is chunked, once"
		}
		h.chunked = true
	}
	return ""
}

// endHead checks the header as a whole and finds what follows it.
func (c *Checker) endHead() string {
	h := c.head
	switch {
	case h.lengths > 1, h.lengths > 0 && h.chunked:
		return "Content-Length and Transfer-Encoding may be given once, and not both"
	case h.chunked && !h.http11:
		return "HTTP/1.0 has no Transfer-Encoding"
	case h.hosts > 1, h.http11 && h.hosts == 0:
		return "there must be one Host header"
	case h.hosts == 1 && !isHost(h.host):
		return "the Host header must be a host name with or without a port"
	case h.authority != "" && !strings.EqualFold(h.authority, h.host):
		return "the host of the target must be that of the Host header"
	}
	c.at, c.left = requestLine, h.length
	if h.chunked {
		c.at = chunkSize
	}
	return ""
}

// chunk reads the size of a chunk. Extensions have no meaning here, but must be well-formed.
func (c *Checker) chunk(line []byte) string {
	size, extensions, extended := strings.Cut(string(line), ";")
	n, err := strconv.ParseInt(size, 16, 64)
	if err != nil || !hexDigits(size) || extended && strings.Trim(extensions, " \t") == "" {
		return "the size of a chunk must be hexadecimal digits"
	}
	if c.left, c.at = n, chunkEnd; n == 0 {
		c.at = bodyEnd
	}
	return ""
}

func digits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

func hexDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789abcdefABCDEF") == "" }

// isToken matches a token of RFC 9110 section 5.6.2.
func isToken(s string) bool {
	for i := range len(s) {
		b := s[i]
		if known := b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || strings.IndexByte("!#$%&'*+-.^_`|~", b) >= 0; !known {
			return false
		}
	}
	return s != ""
}

// isHost matches the characters of a host with or without a port (RFC 9110 section 7.2): no user, path, list or space.
func isHost(s string) bool {
	for i := range len(s) {
		b := s[i]
		if known := b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || strings.IndexByte("-._~:[]", b) >= 0; !known {
			return false
		}
	}
	return s != ""
}
