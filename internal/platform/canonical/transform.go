package canonical

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/gowebpki/jcs"
)

// transform converts well-formed, compact JSON (the output of encoding/json) to its RFC 8785 form. It is much faster than
// jcs.Transform because it copies the text that needs no change, which is nearly all of it. A test compares the two.
func transform(raw []byte) ([]byte, error) {
	w := writer{in: raw, out: make([]byte, 0, 2*len(raw))} // twice: room to sort
	if err := w.value(); err != nil {
		return nil, err
	}
	return w.out, nil
}

// writer reads in from position at and appends to out.
type writer struct {
	in  []byte
	at  int
	out []byte
}

// value writes the value at the current position.
func (w *writer) value() error {
	switch c := w.in[w.at]; c {
	case '{':
		return w.object()
	case '[':
		return w.array()
	case '"':
		_, err := w.text()
		return err
	case 't', 'n':
		w.copy(len("true"))
		return nil
	case 'f':
		w.copy(len("false"))
		return nil
	default:
		return w.number()
	}
}

func (w *writer) copy(n int) {
	w.out = append(w.out, w.in[w.at:w.at+n]...)
	w.at += n
}

// array writes the items of an array in their order.
func (w *writer) array() error {
	w.copy(1)
	for w.in[w.at] != ']' {
		if w.in[w.at] == ',' {
			w.copy(1)
		}
		if err := w.value(); err != nil {
			return err
		}
	}
	w.copy(1)
	return nil
}

// member is one member of an object as it stands in out, from its key's quote to the end of its value.
type member struct {
	key        []byte
	start, end int
}

// object writes the members in their order and sorts them only if necessary: maps are sorted by encoding/json already.
func (w *writer) object() error {
	w.copy(1)
	var some [16]member
	all, sorted := some[:0], true
	first := len(w.out)
	for w.in[w.at] != '}' {
		if w.in[w.at] == ',' {
			w.copy(1)
		}
		m := member{start: len(w.out)}
		var err error
		if m.key, err = w.text(); err != nil {
			return err
		}
		w.copy(1) // the colon
		if err := w.value(); err != nil {
			return err
		}
		m.end = len(w.out)
		if n := len(all); n > 0 && sorted {
			sorted = byUnits(all[n-1].key, m.key) < 0
		}
		all = append(all, m)
	}
	if !sorted {
		if err := w.sort(first, all); err != nil {
			return err
		}
	}
	w.copy(1)
	return nil
}

// sort rewrites the members of an object, which begin at first, in the order of their keys.
func (w *writer) sort(first int, all []member) error {
	slices.SortFunc(all, func(a, b member) int { return byUnits(a.key, b.key) })
	end := len(w.out)
	for i, m := range all { // behind the members, and then in their place
		if i > 0 {
			if bytes.Equal(all[i-1].key, m.key) {
				return fmt.Errorf("duplicate key %.40q", m.key)
			}
			w.out = append(w.out, ',')
		}
		w.out = append(w.out, w.out[m.start:m.end]...)
	}
	w.out = w.out[:first+copy(w.out[first:], w.out[end:])]
	return nil
}

// byUnits compares strings by their UTF-16 code units (RFC 8785 section 3.2.3), which differs from the order of the code points
// above U+FFFF.
func byUnits(a, b []byte) int {
	for len(a) > 0 && len(b) > 0 {
		r, n := utf8.DecodeRune(a)
		s, m := utf8.DecodeRune(b)
		if r != s {
			if u, v := firstUnit(r), firstUnit(s); u != v {
				return cmp.Compare(u, v)
			}
			return cmp.Compare(r, s) // two that share their first unit differ in the second
		}
		a, b = a[n:], b[m:]
	}
	return cmp.Compare(len(a), len(b))
}

// firstUnit returns the first UTF-16 code unit of a code point.
func firstUnit(r rune) rune {
	if r > 0xffff {
		r, _ = utf16.EncodeRune(r)
	}
	return r
}

// text writes a string and returns its value, which is a part of in unless the string has escapes.
func (w *writer) text() ([]byte, error) {
	start := w.at + 1
	end := start
	for w.in[end] != '"' && w.in[end] != '\\' {
		end++
	}
	if w.in[end] == '"' { // the string has no escapes and needs none
		w.copy(end + 1 - w.at)
		return w.in[start:end], nil
	}
	said := append([]byte(nil), w.in[start:end]...)
	var err error
	for w.at = end; w.in[w.at] != '"'; {
		if w.in[w.at] != '\\' {
			said = append(said, w.in[w.at])
			w.at++
		} else if said, err = w.unescape(said); err != nil {
			return nil, err
		}
	}
	w.at++
	w.out = appendText(w.out, said)
	return said, nil
}

var shortEscapes = map[byte]byte{'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// unescape appends the character that the escape at the current position stands for.
func (w *writer) unescape(said []byte) ([]byte, error) {
	c := w.in[w.at+1]
	if c != 'u' {
		w.at += 2
		if short, ok := shortEscapes[c]; ok {
			c = short
		}
		return append(said, c), nil
	}
	r := w.unit()
	if utf16.IsSurrogate(r) {
		if w.in[w.at] != '\\' || w.in[w.at+1] != 'u' {
			return nil, errSurrogate
		}
		if r = utf16.DecodeRune(r, w.unit()); r == utf8.RuneError {
			return nil, errSurrogate
		}
	}
	return utf8.AppendRune(said, r), nil
}

var errSurrogate = errors.New("lone surrogate in a string")

// unit reads one \uXXXX escape, a UTF-16 code unit.
func (w *writer) unit() rune {
	n, _ := strconv.ParseUint(string(w.in[w.at+2:w.at+6]), 16, 16) // well formed: encoding/json has seen it
	w.at += 6
	return rune(n)
}

// appendText writes a string with exactly the escapes that RFC 8785 section 3.2.2.2 requires.
func appendText[T string | []byte](out []byte, said T) []byte {
	out = append(out, '"')
	for i := range len(said) {
		switch c := said[i]; {
		case c == '"' || c == '\\':
			out = append(out, '\\', c)
		case c >= ' ':
			out = append(out, c)
		case c == '\b':
			out = append(out, `\b`...)
		case c == '\f':
			out = append(out, `\f`...)
		case c == '\n':
			out = append(out, `\n`...)
		case c == '\r':
			out = append(out, `\r`...)
		case c == '\t':
			out = append(out, `\t`...)
		default:
			const hex = "0123456789abcdef"
			out = append(out, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	return append(out, '"')
}

// number writes a number like ECMAScript's Number::toString (RFC 8785 section 3.2.2.3).
func (w *writer) number() error {
	start := w.at
	w.at = numberEnd(w.in, start)
	token := w.in[start:w.at]
	if isSmallInteger(token) {
		w.out = append(w.out, token...)
		return nil
	}
	f, err := strconv.ParseFloat(string(token), 64)
	if err != nil {
		return err
	}
	text, err := jcs.NumberToJSON(f)
	w.out = append(w.out, text...)
	return err
}

// isSmallInteger reports whether a number is in ECMAScript's form already: an integer of up to 15 digits, and not -0.
func isSmallInteger(token []byte) bool {
	digits := token
	if digits[0] == '-' {
		digits = digits[1:]
	}
	if len(digits) == 0 || len(digits) > 15 || (digits[0] == '0' && len(token) > 1) {
		return false
	}
	for _, c := range digits {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}
