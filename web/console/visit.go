package console

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
)

// visit is one request to the console.
type visit struct {
	*fiber.Ctx
	console *console
	ctx     context.Context
	session staff.Session // zero if the route is open
	grant   staff.Grant   // of the environment in the path
	aged    *pg.Aged      // whether the page was read from a standby; nil if it may not be
}

// errUnconfirmed is returned when the passkey was not used recently. The page's script asks for it before it submits a form.
var errUnconfirmed = problem.New(problem.Forbidden, "Confirm this change with your passkey. This requires JavaScript.")

// guard authenticates the user and checks the route's right. An environment that does not exist, belongs to a different
// tenant, or in which the user has no role is a 404 in each case.
func (c *console) guard(l line) fiber.Handler {
	return func(f *fiber.Ctx) error {
		v := &visit{Ctx: f, console: c, ctx: request.Context(f)}
		err := c.serve(v, l)
		if err != nil {
			err = v.refuse(err)
		}
		c.Tally.Refused(v.principal(), l.Name, request.ForbiddenCode(f))
		return err
	}
}

func (c *console) serve(v *visit, l line) error {
	if err := c.admit(v, l); err != nil {
		return err
	}
	handler := l.handler
	if l.old {
		handler = mayBeOld(handler)
	}
	return handler(v)
}

// refreshHeader marks requests that the page's script sends by itself. They do not extend the session.
const refreshHeader = "X-Console-Refresh"

func (c *console) admit(v *visit, l line) error {
	if l.Right == Open {
		return nil
	}
	by := staff.FromPerson
	if l.unattended || v.Get(refreshHeader) != "" {
		by = staff.FromScript
	}
	session, err := c.People.Authenticate(v.ctx, c.router.Cookie(v.Ctx, cookieName), by)
	if err != nil {
		return err
	}
	v.session = session
	if l.Right == SignedIn {
		return nil
	}
	grant, ok := session.Grant(v.param("environment"))
	if !ok {
		return problem.NewNotFound()
	}
	v.grant = grant
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
func (v *visit) refuse(err error) error {
	p := request.ProblemOf(err)
	if v.Accepts(fiber.MIMETextHTML, fiber.MIMEApplicationJSON) != fiber.MIMETextHTML {
		request.SetProblemCode(v.Ctx, p.Code)
		return err
	}
	if p.Code == problem.Unauthenticated {
		return v.toSignIn()
	}
	if v.grant.Environment.ID == "" || problem.Of(p.Code).Status >= http.StatusInternalServerError {
		return err // the site renders its error page and logs the error
	}
	request.SetProblemCode(v.Ctx, p.Code)
	return v.page(problem.Of(p.Code).Status, "problem.html", title(p), "", refusedPage{Title: title(p), Detail: p.Detail, Code: string(p.Code), RequestID: request.ID(v.Ctx)})
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
func (v *visit) toSignIn() error {
	if v.Method() != get {
		return v.Redirect(Prefix+"/sign-in", fiber.StatusSeeOther)
	}
	here := v.OriginalURL()
	if site := v.Get("Sec-Fetch-Site"); site == "cross-site" || site == "same-site" {
		v.Set("Refresh", "0; url="+here)
		return v.console.router.Render(v.Ctx, fiber.StatusOK, web.Page{Template: "onward.html", Title: "One moment", Data: here})
	}
	return v.Redirect(Prefix+"/sign-in?next="+url.QueryEscape(here), fiber.StatusSeeOther)
}

// next returns the page to open after signing in. Only pages of the console are allowed (no open redirect).
func next(asked string) string {
	u, err := url.Parse(asked)
	if err != nil || u.IsAbs() || u.Host != "" || strings.Contains(asked, `\`) || path.Clean("/"+u.Path) != u.Path || (u.Path != Prefix && !strings.HasPrefix(u.Path, Prefix+"/")) ||
		strings.HasPrefix(u.Path, Prefix+"/sign-") || strings.HasPrefix(u.Path, Prefix+"/invitation") {
		return Prefix
	}
	return u.RequestURI()
}

// principal returns the user as a principal of the environment.
func (v *visit) principal() identity.Principal {
	env := v.grant.Environment
	return identity.Principal{
		TenantID: env.TenantID, EnvironmentID: env.ID, Kind: env.Kind, Person: v.session.Person.ID,
		RequestID: request.ID(v.Ctx), TraceID: request.TraceID(v.Ctx),
	}
}

func (v *visit) scope() pg.Scope { return v.principal().Store() }

func (v *visit) may(r Right) bool { return permits(r, v.grant) }

func (v *visit) param(name string) string { return utils.CopyString(v.Params(name)) }

func (v *visit) query(name string) string { return strings.TrimSpace(utils.CopyString(v.Query(name))) }

func (v *visit) form(name string) string { return request.FormOf(v.Ctx).Value(name) }

// at returns the path of a page of the current environment.
func (v *visit) at(parts ...string) string {
	out := Prefix + "/" + v.grant.Environment.ID
	for _, p := range parts {
		out += "/" + url.PathEscape(p)
	}
	return out
}

// back redirects to a page after a change.
func (v *visit) back(parts ...string) error { return v.Redirect(v.at(parts...), fiber.StatusSeeOther) }

// changed redirects after a change: to the change request if it waits for a second approver.
func (v *visit) changed(requested *change.View, err error, to string) error {
	if err != nil {
		return err
	}
	if requested != nil {
		to = v.at("changes", requested.ID) + "?done=requested"
	}
	return v.Redirect(to, fiber.StatusSeeOther)
}

// page renders a page inside the console's shell.
func (v *visit) page(status int, template, title, section string, body any) error {
	return v.console.router.Render(v.Ctx, status, v.framed(template, title, section, body))
}

func (v *visit) framed(template, title, section string, body any) web.Page {
	return web.Page{
		Template: template, Title: title, Script: "console.js", Style: "console.css", Wide: true, Foot: v.age(),
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
	Others  []item // the user's environments
	Person  string
	Roles   []models.Role
	Stream  string // URL of the event stream; empty without the right to follow it
	Confirm string // URL of the confirmation by passkey
	Search  string // URL of the search of everything
	IdleAt  stamp
	Notices string // URL of the user's notifications
	Passkey bool   // the user is to register their first passkey
	Altered bool   // a stored record that decides was changed outside of the service
}

// group is a group of entries of the navigation.
type group struct {
	Label string
	Items []item
}

// item is one entry of the navigation.
type item struct {
	Label, URL, Key string
	Current         bool
	Count           *int64
	Alarm           int // problems
}

// CountOrZero returns the count, 0 if there is none, for the template.
func (i item) CountOrZero() int64 {
	if i.Count == nil {
		return 0
	}
	return *i.Count
}

// sections are the entries of the navigation, by group.
var sections = []struct {
	group, label, path, key string
	right                   Right
}{
	{"Work", "Reviews", "reviews", "r", SeeReviews},
	{"Work", "Decisions", "decisions", "d", Explore},
	{"Policy", "Policies", "policies", "p", SeePolicies},
	{"Policy", "Lists", "lists", "i", SeeLists},
	{"Policy", "Changes", "changes", "c", SeeChanges},
	{"Policy", "Evaluations", "evaluations", "e", SeeEvaluations},
	{"Integrate", "Webhooks", "webhooks", "w", SeeWebhooks},
	{"Integrate", "API keys", "keys", "k", SeeKeys},
	{"Administer", "People", "people", "o", SeePeople},
	{"Administer", "Teams", "teams", "t", SeeTeams},
	{"Administer", "Settings", "settings", "s", SeeSettings},
	{"Administer", "Health", "health", "h", SeeHealth},
	{"Administer", "Audit log", "audit", "l", SeeAudit},
}

func (v *visit) shell(section string) shell {
	now := v.console.Clock.Now()
	s := shell{
		Home: v.at(), Kind: v.grant.Environment.Kind, Tenant: v.grant.Environment.RPName, Person: v.session.Person.Name,
		Roles: v.grant.Roles, Confirm: v.at("confirm"), Search: v.at("search"), IdleAt: stamp{v.session.IdleAt, now},
		Notices: v.at(notificationsPath), Passkey: v.session.NeedsPasskey,
	}
	verdict := v.verdict()
	s.Altered = verdict.altered
	for _, k := range sections {
		if !v.may(k.right) {
			continue
		}
		entry := item{Label: k.label, URL: v.at(k.path), Key: k.key, Current: k.path == section}
		switch k.path {
		case "reviews":
			entry.Count = v.waiting()
		case "changes":
			entry.Count = v.waitingChanges()
		case "health":
			entry.Alarm = verdict.broken
		}
		if n := len(s.Groups); n == 0 || s.Groups[n-1].Label != k.group {
			s.Groups = append(s.Groups, group{Label: k.group})
		}
		last := &s.Groups[len(s.Groups)-1]
		last.Items = append(last.Items, entry)
	}
	if v.may(SeeReviews) {
		s.Stream = v.at("stream")
	}
	for _, g := range v.session.Grants {
		s.Others = append(s.Others, item{
			Label: string(g.Environment.Kind), URL: Prefix + "/" + g.Environment.ID, Current: g.Environment.ID == v.grant.Environment.ID,
		})
	}
	return s
}

// waiting counts the pending holds; nil if counting fails, which does not fail the page.
func (v *visit) waiting() *int64 {
	counts, err := v.console.Holds.Counts(v.ctx, v.scope(), "", "")
	if err != nil {
		return nil
	}
	return &counts.Pending
}

// waitingChanges counts the pending change requests; nil if counting fails, which does not fail the page.
func (v *visit) waitingChanges() *int64 {
	n, err := v.console.Changes.Pending(v.ctx, v.scope())
	if err != nil {
		return nil
	}
	return &n
}

// isAbsent reports whether err means not found.
func isAbsent(err error) bool {
	return problem.Is(err, problem.NotFound) || errors.Is(err, pg.ErrNotFound)
}
