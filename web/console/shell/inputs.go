package shell

import (
	"encoding/base64"
	"net/url"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/account/staff"
	"github.com/countersign-dev/countersign/internal/authz/change"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/transport/request"
	"github.com/countersign-dev/countersign/web"
)

// NonEmpty returns the values that are not empty, for a query string.
func NonEmpty(values map[string]string) url.Values {
	q := url.Values{}
	for name, value := range values {
		if value != "" {
			q.Set(name, value)
		}
	}
	return q
}

// By is the user as one who manages staff.
func (v *Visit) By() staff.By {
	return staff.By{Person: v.Session.Person.ID, RequestID: request.ID(v.Ctx)}
}

// Changer is the user as the author of a change that may wait for a second approver.
func (v *Visit) Changer() change.By {
	return change.By{Actor: v.Principal().Actor(), RequestID: request.ID(v.Ctx)}
}

// All returns the values of a field that is submitted several times.
func (v *Visit) All(name string) []string {
	return request.FormOf(v.Ctx).Values(name)
}

// Upload returns an uploaded file in base64; empty if there is none.
func (v *Visit) Upload(name string) string {
	return base64.StdEncoding.EncodeToString(request.FormOf(v.Ctx).File(name))
}

// Sure refuses a change that cannot be undone unless the user pressed the button that says so.
func (v *Visit) Sure() error {
	if v.Form("sure") != "yes" {
		return problem.New(problem.BadRequest, "sure must be yes: use the button of the page.")
	}
	return nil
}

// MayOpen reports whether the user may open a section.
func (v *Visit) MayOpen(page string) bool {
	for _, k := range v.Shell.Entries {
		if k.Path == page {
			return v.May(k.Right)
		}
	}
	return false
}

const (
	// CookieName names the cookie of a console session.
	CookieName = "console_session"
	// MaxCeremony limits the body of a passkey ceremony, in bytes.
	MaxCeremony = 32 << 10
)

// SessionCookie returns the name of the cookie that a signed-in person's browser sends to the service at the base URL.
func SessionCookie(baseURL string) string { return web.CookieName(CookieName, baseURL) }

// home redirects to the first environment in which the user has a role.
func (c *Shell) home(v *Visit) error {
	if len(v.Session.Grants) == 0 {
		return problem.New(problem.Forbidden, "You have no role in any environment.")
	}
	return v.Redirect(Prefix+"/"+v.Session.Grants[0].Environment.ID, fiber.StatusSeeOther)
}

// start redirects to the first section that the user may see.
func (c *Shell) start(v *Visit) error {
	for _, k := range c.Entries {
		if v.May(k.Right) {
			return v.Back(k.Path)
		}
	}
	return problem.NewNotFound()
}

// ListPage is the page size of lists that the console shows without a filter.
const ListPage = 200

// Paged has the parts of the page of a list besides its rows.
type Paged struct {
	Next string // URL of the next page; empty on the last one
	New  string // URL of the form for a new record; empty without the right
}

// List reads the page of a list that the URL asks for. The list is a section, and who has the right makes new records in it.
func List[T any](v *Visit, section string, maker Right, read func(pg.Page) ([]T, string, error)) ([]T, Paged, error) {
	var out Paged
	rows, next, err := read(pg.Page{Limit: ListPage, After: v.Query("cursor")})
	if err != nil {
		return nil, out, CursorFault(err)
	}
	if next != "" {
		out.Next = v.At(section) + "?cursor=" + url.QueryEscape(next)
	}
	if v.May(maker) {
		out.New = v.At(section, "new")
	}
	return rows, out, nil
}

// Reason returns why the user makes a change.
func (v *Visit) Reason() string {
	return strings.TrimSpace(strings.ReplaceAll(v.Form("reason"), "\r\n", "\n"))
}

// CursorFault turns an invalid cursor into a bad request.
func CursorFault(err error) error {
	if strings.Contains(err.Error(), pg.ErrCursor.Error()) {
		return problem.New(problem.BadRequest, "cursor is not valid. Start at the first page of the list.")
	}
	return err
}
