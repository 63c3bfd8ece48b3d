package exports

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/delivery/listexport"
	"github.com/countersign-dev/countersign/internal/platform/apitime"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/transport/pacing"
	"github.com/countersign-dev/countersign/web/console/shell"
)

// exportPause is the longest pause of a client that reads an export.
const exportPause = 30 * time.Second

// Links are the URLs at which a page's list is exported with its filter.
type Links struct{ CSV, JSONLines string }

// Of returns the links of a list. filter is the query string of the list without a cursor.
func Of(v *shell.Visit, filter url.Values, parts ...string) Links {
	link := func(f listexport.Format) string {
		q := url.Values{"format": {string(f)}}
		for name, values := range filter {
			q[name] = values
		}
		return v.At(append([]string{"export"}, parts...)...) + "?" + q.Encode()
	}
	return Links{link(listexport.CSV), link(listexport.JSONLines)}
}

// Handler returns the handler that sends a list as a file. list reads the filter of the URL; its source is read after the handler
// has returned, so it must not use the visit.
func (c *Pages) Handler(list func(v *shell.Visit) (listexport.List, error)) func(*shell.Visit) error {
	return func(v *shell.Visit) error {
		format := listexport.Format(v.Query("format"))
		if format != listexport.CSV && format != listexport.JSONLines {
			return problem.New(problem.BadRequest, "format must be csv or jsonl.")
		}
		wanted, err := list(v)
		if err != nil {
			return err
		}
		file, err := c.Exports.Open(v.Context, v.Principal(), wanted, format)
		if err != nil {
			return err
		}
		env := v.Grant.Environment
		name := strings.Join([]string{wanted.Name, string(env.Kind), env.ID, c.Clock.Now().UTC().Format("20060102T150405Z")}, "_")
		v.Set(fiber.HeaderContentType, format.MediaType())
		v.Set(fiber.HeaderContentDisposition, `attachment; filename="`+name+"."+string(format)+`"`)
		v.Set(fiber.HeaderCacheControl, "no-store")
		// The length is unknown: if reading fails, the server closes the connection without the last chunk.
		v.Status(fiber.StatusOK).Response().SetBodyStream(pacing.New(file, v.Ctx.Context().Conn(), exportPause, listexport.Limit), -1)
		return nil
	}
}

// Said collects the filters in force for the audit log.
type Said []string

// Value adds a filter with its value if the value is one of the known ones, and its name alone if it may be anything.
func (f *Said) Value(name, value string, known ...string) {
	switch {
	case value == "":
	case slices.Contains(known, value):
		*f = append(*f, name+"="+value)
	default:
		*f = append(*f, name)
	}
}

// Time adds a time that is given.
func (f *Said) Time(name string, at *time.Time) {
	if at != nil {
		*f = append(*f, name+"="+apitime.Time(*at))
	}
}
