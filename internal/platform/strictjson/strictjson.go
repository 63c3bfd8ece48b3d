// Package strictjson reads a JSON body once, strictly, before anything else looks at it.
//
// encoding/json keeps the last of duplicate keys, turns bad UTF-8 into U+FFFD, lets NUL through to a database that
// refuses it, and nests as deep as the sender likes. This package refuses all of these, in one pass whose cost is
// linear in the body, and says where. What it accepts comes out as map[string]any, []any, string, float64, bool and
// nil, ready for a JSON Schema validator. It may not know any schema, and it may not guess: no coercion, no repair.
package strictjson

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// MaxSafeInteger is 2^53-1: beyond it a double no longer tells neighbouring integers apart.
const MaxSafeInteger = 1<<53 - 1

// Limits bound what is accepted. The zero value is the default.
type Limits struct {
	MaxDepth  int  // nesting of objects and arrays; 0 means 32
	MaxKeys   int  // object keys in the whole document; 0 means 10,000
	AnyFinite bool // accept numbers beyond ±(2^53-1) that a double holds; for numbers that are measured, not hashed
}

// SyntaxError is a body that is not JSON text.
type SyntaxError struct {
	Offset int // bytes before the fault
	Msg    string
}

// Error names the fault and where it is.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("malformed JSON at byte %d: %s", e.Offset, e.Msg)
}

// Types of ValueError, in the form of the type field of a 422 detail item.
const (
	TypeDuplicateKey     = "duplicate_key"
	TypeNUL              = "nul_character"
	TypeLoneSurrogate    = "lone_surrogate"
	TypeTooDeep          = "too_deep"
	TypeTooManyKeys      = "too_many_keys"
	TypeNumberOutOfRange = "number_out_of_range"
	TypeNumberTooLong    = "number_too_long"
)

// ValueError is JSON text holding something the service takes from nobody.
type ValueError struct {
	Loc    []any // keys (string) and indices (int) from the root
	Offset int   // bytes before the fault
	Msg    string
	Type   string
}

// Error names the fault and where it is.
func (e *ValueError) Error() string { return fmt.Sprintf("%s at %v: %s", e.Type, e.Loc, e.Msg) }

// Decode reads one JSON value that makes up the whole of raw. It returns a *SyntaxError or a *ValueError at the first
// fault. The result does not refer to raw, which may be reused.
func Decode(raw []byte, limits Limits) (any, error) {
	d := &decoder{text: string(raw), maxDepth: limits.MaxDepth, maxKeys: limits.MaxKeys, anyFinite: limits.AnyFinite}
	if d.maxDepth == 0 {
		d.maxDepth = 32
	}
	if d.maxKeys == 0 {
		d.maxKeys = 10_000
	}
	if !utf8.ValidString(d.text) {
		return nil, &SyntaxError{Offset: invalidUTF8At(d.text), Msg: "not valid UTF-8"}
	}
	value, fault := d.document()
	if fault != nil {
		return nil, fault.err()
	}
	return value, nil
}

// decoder walks text. Its methods return a fault instead of panicking, and leave pos after what they read.
type decoder struct {
	text            string // strings without escapes are cut from it, so it is copied once and not piece by piece
	pos             int
	depth, maxDepth int
	keys, maxKeys   int
	anyFinite       bool
	open            []any // items of the arrays being read, so that each array is made once and of its size
}

// fault is an error on its way up: each level adds its key or index, innermost first, so that good input pays nothing
// for the path.
type fault struct {
	offset int
	typ    string // "" for a syntax error
	msg    string
	path   []any
}

func (f *fault) at(step any) *fault {
	f.path = append(f.path, step)
	return f
}

func (f *fault) err() error {
	if f.typ == "" {
		return &SyntaxError{Offset: f.offset, Msg: f.msg}
	}
	slices.Reverse(f.path)
	return &ValueError{Loc: f.path, Offset: f.offset, Msg: f.msg, Type: f.typ}
}

func (d *decoder) syntax(msg string) *fault { return &fault{offset: d.pos, msg: msg} }

func (d *decoder) refuse(typ, msg string) *fault { return &fault{offset: d.pos, typ: typ, msg: msg} }

func (d *decoder) document() (any, *fault) {
	d.space()
	if d.pos == len(d.text) {
		return nil, d.syntax("the body is empty")
	}
	value, f := d.value()
	if f != nil {
		return nil, f
	}
	d.space()
	if d.pos < len(d.text) {
		return nil, d.syntax("something follows the value")
	}
	return value, nil
}

func (d *decoder) space() {
	for d.pos < len(d.text) {
		switch d.text[d.pos] {
		case ' ', '\t', '\n', '\r':
			d.pos++
		default:
			return
		}
	}
}

// peek is the byte at pos, or 0 at the end; a NUL byte in the text is a syntax error wherever peek is used.
func (d *decoder) peek() byte {
	if d.pos < len(d.text) {
		return d.text[d.pos]
	}
	return 0
}

func (d *decoder) value() (any, *fault) {
	switch c := d.peek(); {
	case c == '"':
		return d.str()
	case c == '{' || c == '[':
		return d.nested(c)
	case c == '-' || (c >= '0' && c <= '9'):
		return d.number()
	case c == 't':
		return true, d.literal("true")
	case c == 'f':
		return false, d.literal("false")
	case c == 'n':
		return nil, d.literal("null")
	default:
		return nil, d.syntax("a value is expected")
	}
}

func (d *decoder) literal(word string) *fault {
	if !strings.HasPrefix(d.text[d.pos:], word) {
		return d.syntax("a value is expected")
	}
	d.pos += len(word)
	return nil
}

func (d *decoder) nested(open byte) (value any, f *fault) {
	if d.depth == d.maxDepth {
		return nil, d.refuse(TypeTooDeep, fmt.Sprintf("nested deeper than %d levels", d.maxDepth))
	}
	d.depth++
	if open == '{' {
		value, f = d.object()
	} else {
		value, f = d.array()
	}
	d.depth--
	return value, f
}

func (d *decoder) object() (any, *fault) {
	members := map[string]any{}
	d.pos++
	d.space()
	if d.peek() == '}' {
		d.pos++
		return members, nil
	}
	for {
		if f := d.member(members); f != nil {
			return nil, f
		}
		switch d.space(); d.peek() {
		case ',':
			d.pos++
			d.space()
		case '}':
			d.pos++
			return members, nil
		default:
			return nil, d.syntax("',' or '}' is expected")
		}
	}
}

func (d *decoder) member(members map[string]any) *fault {
	if d.peek() != '"' {
		return d.syntax("a key in double quotes is expected")
	}
	if d.keys++; d.keys > d.maxKeys {
		return d.refuse(TypeTooManyKeys, fmt.Sprintf("more than %d keys", d.maxKeys))
	}
	start := d.pos
	key, f := d.str()
	if f != nil {
		return f
	}
	if d.space(); d.peek() != ':' {
		return d.syntax("':' is expected")
	}
	d.pos++
	d.space()
	value, f := d.value()
	if f != nil {
		return f.at(key)
	}
	before := len(members)
	members[key] = value
	if len(members) == before {
		return (&fault{offset: start, typ: TypeDuplicateKey, msg: "the key is there twice"}).at(key)
	}
	return nil
}

func (d *decoder) array() (any, *fault) {
	d.pos++
	d.space()
	if d.peek() == ']' {
		d.pos++
		return []any{}, nil
	}
	begin := len(d.open)
	for {
		value, f := d.value()
		if f != nil {
			return nil, f.at(len(d.open) - begin)
		}
		d.open = append(d.open, value)
		switch d.space(); d.peek() {
		case ',':
			d.pos++
			d.space()
		case ']':
			d.pos++
			items := slices.Clone(d.open[begin:])
			d.open = d.open[:begin]
			return items, nil
		default:
			return nil, d.syntax("',' or ']' is expected")
		}
	}
}

func invalidUTF8At(s string) int {
	for i, r := range s {
		if r == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(s[i:]); size == 1 {
				return i
			}
		}
	}
	return len(s)
}
