// Package canonical encodes values as RFC 8785 canonical JSON and computes digests of it.
//
// Every digest that the service publishes (content hashes, action hashes, resource and context digests) is computed here, so
// that a relying party can recompute it in any language from docs/proof.md. The package may not read a clock, use
// randomness or do I/O, and it may not repair its input: a value that cannot be represented exactly is an error.
package canonical

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"strconv"
	"unicode/utf8"

	"github.com/gowebpki/jcs"
)

// MaxSafeInteger is 2^53-1, the largest magnitude at which every integer has its own IEEE 754 double. RFC 8785 writes
// numbers as doubles, so above it two different inputs could share one digest.
const MaxSafeInteger = 1<<53 - 1

// ErrUnsafeNumber is wrapped by errors about a number whose magnitude is above MaxSafeInteger, in any notation, or that no
// double can represent. Callers should send such a value as a string.
var ErrUnsafeNumber = errors.New("number is outside ±(2^53-1)")

// ErrInvalidUTF8 is returned for a string that is not valid UTF-8: encoding/json would replace the bad bytes, and
// different strings would share one digest.
var ErrInvalidUTF8 = errors.New("string is not valid UTF-8")

// JSON returns the RFC 8785 form of v, which may be anything encoding/json can marshal. A json.RawMessage is accepted
// if it spells U+FFFD as itself and not as an escape. JSON fails on what has no exact form: NaN and infinities, unsafe
// numbers, invalid UTF-8, lone surrogates, duplicate keys, channels, cycles.
func JSON(v any) ([]byte, error) {
	raw, err := json.Marshal(v)
	if err == nil {
		err = checkExact(raw)
	}
	if err == nil {
		raw, err = jcs.Transform(raw)
	}
	if err != nil {
		return nil, fmt.Errorf("canonical JSON: %w", err)
	}
	return raw, nil
}

// Digest returns "sha256:" and the lower-case hex SHA-256 of JSON(v).
func Digest(v any) (string, error) {
	form, err := JSON(v)
	if err != nil {
		return "", err
	}
	return DigestBytes(form), nil
}

// DigestBytes returns "sha256:" and the lower-case hex SHA-256 of b as it stands.
func DigestBytes(b []byte) string {
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// checkExact scans marshalled JSON (known to be well formed) for numbers and strings that would lose information in canonical
// form. encoding/json writes the escape \ufffd for a byte that it replaced, and a genuine U+FFFD unescaped: the escape reveals
// invalid UTF-8 in the input.
func checkExact(raw []byte) error {
	if !utf8.Valid(raw) { // a json.RawMessage passes through encoding/json unchecked
		return ErrInvalidUTF8
	}
	for i := 0; i < len(raw); {
		switch c := raw[i]; {
		case c == '"':
			end, ok := stringEnd(raw, i)
			if !ok {
				return ErrInvalidUTF8
			}
			i = end
		case c == '-' || (c >= '0' && c <= '9'):
			end := numberEnd(raw, i)
			if err := checkNumber(raw[i:end]); err != nil {
				return err
			}
			i = end
		default:
			i++
		}
	}
	return nil
}

// stringEnd returns the index after the string that starts at i; ok is false if the string contains a \ufffd escape.
func stringEnd(raw []byte, i int) (end int, ok bool) {
	for i++; raw[i] != '"'; i++ {
		if raw[i] != '\\' {
			continue
		}
		if bytes.HasPrefix(raw[i:], []byte(`\ufffd`)) {
			return 0, false
		}
		i++
	}
	return i + 1, true
}

// numberEnd returns the index after the number that starts at i.
func numberEnd(raw []byte, i int) int {
	for i < len(raw) && bytes.IndexByte([]byte("+-.0123456789eE"), raw[i]) >= 0 {
		i++
	}
	return i
}

// checkNumber returns ErrUnsafeNumber unless a double represents the number and its magnitude is at most MaxSafeInteger.
func checkNumber(token []byte) error {
	f, err := strconv.ParseFloat(string(token), 64)
	if err != nil || f > MaxSafeInteger || f < -MaxSafeInteger {
		return fmt.Errorf("%w: %.40s", ErrUnsafeNumber, token)
	}
	return nil
}

// WriteParts hashes parts with their lengths, eight bytes each in big endian, so that no two lists of parts have the same bytes.
func WriteParts(h hash.Hash, parts ...[]byte) {
	var length [8]byte
	for _, part := range parts {
		binary.BigEndian.PutUint64(length[:], uint64(len(part)))
		_, _ = h.Write(length[:]) // a hash.Hash never fails
		_, _ = h.Write(part)
	}
}
