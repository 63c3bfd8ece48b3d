package request

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/platform/problem"
)

// maxParts limits the fields of a form. The largest page has some sixty.
const maxParts = 1000

// CheckEncoding refuses a body in any content coding: no operation needs one, and a limit on its size would be a limit on what it
// expands to only after it has been expanded.
func CheckEncoding(c *fiber.Ctx) error {
	for _, coding := range c.Request().Header.PeekAll(fiber.HeaderContentEncoding) {
		if len(coding) > 0 && !strings.EqualFold(string(coding), "identity") {
			return problem.New(problem.UnsupportedMedia, "Content-Encoding must be identity: send the body without compression.")
		}
	}
	return nil
}

// Body returns the body as it was sent. It must not be used after the handler. Fiber's own accessors, which decompress and copy, are
// forbidden by the linter.
func Body(c *fiber.Ctx) []byte { return c.Request().Body() }

// Form has the fields of a submitted form.
type Form struct {
	values url.Values
	files  map[string][]byte
}

// Value returns the first value of a field; empty if there is none.
func (f Form) Value(name string) string { return f.values.Get(name) }

// Values returns every value of a field.
func (f Form) Values(name string) []string { return f.values[name] }

// File returns an uploaded file; nil if there is none.
func (f Form) File(name string) []byte { return f.files[name] }

// FormOf returns the fields that ReadForm has read.
func FormOf(c *fiber.Ctx) Form { return of(c).form }

// ReadForm reads the fields of a form for FormOf. A body of another type has none. Unlike Fiber's it never takes a field from the
// query, and stores nothing on disk.
func ReadForm(c *fiber.Ctx) error {
	var form Form
	var err error
	switch media, params, _ := mime.ParseMediaType(string(c.Request().Header.ContentType())); media {
	case fiber.MIMEApplicationForm:
		form.values, err = url.ParseQuery(string(Body(c)))
	case fiber.MIMEMultipartForm:
		form, err = readParts(multipart.NewReader(bytes.NewReader(Body(c)), params["boundary"]))
	}
	if err != nil || !form.isText() {
		return problem.New(problem.BadRequest, "The body is not a valid form in UTF-8.")
	}
	of(c).form = form
	return nil
}

// readParts reads the parts of a multipart form, whose size the server has limited.
func readParts(r *multipart.Reader) (Form, error) {
	form := Form{values: url.Values{}, files: map[string][]byte{}}
	for range maxParts {
		part, err := r.NextRawPart()
		if errors.Is(err, io.EOF) {
			return form, nil
		}
		if err != nil {
			return Form{}, err
		}
		content, err := io.ReadAll(part)
		if err != nil {
			return Form{}, err
		}
		if name := part.FormName(); part.FileName() != "" {
			form.files[name] = content
		} else {
			form.values.Add(name, string(content))
		}
	}
	return Form{}, errors.New("too many parts")
}

// isText reports whether the database can store all names and values as text.
func (f Form) isText() bool {
	for name, values := range f.values {
		for _, v := range append(values, name) {
			if !utf8.ValidString(v) || strings.ContainsRune(v, 0) {
				return false
			}
		}
	}
	return true
}
