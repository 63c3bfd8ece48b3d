package models

import (
	"bytes"
	"encoding/hex"
	"fmt"

	"github.com/countersign-dev/countersign/models/typeid"
)

// Texts of a document that no dictionary has, and that are bytes written as characters: they are half as long as bytes. Each is a whole
// JSON string. The bytes that mark them do not occur in UTF-8.
const (
	markEnd    = 0xf8 // of a document
	markID     = 0xfd // the three letters of an id's prefix and its 128 bits
	markTrace  = 0xfe // 16 bytes in hex, such as the id of a trace
	markDigest = 0xff // SHA-256 in hex behind digestPrefix

	digestPrefix = "sha256:"
	digestSize   = 32
	digestLength = len(digestPrefix) + 2*digestSize
	traceSize    = 16
	idSize       = 3 + 16
	idLength     = 30
)

// appendShort appends a document in which the marks replace what they stand for, and its end. It returns false if the document is no text:
// then it has no short form.
func appendShort(dst, document []byte) ([]byte, bool) {
	rest := document
	for {
		quote := bytes.IndexByte(rest, '"')
		if quote < 0 {
			return append(append(dst, rest...), markEnd), !hasMarks(document)
		}
		dst, rest = append(dst, rest[:quote+1]...), rest[quote+1:]
		var n int
		if dst, n = appendMarked(dst, rest); n > 0 {
			rest = rest[n:]
		}
	}
}

func hasMarks(document []byte) bool {
	for _, b := range document {
		if b >= markEnd {
			return true
		}
	}
	return false
}

// appendMarked appends the short form of the string that text begins with, and returns its length in the document; 0 if it has none.
func appendMarked(dst, text []byte) ([]byte, int) {
	ends := func(n int) bool { return len(text) > n && text[n] == '"' }
	if ends(idLength) {
		if out, ok := appendID(append(dst, markID), text[:idLength]); ok {
			return out, idLength
		}
	}
	if ends(2 * traceSize) {
		if out, ok := appendHex(append(dst, markTrace), text[:2*traceSize]); ok {
			return out, 2 * traceSize
		}
	}
	if ends(digestLength) && bytes.HasPrefix(text, []byte(digestPrefix)) {
		if out, ok := appendHex(append(dst, markDigest), text[len(digestPrefix):digestLength]); ok {
			return out, digestLength
		}
	}
	return dst, 0
}

// appendHex appends the bytes of lower-case hex. It returns false for other text.
func appendHex(dst, text []byte) ([]byte, bool) {
	for _, c := range text {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return dst, false
		}
	}
	out, err := hex.AppendDecode(dst, text)
	return out, err == nil
}

// appendID appends the prefix and the bits of an id. It returns false for other text.
func appendID(dst, text []byte) ([]byte, bool) {
	if text[3] != '_' || text[0] >= markEnd || text[1] >= markEnd || text[2] >= markEnd {
		return dst, false
	}
	return typeid.AppendBits(append(dst, text[:3]...), text[4:])
}

// expandID appends the id of its prefix and its bits.
func expandID(dst, short []byte) []byte {
	return typeid.AppendDigits(append(append(dst, short[:3]...), '_'), short[3:])
}

// markedSizes are the numbers of bytes behind the marks.
var markedSizes = map[byte]int{markDigest: digestSize, markTrace: traceSize, markID: idSize}

// cutShort returns the first document that appendShort appended, and the rest.
func cutShort(b []byte) (document, rest []byte, err error) {
	document = make([]byte, 0, len(b))
	for i := 0; i < len(b); i++ {
		mark := b[i]
		if mark < markEnd {
			document = append(document, mark)
			continue
		}
		if mark == markEnd {
			return document, b[i+1:], nil
		}
		size, ok := markedSizes[mark]
		if !ok || i+size >= len(b) {
			break
		}
		document = expand(document, mark, b[i+1:i+1+size])
		i += size
	}
	return nil, nil, fmt.Errorf("%w: a part of it is missing", errCompressed)
}

// expand appends what a mark and the bytes behind it stand for.
func expand(dst []byte, mark byte, short []byte) []byte {
	switch mark {
	case markDigest:
		return hex.AppendEncode(append(dst, digestPrefix...), short)
	case markTrace:
		return hex.AppendEncode(dst, short)
	default:
		return expandID(dst, short)
	}
}
