// Package exact refuses JSON that two decoders can read differently, so that the value that is shown and authorized is the value that
// is executed. It decodes nothing.
package exact

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"strconv"
	"unicode"
	"unicode/utf8"
)

// maxNumber is the most characters of a number: a double needs no more than 25.
const maxNumber = 64

// maxDepth is the deepest nesting of objects and lists.
const maxDepth = 100

// ErrSyntax reports a text that is not one JSON value in UTF-8.
var ErrSyntax = errors.New("it is not one JSON value")

// Check returns nil if every decoder reads the text as the same value. It refuses objects with two members of one name, or of names that
// differ in case only, numbers that a double cannot represent, unpaired surrogates, and nesting beyond 100 levels. The error is a
// sentence for the sender.
func Check(raw []byte) error {
	if !utf8.Valid(raw) || unpaired(raw) {
		return ErrSyntax
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := value(d, 0); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return ErrSyntax
	}
	return nil
}

// unpaired reports whether a text has the escape of half a character, which decoders replace in different ways. encoding/json decodes it to
// the replacement character, which a text can also contain itself: only the escapes are read.
func unpaired(raw []byte) bool {
	var high bool
	for i := 0; i < len(raw); i++ {
		unit, escaped := escape(raw[i:])
		switch low := escaped && unit >= 0xdc00 && unit <= 0xdfff; {
		case high != low:
			return true
		case low:
			high = false
		default:
			high = escaped && unit >= 0xd800 && unit <= 0xdbff
		}
		switch {
		case escaped:
			i += len(`\u0000`) - 1
		case raw[i] == '\\':
			i++ // an escaped backslash begins nothing
		}
	}
	return high
}

// escape reads \uXXXX at the beginning of a text.
func escape(text []byte) (unit uint64, ok bool) {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return 0, false
	}
	unit, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	return unit, err == nil
}

// value reads one value.
func value(d *json.Decoder, depth int) error {
	token, err := d.Token()
	if err != nil || depth > maxDepth {
		return ErrSyntax
	}
	switch v := token.(type) {
	case json.Number:
		if !isExact(string(v)) {
			return fmt.Errorf("the number %.24s is too large or too long to be exact: send it as a string", v)
		}
	case json.Delim:
		return members(d, v == '{', depth)
	}
	return nil
}

// members reads an object or a list to its end.
func members(d *json.Decoder, named bool, depth int) error {
	seen := map[string]bool{}
	for d.More() {
		if named {
			token, err := d.Token()
			if err != nil {
				return ErrSyntax
			}
			name, _ := token.(string) // the decoder accepts nothing else
			if seen[Fold(name)] {
				return fmt.Errorf("the member %.60q is there twice, or in two spellings", name)
			}
			seen[Fold(name)] = true
		}
		if err := value(d, depth+1); err != nil {
			return err
		}
	}
	if _, err := d.Token(); err != nil {
		return ErrSyntax
	}
	return nil
}

// Fold returns one form of all names that are equal under Unicode simple case folding (strings.EqualFold).
func Fold(name string) string {
	folded := make([]rune, 0, len(name))
	for _, r := range name {
		least := r
		for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
			least = min(least, next)
		}
		folded = append(folded, least)
	}
	return string(folded)
}

func isExact(text string) bool {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || len(text) > maxNumber {
		return false
	}
	if f == 0 {
		return !bytes.ContainsAny([]byte(mantissa(text)), "123456789") // what is only rounded to 0 has a huge exponent
	}
	sent, ok := new(big.Rat).SetString(text)
	if !ok {
		return false
	}
	kept, ok := new(big.Rat).SetString(strconv.FormatFloat(f, 'g', -1, 64))
	return ok && sent.Cmp(kept) == 0
}

// mantissa returns a number's digits before its exponent.
func mantissa(text string) string {
	if i := bytes.IndexAny([]byte(text), "eE"); i >= 0 {
		return text[:i]
	}
	return text
}
