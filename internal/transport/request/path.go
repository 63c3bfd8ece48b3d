package request

import (
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/platform/problem"
)

// CheckTarget refuses a request whose target can be read in two ways. A path is split into segments before it is decoded: a segment
// that contains an encoded slash, or is one of the dot segments that clients and proxies resolve, would otherwise select another
// operation than the one that a proxy or a log has seen. A query must be text.
func CheckTarget(c *fiber.Ctx) error {
	segments := strings.Split(string(c.Request().URI().PathOriginal()), "/")
	for i, segment := range segments {
		if segment == "" && i > 0 && i < len(segments)-1 {
			return problem.New(problem.NotFound, "No operation has this path: it contains an empty segment.")
		}
		decoded, err := url.PathUnescape(segment)
		if err != nil || strings.ContainsAny(decoded, `/\`) || decoded == "." || decoded == ".." {
			return problem.New(problem.NotFound, "No operation has this path: a segment must not be a dot segment or contain an encoded slash, a backslash or an incomplete escape.")
		}
	}
	if path := string(c.Request().URI().PathOriginal()); strings.Contains(path, "+") {
		c.Path(strings.ReplaceAll(path, "+", "%2B")) // Fiber would decode it as a space, as in a query
	}
	text := true
	c.Context().QueryArgs().VisitAll(func(name, value []byte) {
		text = text && utf8.Valid(name) && utf8.Valid(value) && !strings.ContainsRune(string(name)+string(value), 0)
	})
	if !text {
		return problem.Invalid([]any{"query"}, "The query must be UTF-8 text without NUL.", "string_unicode")
	}
	return nil
}
