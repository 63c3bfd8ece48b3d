package shell

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/utils"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/account/staff"
	"github.com/countersign-dev/countersign/internal/authz/change"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/transport/request"
	"github.com/countersign-dev/countersign/models"
	"github.com/countersign-dev/countersign/web"
	"github.com/countersign-dev/countersign/web/console/show"
)

// Visit is one request to the console.
type Visit struct {
	*fiber.Ctx
	Shell   *Shell
	Context context.Context
	Session staff.Session // zero if the route is open
	Grant   staff.Grant   // of the environment in the path
	aged    *pg.Aged      // whether the page was read from a standby; nil if it may not be
}

// errUnconfirmed is returned when the passkey was not used recently. The page's script asks for it before it submits a form.
var errUnconfirmed = problem.New(problem.Forbidden, "Confirm this change with your passkey. This requires JavaScript.")

// guard authenticates the user and checks the route's right. An environment that does not exist, belongs to a different
// tenant, or in which the user has no role is a 404 in each case.
func (c *Shell) guard(l Line) fiber.Handler {
	return func(f *fiber.Ctx) error {
		v := &Visit{Ctx: f, Shell: c, Context: request.Context(f)}
		err := c.serve(v, l)
		if err != nil {
			err = v.refuse(err)
		}
		c.Tally.Refused(v.Principal(), l.Name, request.ForbiddenCode(f))
		return err
	}
}

func (c *Shell) serve(v *Visit, l Line) error {
	if err := c.admit(v, l); err != nil {
		return err
	}
	handler := l.handler
	if l.old {
		handler = mayBeOld(handler)
	}
	return handler(v)
}

// RefreshHeader marks requests that the page's script sends by itself. They do not extend the session.
const RefreshHeader = "X-Console-Refresh"

func (c *Shell) admit(v *Visit, l Line) error {
	if l.Right == Open {
		return nil
	}
	by := staff.FromPerson
	if l.unattended || v.Get(RefreshHeader) != "" {
		by = staff.FromScript
	}
	session, err := c.People.Authenticate(v.Context, c.Router.Cookie(v.Ctx, CookieName), by)
	if err != nil {
		return err
	}
	v.Session = session
	if l.Right == SignedIn {
		return nil
	}
	grant, ok := session.Grant(v.Param("environment"))
	if !ok {
		return problem.NewNotFound()
	}
	v.Grant = grant
	if !permits(l.Right, grant) {
		return problem.Newf(problem.Forbidden, "Your roles in this environment do not include the permission %s.", l.Right)
	}
	if l.fresh && c.Clock.Now().Sub(session.ConfirmedAt) >= staff.ConfirmationLife {
		return errUnconfirmed
	}
	return nil
}

// refuse handles an error: it redirects to the sign-in page if the user is not signed in, returns the error for scripts, and
// renders an error page inside the console otherwise.
func (v *Visit) refuse(err error) error {
	p := request.ProblemOf(err)
	if v.Accepts(fiber.MIMETextHTML, fiber.MIMEApplicationJSON) != fiber.MIMETextHTML {
		request.SetProblemCode(v.Ctx, p.Code)
		return err
	}
	if p.Code == problem.Unauthenticated {
		return v.toSignIn()
	}
	if v.Grant.Environment.ID == "" || problem.Of(p.Code).Status >= http.StatusInternalServerError {
		return err // the site renders its error page and logs the error
	}
	request.SetProblemCode(v.Ctx, p.Code)
	return v.Page(problem.Of(p.Code).Status, "problem.html", title(p), "", refusedPage{Title: title(p), Detail: p.Detail, Code: string(p.Code), RequestID: request.ID(v.Ctx)})
}

// refusedPage is the data of the error page.
type refusedPage struct {
	Title, Detail, Code, RequestID string
}

func title(p *problem.Error) string {
	switch problem.Of(p.Code).Status {
	case http.StatusNotFound:
		return "Not found"
	case http.StatusForbidden:
		return "Not allowed"
	default:
		return problem.Of(p.Code).Title
	}
}

// toSignIn redirects to the sign-in page. A navigation from a different site carries no cookie (SameSite=Strict) even if the
// user is signed in: it gets a page that opens the same URL again, which then carries the cookie.
func (v *Visit) toSignIn() error {
	if v.Method() != get {
		return v.Redirect(Prefix+"/sign-in", fiber.StatusSeeOther)
	}
	here := v.OriginalURL()
	if site := v.Get("Sec-Fetch-Site"); site == "cross-site" || site == "same-site" {
		v.Set("Refresh", "0; url="+here)
		return v.Shell.Router.Render(v.Ctx, fiber.StatusOK, web.Page{Template: "onward.html", Title: "One moment", Data: here})
	}
	return v.Redirect(Prefix+"/sign-in?next="+url.QueryEscape(here), fiber.StatusSeeOther)
}

// Next returns the page to open after signing in. Only pages of the console are allowed (no open redirect).
func Next(asked string) string {
	u, err := url.Parse(asked)
	if err != nil || u.IsAbs() || u.Host != "" || strings.Contains(asked, `\`) || path.Clean("/"+u.Path) != u.Path || (u.Path != Prefix && !strings.HasPrefix(u.Path, Prefix+"/")) ||
		strings.HasPrefix(u.Path, Prefix+"/sign-") || strings.HasPrefix(u.Path, Prefix+"/invitation") {
		return Prefix
	}
	return u.RequestURI()
}

// Principal returns the user as a principal of the environment.
func (v *Visit) Principal() identity.Principal {
	env := v.Grant.Environment
	return identity.Principal{
		TenantID: env.TenantID, EnvironmentID: env.ID, Kind: env.Kind, Person: v.Session.Person.ID,
		RequestID: request.ID(v.Ctx), TraceID: request.TraceID(v.Ctx),
	}
}

// Scope returns the environment of the page.
func (v *Visit) Scope() pg.Scope { return v.Principal().Store() }

// May reports whether the visitor has a right in the environment.
func (v *Visit) May(r Right) bool { return permits(r, v.Grant) }

// Param returns a parameter of the path.
func (v *Visit) Param(name string) string { return utils.CopyString(v.Params(name)) }

// Query returns a parameter of the query, without surrounding space.
func (v *Visit) Query(name string) string {
	return strings.TrimSpace(utils.CopyString(v.Ctx.Query(name)))
}

// Form returns a field of the submitted form.
func (v *Visit) Form(name string) string { return request.FormOf(v.Ctx).Value(name) }

// At returns the path of a page of the current environment.
func (v *Visit) At(parts ...string) string {
	out := Prefix + "/" + v.Grant.Environment.ID
	for _, p := range parts {
		out += "/" + url.PathEscape(p)
	}
	return out
}

// Back redirects to a page after a change.
func (v *Visit) Back(parts ...string) error { return v.Redirect(v.At(parts...), fiber.StatusSeeOther) }

// Changed redirects after a change: to the change request if it waits for a second approver.
func (v *Visit) Changed(requested *change.View, err error, to string) error {
	if err != nil {
		return err
	}
	if requested != nil {
		to = v.At("changes", requested.ID) + "?done=requested"
	}
	return v.Redirect(to, fiber.StatusSeeOther)
}

// Page renders a page inside the console's shell.
func (v *Visit) Page(status int, template, title, section string, body any) error {
	return v.Shell.Router.Render(v.Ctx, status, v.Framed(template, title, section, body))
}

// secretPage shows a new key or secret once. Other pages have no secret: forms are protected by the origin of the request, not by a token.
const secretPage = "secret.html"

// Framed returns a page in the console's frame.
func (v *Visit) Framed(template, title, section string, body any) web.Page {
	return web.Page{
		Template: template, Title: title, Script: "console.js", Style: "console.css", Wide: true, Foot: v.age(), Compressed: template != secretPage,
		Data: framed{Shell: v.shell(section), Body: body},
	}
}

// framed is the data of a template: the shell and the page's own data.
type framed struct {
	Shell shell
	Body  any
}

// shell is the header with navigation that all pages share.
type shell struct {
	Home    string
	Groups  []group
	Kind    models.EnvironmentKind
	Tenant  string
	Others  []show.Item // the user's environments
	Person  string
	Roles   []models.Role
	Stream  string // URL of the event stream; empty without the right to follow it
	Confirm string // URL of the confirmation by passkey
	Search  string // URL of the search of everything
	IdleAt  show.Stamp
	Notices string // URL of the user's notifications
	Passkey bool   // the user is to register their first passkey
	Altered bool   // a stored record that decides was changed outside of the service
}

// group is a group of entries of the navigation.
type group struct {
	Label string
	Items []show.Item
}

// shell returns the header of a page of a section.
func (v *Visit) shell(section string) shell {
	now := v.Shell.Clock.Now()
	s := shell{
		Home: v.At(), Kind: v.Grant.Environment.Kind, Tenant: v.Grant.Environment.RPName, Person: v.Session.Person.Name,
		Roles: v.Grant.Roles, Confirm: v.At("confirm"), Search: v.At("search"), IdleAt: show.Stamp{Time: v.Session.IdleAt, Now: now},
		Notices: v.At("notifications"), Passkey: v.Session.NeedsPasskey, Altered: v.Shell.Altered(v),
	}
	for _, k := range v.Shell.Entries {
		if !v.May(k.Right) {
			continue
		}
		entry := show.Item{Label: k.Label, URL: v.At(k.Path), Key: k.Key, Current: k.Path == section}
		if k.Count != nil {
			entry.Count = k.Count(v)
		}
		if k.Alarm != nil {
			entry.Alarm = k.Alarm(v)
		}
		if n := len(s.Groups); n == 0 || s.Groups[n-1].Label != k.Group {
			s.Groups = append(s.Groups, group{Label: k.Group})
		}
		last := &s.Groups[len(s.Groups)-1]
		last.Items = append(last.Items, entry)
	}
	if v.May(ReadDecisions) {
		s.Stream = v.At("stream")
	}
	for _, g := range v.Session.Grants {
		s.Others = append(s.Others, show.Item{
			Label: string(g.Environment.Kind), URL: Prefix + "/" + g.Environment.ID, Current: g.Environment.ID == v.Grant.Environment.ID,
		})
	}
	return s
}

// IsAbsent reports whether err means not found.
func IsAbsent(err error) bool {
	return problem.Is(err, problem.NotFound) || errors.Is(err, pg.ErrNotFound)
}
