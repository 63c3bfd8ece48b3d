// Package typeid has the two forms of an id's 128 bits: 16 bytes, and 26 digits of Crockford's base32 in lower case
// (github.com/jetify-com/typeid, spec 0.3). It may not know prefixes or how the bits are made (internal/platform/ids).
package typeid

const (
	// Digits is the number of digits of an id. The first has three bits, the others five.
	Digits = 26
	// alphabet is without i, l, o and u, which are easily confused.
	alphabet = "0123456789abcdefghjkmnpqrstvwxyz"
	none     = 0xff
)

var values = func() (values [256]byte) {
	for i := range values {
		values[i] = none
	}
	for i, c := range []byte(alphabet) {
		values[c] = byte(i)
	}
	return values
}()

// AppendDigits appends the digits of 16 bytes.
func AppendDigits(dst, bits []byte) []byte {
	var acc uint16
	held := 2 // as many zeros precede the 128 bits
	for _, b := range bits {
		acc, held = acc<<8|uint16(b), held+8
		for held >= 5 {
			held -= 5
			dst = append(dst, alphabet[acc>>held&31])
		}
	}
	return dst
}

// AppendBits appends the bytes of 26 digits. It returns false for other text, of which it may have appended a part.
func AppendBits[T string | []byte](dst []byte, digits T) ([]byte, bool) {
	if len(digits) != Digits || digits[0] > '7' { // 26 digits have 130 bits
		return dst, false
	}
	var acc uint16
	held := -2
	for i := range len(digits) {
		v := values[digits[i]]
		if v == none {
			return dst, false
		}
		acc, held = acc<<5|uint16(v), held+5
		if held >= 8 {
			held -= 8
			dst = append(dst, byte(acc>>held)) // #nosec G115 -- the higher bits were appended before
		}
	}
	return dst, true
}
