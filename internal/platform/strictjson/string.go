package strictjson

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// str reads the string at pos. A string without escapes, which is the usual case, is a substring of the text.
func (d *decoder) str() (string, *fault) {
	d.pos++
	start := d.pos
	for ; d.pos < len(d.text); d.pos++ {
		switch c := d.text[d.pos]; {
		case c == '"':
			d.pos++
			return d.text[start : d.pos-1], nil
		case c == '\\':
			return d.escaped(start)
		case c < ' ':
			return "", d.syntax("a control character in a string must be escaped")
		}
	}
	return "", d.syntax("the string does not end")
}

// escaped reads the rest of a string from its first escape.
func (d *decoder) escaped(start int) (string, *fault) {
	var out strings.Builder
	out.WriteString(d.text[start:d.pos])
	for d.pos < len(d.text) {
		switch c := d.text[d.pos]; {
		case c == '"':
			d.pos++
			return out.String(), nil
		case c == '\\':
			r, f := d.escape()
			if f != nil {
				return "", f
			}
			out.WriteRune(r)
		case c < ' ':
			return "", d.syntax("a control character in a string must be escaped")
		default:
			out.WriteByte(c)
			d.pos++
		}
	}
	return "", d.syntax("the string does not end")
}

// escape reads the escape at pos, a surrogate pair as one.
func (d *decoder) escape() (rune, *fault) {
	if d.pos+1 >= len(d.text) {
		return 0, d.syntax("the string does not end")
	}
	c := d.text[d.pos+1]
	if c == 'u' {
		return d.unicodeEscape()
	}
	i := strings.IndexByte(`"\/bfnrt`, c)
	if i < 0 {
		return 0, d.syntax("no such escape")
	}
	d.pos += 2
	return rune("\"\\/\b\f\n\r\t"[i]), nil
}

// unicodeEscape reads \uXXXX, and the second half if it is the first half of a surrogate pair.
func (d *decoder) unicodeEscape() (rune, *fault) {
	r, ok := hex4(d.text[d.pos:])
	switch {
	case !ok:
		return 0, d.syntax(`four hexadecimal digits are expected after \u`)
	case r == 0:
		return 0, d.refuse(TypeNUL, "the character NUL is not accepted in text")
	case !utf16.IsSurrogate(r):
		d.pos += 6
		return r, nil
	}
	low, ok := hex4(d.text[d.pos+6:])
	pair := utf16.DecodeRune(r, low)
	if !ok || pair == utf8.RuneError {
		return 0, d.refuse(TypeLoneSurrogate, "half of a surrogate pair stands alone")
	}
	d.pos += 12
	return pair, nil
}

// hex4 reads \uXXXX at the start of s.
func hex4(s string) (rune, bool) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(s[2:6], 16, 16)
	return rune(n), err == nil
}
