package canonical

import (
	"crypto/sha256"
	"fmt"
	"math"
	"slices"
	"strconv"
	"sync"
	"unicode/utf8"

	"github.com/gowebpki/jcs"
)

// Form is a canonical document that its caller writes member by member, in the canonical order of their keys. Its memory is reused:
// nothing that a method returns refers to it. The first value without an exact form is the error of Sum and Digest.
type Form struct {
	out *[]byte
	err error
}

// forms pools the memory of forms, which is wiped: a context may have personal data.
var forms = sync.Pool{New: func() any { return new([]byte) }}

// NewForm returns an empty form. The caller calls Close.
func NewForm() Form {
	out, _ := forms.Get().(*[]byte)
	return Form{out: out}
}

// Close wipes the form and releases its memory.
func (f *Form) Close() {
	clear(*f.out)
	*f.out = (*f.out)[:0]
	forms.Put(f.out)
}

// Raw appends what is canonical already: braces, keys and constants.
func (f *Form) Raw(part string) *Form {
	*f.out = append(*f.out, part...)
	return f
}

// RawBytes is Raw for bytes, which need not be a part of the document: a salt may precede it.
func (f *Form) RawBytes(part []byte) *Form {
	*f.out = append(*f.out, part...)
	return f
}

// Texts appends a list of strings, or null for a nil list.
func (f *Form) Texts(list []string) *Form {
	if list == nil {
		return f.Raw("null")
	}
	f.Raw("[")
	for i, s := range list {
		if i > 0 {
			f.Raw(",")
		}
		f.Text(s)
	}
	return f.Raw("]")
}

// Text appends a string.
func (f *Form) Text(s string) *Form {
	if !utf8.ValidString(s) {
		return f.fail(ErrInvalidUTF8)
	}
	*f.out = appendText(*f.out, s)
	return f
}

// Integer appends an integer of a magnitude up to MaxSafeInteger.
func (f *Form) Integer(n int64) *Form {
	if n > MaxSafeInteger || n < -MaxSafeInteger {
		return f.fail(fmt.Errorf("%w: %d", ErrUnsafeNumber, n))
	}
	*f.out = strconv.AppendInt(*f.out, n, 10)
	return f
}

// Value appends any value, as JSON does.
func (f *Form) Value(v any) *Form {
	start := len(*f.out)
	out, ok := appendTree(*f.out, v, 0)
	*f.out = out
	if ok {
		return f
	}
	slow, err := marshalled(v)
	if err != nil {
		return f.fail(err)
	}
	*f.out = append((*f.out)[:start], slow...)
	return f
}

func (f *Form) fail(err error) *Form {
	if f.err == nil {
		f.err = fmt.Errorf("canonical JSON: %w", err)
	}
	return f
}

// Bytes returns a copy of the form; false if a value has no exact form.
func (f *Form) Bytes() ([]byte, bool) {
	if f.err != nil {
		return nil, false
	}
	return slices.Clone(*f.out), true
}

// Sum returns the SHA-256 of the form.
func (f *Form) Sum() ([sha256.Size]byte, error) {
	if f.err != nil {
		return [sha256.Size]byte{}, f.err
	}
	return sha256.Sum256(*f.out), nil
}

// Digest returns "sha256:" and the lower-case hex SHA-256 of the form.
func (f *Form) Digest() (string, error) {
	if f.err != nil {
		return "", f.err
	}
	return DigestBytes(*f.out), nil
}

// maxTreeDepth is the nesting up to which appendTree follows a value. Bodies are limited to less; a value that contains itself has no end.
const maxTreeDepth = 64

// appendTree appends a value as decoders of JSON make it, without the detour by encoding/json. It returns false for other types and for
// what has no exact form: JSON then gives the reason.
func appendTree(out []byte, v any, depth int) ([]byte, bool) {
	if depth > maxTreeDepth {
		return out, false
	}
	switch v := v.(type) {
	case nil:
		return append(out, "null"...), true
	case bool:
		return strconv.AppendBool(out, v), true
	case string:
		return appendText(out, v), utf8.ValidString(v)
	case float64:
		return appendNumber(out, v)
	case []any:
		return appendItems(out, v, depth)
	case map[string]any:
		return appendMembers(out, v, depth)
	default:
		return out, false
	}
}

func appendNumber(out []byte, f float64) ([]byte, bool) {
	if math.IsNaN(f) || f > MaxSafeInteger || f < -MaxSafeInteger {
		return out, false
	}
	if f == math.Trunc(f) { // -0 too, which ECMAScript writes as 0
		return strconv.AppendInt(out, int64(f), 10), true
	}
	text, err := jcs.NumberToJSON(f)
	return append(out, text...), err == nil
}

func appendItems(out []byte, items []any, depth int) ([]byte, bool) {
	out = append(out, '[')
	for i, item := range items {
		if i > 0 {
			out = append(out, ',')
		}
		var ok bool
		if out, ok = appendTree(out, item, depth+1); !ok {
			return out, false
		}
	}
	return append(out, ']'), true
}

func appendMembers(out []byte, members map[string]any, depth int) ([]byte, bool) {
	var some [16]string
	keys := some[:0]
	for key := range members {
		if !utf8.ValidString(key) {
			return out, false
		}
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b string) int { return byUnits([]byte(a), []byte(b)) })
	out = append(out, '{')
	for i, key := range keys {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(appendText(out, key), ':')
		var ok bool
		if out, ok = appendTree(out, members[key], depth+1); !ok {
			return out, false
		}
	}
	return append(out, '}'), true
}
