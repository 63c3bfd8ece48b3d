// Package strictjson decodes a JSON request body strictly, before any other code reads it.
//
// encoding/json keeps the last of duplicate keys, replaces invalid UTF-8 by U+FFFD, passes NUL to a database that rejects it,
// and nests as deep as the sender likes. This package rejects all of these in one pass, linear in the size of the body, and
// reports the position. It returns map[string]any, []any, string, float64, bool and nil, ready for a JSON Schema validator.
//
// It may not know any schema, and it may not coerce or repair values.
package strictjson

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// MaxSafeInteger is 2^53-1, the largest magnitude up to which a double represents every integer.
const MaxSafeInteger = 1<<53 - 1

// Limits restrict the accepted documents. The zero value means the defaults.
type Limits struct {
	// Nesting of objects and arrays; 0 means 32.
	MaxDepth int
	// Object keys in the whole document; 0 means 10,000.
	MaxKeys int
	// Accept any finite double, for measured values that are not hashed.
	AnyFinite bool
	// Names a member of the root object and receives its text; nil for none.
	Spelling *Spelling
}

// Spelling is the text of a member, for a value of which more matters than the tree has, such as the digits of a number.
type Spelling struct {
	Name string
	Text string // empty if the member is missing
}

// SyntaxError is the error of a body that is not valid JSON. Its text is shown to the caller.
type SyntaxError struct {
	Offset int // bytes before the fault
	Msg    string
}

// Error describes the fault and its byte offset.
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

// ValueError is the error of valid JSON with a value that the service never accepts. Its text is shown to the caller.
type ValueError struct {
	// Keys (string) and indices (int) from the root.
	Loc    []any
	Offset int // bytes before the fault
	Msg    string
	Type   string
}

// Error describes the fault and its location.
func (e *ValueError) Error() string { return fmt.Sprintf("%s at %v: %s", e.Type, e.Loc, e.Msg) }

// Decode decodes raw, which must be exactly one JSON value. It returns a *SyntaxError or a *ValueError for the first fault. The
// result does not refer to raw, which may be reused.
func Decode(raw []byte, limits Limits) (any, error) {
	d := &decoder{text: string(raw), maxDepth: limits.MaxDepth, maxKeys: limits.MaxKeys, anyFinite: limits.AnyFinite, spelling: limits.Spelling}
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

// decoder reads text from pos. Each method leaves pos behind the part that it read, or returns a fault.
type decoder struct {
	// Strings without escapes are substrings of it, so it is copied once.
	text            string
	pos             int
	depth, maxDepth int
	keys, maxKeys   int
	anyFinite       bool
	spelling        *Spelling
}

// fault is an error being returned: each level appends its key or index, innermost first, so that valid input does not pay for
// the path.
type fault struct {
	offset int
	typ    string // "" for a syntax error
	msg    string
	path   []any
}

// at adds a key or an index to the path of the fault.
func (f *fault) at(step any) *fault {
	f.path = append(f.path, step)
	return f
}

// err converts the fault to the exported error.
func (f *fault) err() error {
	if f.typ == "" {
		return &SyntaxError{Offset: f.offset, Msg: f.msg}
	}
	slices.Reverse(f.path)
	return &ValueError{Loc: f.path, Offset: f.offset, Msg: f.msg, Type: f.typ}
}

// syntax returns a fault of the grammar at the current position.
func (d *decoder) syntax(msg string) *fault { return &fault{offset: d.pos, msg: msg} }

// refuse returns a fault of the value at the current position.
func (d *decoder) refuse(typ, msg string) *fault { return &fault{offset: d.pos, typ: typ, msg: msg} }

// document reads the one value of the body and requires that nothing follows it.
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

// space skips white space.
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

// literal reads true, false or null.
func (d *decoder) literal(word string) *fault {
	if !strings.HasPrefix(d.text[d.pos:], word) {
		return d.syntax("a value is expected")
	}
	d.pos += len(word)
	return nil
}

// nested reads an object or an array within the limit of depth.
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

// object reads an object. A key that occurs twice is a fault.
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

// member reads one key and its value into members.
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
	value, f := d.memberValue(key)
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

func (d *decoder) memberValue(key string) (any, *fault) {
	start := d.pos
	value, f := d.value()
	if d.spelling != nil && d.depth == 1 && key == d.spelling.Name && f == nil {
		d.spelling.Text = d.text[start:d.pos]
	}
	return value, f
}

func (d *decoder) array() (any, *fault) {
	d.pos++
	d.space()
	items := []any{}
	if d.peek() == ']' {
		d.pos++
		return items, nil
	}
	for {
		value, f := d.value()
		if f != nil {
			return nil, f.at(len(items))
		}
		items = append(items, value)
		switch d.space(); d.peek() {
		case ',':
			d.pos++
			d.space()
		case ']':
			d.pos++
			return items, nil
		default:
			return nil, d.syntax("',' or ']' is expected")
		}
	}
}

// invalidUTF8At returns the offset of the first byte that is not valid UTF-8.
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
