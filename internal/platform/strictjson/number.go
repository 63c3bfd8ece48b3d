package strictjson

import (
	"fmt"
	"strconv"
	"strings"
)

// maxNumberLength is the most characters a number may have. No double needs more than 25; the rest is headroom for senders that
// print more digits than a double has.
const maxNumberLength = 64

// number reads the number at pos by the grammar of RFC 8259.
func (d *decoder) number() (any, *fault) {
	start := d.pos
	if d.peek() == '-' {
		d.pos++
	}
	if !d.integerPart() {
		return nil, d.syntax("a digit is expected, and no leading zero")
	}
	integer := true
	if d.peek() == '.' {
		d.pos++
		if integer = false; d.digits() == 0 {
			return nil, d.syntax("a digit is expected after the point")
		}
	}
	if c := d.peek(); c == 'e' || c == 'E' {
		d.pos++
		if c := d.peek(); c == '+' || c == '-' {
			d.pos++
		}
		if integer = false; d.digits() == 0 {
			return nil, d.syntax("a digit is expected in the exponent")
		}
	}
	return d.convert(start, integer)
}

// convert turns the scanned token into a double. Integers of up to 15 digits take a faster path: every one of them is exact.
func (d *decoder) convert(start int, integer bool) (any, *fault) {
	token := d.text[start:d.pos]
	if integer && len(token) <= 15 {
		n, _ := strconv.Atoi(token) // the scan accepted only digits
		return float64(n), nil
	}
	if len(token) > maxNumberLength {
		return nil, &fault{offset: start, typ: TypeNumberTooLong, msg: fmt.Sprintf("a number of more than %d characters", maxNumberLength)}
	}
	n, err := strconv.ParseFloat(token, 64)
	if err != nil || n == 0 && !isZero(token) {
		return nil, &fault{offset: start, typ: TypeNumberOutOfRange, msg: "the number does not fit a double"}
	}
	if !d.anyFinite && (n > MaxSafeInteger || n < -MaxSafeInteger) {
		return nil, &fault{offset: start, typ: TypeNumberOutOfRange, msg: "numbers beyond ±(2^53-1) are not exact; send a string"}
	}
	return n, nil
}

// isZero reports whether the exact value of a number is 0. One that is only rounded to 0 can have a billion decimals, by its exponent.
func isZero(token string) bool {
	mantissa, _, _ := strings.Cut(strings.ToLower(token), "e")
	return !strings.ContainsAny(mantissa, "123456789")
}

// integerPart reads a single 0, or digits that do not begin with 0.
func (d *decoder) integerPart() bool {
	if d.peek() == '0' {
		d.pos++
		c := d.peek()
		return c < '0' || c > '9'
	}
	return d.digits() > 0
}

// digits reads digits and returns their number.
func (d *decoder) digits() int {
	start := d.pos
	for c := d.peek(); c >= '0' && c <= '9'; c = d.peek() {
		d.pos++
	}
	return d.pos - start
}
