// Package jsonappend appends JSON exactly as encoding/json encodes it, without its reflection and its copy of the result, for the documents
// that every decision writes. What it returns false or falls back for is left to encoding/json.
package jsonappend

import (
	"encoding/json"
	"math"
	"strconv"
)

// Text appends a string behind the bytes that precede it. Only a string with characters that JSON or HTML escapes, or that are no ASCII, is
// left to encoding/json.
func Text(b []byte, before, s string) []byte {
	b = append(b, before...)
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			escaped, _ := json.Marshal(s) // a string has no error
			return append(b, escaped...)
		}
	}
	return append(append(append(b, '"'), s...), '"')
}

// OptionalText appends a string, or null.
func OptionalText(b []byte, before string, s *string) []byte {
	if s == nil {
		return append(append(b, before...), "null"...)
	}
	return Text(b, before, *s)
}

// Texts appends a list of strings, or null for a nil list.
func Texts[T ~string](b []byte, before string, list []T) []byte {
	b = append(b, before...)
	if list == nil {
		return append(b, "null"...)
	}
	b = append(b, '[')
	for i, s := range list {
		b = Text(b, Separator(i), string(s))
	}
	return append(b, ']')
}

// Integer appends an integer.
func Integer(b []byte, before string, n int64) []byte {
	return strconv.AppendInt(append(b, before...), n, 10)
}

// OptionalInteger appends an integer, or null.
func OptionalInteger(b []byte, before string, n *int64) []byte {
	if n == nil {
		return append(append(b, before...), "null"...)
	}
	return Integer(b, before, *n)
}

// Bool appends a boolean.
func Bool(b []byte, before string, v bool) []byte {
	return strconv.AppendBool(append(b, before...), v)
}

// Number appends a number. Only one that is written with an exponent is left to encoding/json. It returns false for a number that JSON does
// not have.
func Number(b []byte, before string, f float64) ([]byte, bool) {
	b = append(b, before...)
	if size := math.Abs(f); size == 0 || size >= 1e-6 && size < 1e21 {
		return strconv.AppendFloat(b, f, 'f', -1, 64), true
	}
	text, err := json.Marshal(f)
	return append(b, text...), err == nil
}

// Separator returns the bytes that precede the i-th member of a list.
func Separator(i int) string {
	if i == 0 {
		return ""
	}
	return ","
}
