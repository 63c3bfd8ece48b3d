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
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/platform/store"
	"github.com/countersign-dev/countersign/internal/transport/request"
	"github.com/countersign-dev/countersign/models"
	"github.com/countersign-dev/countersign/web"
)

// visit is one request of a person.
type visit struct {
	*fiber.Ctx
	console *console
	ctx     context.Context
	session staff.Session // zero where the route is open
	grant   staff.Grant   // of the environment in the path
}

// errUnconfirmed asks the page's script to have the passkey used again.
var errUnconfirmed = problem.New(problem.Forbidden, "Confirm this change with your passkey first. Your browser must run this page's script for that.")

// guard finds out who is there and what they may do. An environment in which the person has no role, or which is another
// tenant's, or which is not there, is one and the same 404.
func (c *console) guard(l line) fiber.Handler {
	return func(f *fiber.Ctx) error {
		v := &visit{Ctx: f, console: c, ctx: request.Context(f)}
		if err := c.admit(v, l); err != nil {
			return v.refuse(err)
		}
		if err := l.handler(v); err != nil {
			return v.refuse(err)
		}
		return nil
	}
}

// refreshHeader marks what a page's script asks for without the person: it keeps no session alive.
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
		return problem.Newf(problem.Forbidden, "Your role in this environment does not let you %s.", l.Right)
	}
	if l.fresh && c.Clock.Now().Sub(session.ConfirmedAt) >= staff.ConfirmationLife {
		return errUnconfirmed
	}
	return nil
}

// refuse answers an error: a person who is not signed in is shown the way, a script gets the problem, and everybody else a
// page that keeps the console around it.
func (v *visit) refuse(err error) error {
	p := request.ProblemOf(err)
	if v.Accepts(fiber.MIMETextHTML, fiber.MIMEApplicationJSON) != fiber.MIMETextHTML {
		return err
	}
	if p.Code == problem.Unauthenticated {
		return v.toSignIn()
	}
	if v.grant.Environment.ID == "" || problem.Of(p.Code).Status >= http.StatusInternalServerError {
		return err // the site's own page; it logs what went wrong
	}
	request.SetProblemCode(v.Ctx, p.Code)
	return v.page(problem.Of(p.Code).Status, "problem.html", title(p), "", refusal{Title: title(p), Detail: p.Detail, Code: string(p.Code), RequestID: request.ID(v.Ctx)})
}

// refusal is what the page of a refused request shows.
type refusal struct {
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

// toSignIn shows the way in. A visit that another site's page began carries no cookie (SameSite=Strict), however much the
// person is signed in: it is sent around once more, from here.
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

// next is where a person goes after signing in: a page of the console, whatever the address says.
func next(asked string) string {
	u, err := url.Parse(asked)
	if err != nil || u.IsAbs() || u.Host != "" || strings.Contains(asked, `\`) || path.Clean("/"+u.Path) != u.Path || (u.Path != Prefix && !strings.HasPrefix(u.Path, Prefix+"/")) ||
		strings.HasPrefix(u.Path, Prefix+"/sign-") || strings.HasPrefix(u.Path, Prefix+"/invitation") {
		return Prefix
	}
	return u.RequestURI()
}

// principal is the person as the services know them.
func (v *visit) principal() identity.Principal {
	env := v.grant.Environment
	return identity.Principal{
		TenantID: env.TenantID, EnvironmentID: env.ID, Kind: env.Kind, Person: v.session.Person.ID,
		RequestID: request.ID(v.Ctx), TraceID: request.TraceID(v.Ctx),
	}
}

func (v *visit) scope() store.Scope { return v.principal().Store() }

func (v *visit) may(r Right) bool { return permits(r, v.grant) }

func (v *visit) param(name string) string { return utils.CopyString(v.Params(name)) }

func (v *visit) query(name string) string { return strings.TrimSpace(utils.CopyString(v.Query(name))) }

func (v *visit) form(name string) string { return utils.CopyString(v.FormValue(name)) }

// at is the address of a page of the visit's environment.
func (v *visit) at(parts ...string) string {
	out := Prefix + "/" + v.grant.Environment.ID
	for _, p := range parts {
		out += "/" + url.PathEscape(p)
	}
	return out
}

// back answers a change: the page to look at now.
func (v *visit) back(parts ...string) error { return v.Redirect(v.at(parts...), fiber.StatusSeeOther) }

// page answers a page with the console around it.
func (v *visit) page(status int, template, title, section string, body any) error {
	return v.console.router.Render(v.Ctx, status, web.Page{
		Template: template, Title: title, Script: "console.js", Style: "console.css", Wide: true,
		Data: framed{Shell: v.shell(section), Body: body},
	})
}

// framed is what a template gets: the console around the page, and the page.
type framed struct {
	Shell shell
	Body  any
}

// shell is what stands around every page.
type shell struct {
	Home    string
	Items   []item
	Kind    models.EnvironmentKind
	Tenant  string
	Others  []item // the person's other environments
	Person  string
	Roles   []models.Role
	Stream  string // address of the event stream; empty where the person may not follow
	Confirm string // address of the confirmation
	IdleAt  stamp
}

// item is one entry of the navigation.
type item struct {
	Label, URL, Key string
	Current         bool
	Count           *int64
}

// CountOrZero is the count for the template.
func (i item) CountOrZero() int64 {
	if i.Count == nil {
		return 0
	}
	return *i.Count
}

var sections = []struct {
	label, path, key string
	right            Right
}{
	{"Reviews", "reviews", "r", SeeReviews},
	{"Decisions", "decisions", "d", Explore},
	{"Policies", "policies", "p", SeePolicies},
	{"Evaluations", "evaluations", "e", SeeEvaluations},
	{"Webhooks", "webhooks", "w", SeeWebhooks},
	{"Health", "health", "h", SeeHealth},
	{"Audit log", "audit", "l", SeeAudit},
}

func (v *visit) shell(section string) shell {
	now := v.console.Clock.Now()
	s := shell{
		Home: v.at(), Kind: v.grant.Environment.Kind, Tenant: v.grant.Environment.RPName, Person: v.session.Person.Name,
		Roles: v.grant.Roles, Confirm: v.at("confirm"), IdleAt: stamp{v.session.IdleAt, now},
	}
	for _, k := range sections {
		if !v.may(k.right) {
			continue
		}
		entry := item{Label: k.label, URL: v.at(k.path), Key: k.key, Current: k.path == section}
		if k.path == "reviews" {
			entry.Count = v.waiting()
		}
		s.Items = append(s.Items, entry)
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

// waiting counts the holds that wait; nil where they cannot be counted now, which is no reason to refuse a page.
func (v *visit) waiting() *int64 {
	counts, err := v.console.Holds.Counts(v.ctx, v.scope(), "", "")
	if err != nil {
		return nil
	}
	return &counts.Pending
}

// isAbsent reports whether err says that there is no such thing.
func isAbsent(err error) bool {
	return problem.Is(err, problem.NotFound) || errors.Is(err, store.ErrNotFound)
}
