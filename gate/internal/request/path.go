package request

import (
	"net/url"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/countersign-dev/countersign/sdk/go/exact"
)

// Path is a path with one meaning. Segments are decoded; a path that ends with a slash has an empty last segment, and "/" is one empty
// segment. Canonical is the only spelling of the path.
type Path struct {
	Segments  []string
	Canonical string
}

// pchar are the characters of a path segment besides letters, digits and escapes (RFC 3986 section 3.3), without the semicolon.
const pchar = "-._~!$&'()*+,=:@"

func parsePath(text string, rewritten bool) (Path, error) {
	for i := range len(text) {
		c := text[i]
		if alphanumeric(c) || strings.IndexByte(pchar+"/%;", c) >= 0 {
			continue
		}
		if err := refuse(true, RuleCharacters, "The path has a character that must be percent-encoded."); err != nil {
			return Path{}, err
		}
	}
	lower := strings.ToLower(text)
	for _, check := range []struct {
		broken       bool
		rule, detail string
	}{
		{strings.Contains(lower, ";") || strings.Contains(lower, "%3b"), RuleParameters, "The path must not have parameters (;)."},
		{strings.Contains(lower, "%2f") || strings.Contains(lower, "%5c") || strings.Contains(lower, "%3f") || strings.Contains(lower, "%23"),
			RuleSeparator, "The path must not have an encoded slash, backslash, question mark or number sign."},
		{strings.Contains(lower, "%25"), RuleDouble, "The path must not have an encoded percent sign."},
	} {
		if err := refuse(check.broken, check.rule, check.detail); err != nil {
			return Path{}, err
		}
	}
	var path Path
	parts := strings.Split(strings.TrimPrefix(text, "/"), "/")
	for i, part := range parts {
		segment, err := parseSegment(part, i == len(parts)-1)
		if err != nil {
			return Path{}, err
		}
		path.Segments = append(path.Segments, segment)
		path.Canonical += "/" + escape(segment)
	}
	if err := refuse(!rewritten && path.Canonical != text, RuleSpelling,
		"The path must be in its canonical spelling: only characters that require it are percent-encoded, in capital letters."); err != nil {
		return Path{}, err
	}
	if !rewritten {
		path.Canonical = text
	}
	return path, nil
}

// parseSegment decodes one segment.
func parseSegment(part string, last bool) (string, error) {
	segment, err := url.PathUnescape(part)
	if err != nil {
		return "", &Refusal{RuleCharacters, "The path has an incomplete percent-encoding."}
	}
	control := strings.IndexFunc(segment, func(r rune) bool { return r < ' ' || r == 0x7f || (r >= 0x80 && r < 0xa0) }) >= 0
	for _, check := range []struct {
		broken       bool
		rule, detail string
	}{
		{segment == "" && !last, RuleEmpty, "The path must not have empty segments (//)."},
		{segment == "." || segment == "..", RuleDots, "The path must not have the segments . and .."},
		{control, RuleControl, "The path must not have control characters."},
		{!utf8.ValidString(segment), RuleUTF8, "The path must be UTF-8."},
		{compatible(segment), RuleCompatibility, "The path has a character that some servers read as a separator."},
	} {
		if err := refuse(check.broken, check.rule, check.detail); err != nil {
			return "", err
		}
	}
	return segment, nil
}

// compatible reports whether a server that folds compatible characters, such as full-width ones, reads a delimiter that is missing.
func compatible(segment string) bool {
	folded := norm.NFKC.String(segment)
	for _, c := range "/\\.;%?#" {
		if strings.Count(folded, string(c)) > strings.Count(segment, string(c)) {
			return true
		}
	}
	return false
}

// escape spells a segment in the canonical way.
func escape(segment string) string {
	const digits = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(segment) {
		c := segment[i]
		if alphanumeric(c) || strings.IndexByte(pchar, c) >= 0 {
			b.WriteByte(c)
			continue
		}
		b.WriteByte('%')
		b.WriteByte(digits[c>>4])
		b.WriteByte(digits[c&15])
	}
	return b.String()
}

func alphanumeric(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// Fold returns a form that is equal for all segments that lenient servers treat as one: without regard to case, compatible characters and
// dots and spaces at the end.
func Fold(segment string) string {
	return strings.TrimRight(exact.Fold(norm.NFKC.String(segment)), ". ")
}
