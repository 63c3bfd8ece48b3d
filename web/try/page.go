// Package try is the page on which a newcomer meets the service: enrolls by typing, is recognised, hands the keyboard over,
// and pays with pretended money. It lives in a sandbox on a development machine and nowhere else.
//
// It may not do what a relying party could not do over the API: it asks the same services, in the name of a server key that
// never leaves the process. A visitor reaches nothing but the subject that was made for them, which is erased after a day.
package try

import (
	"context"
	"embed"
	"io/fs"
	"net/http"
	"sync"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/account/ratelimit"
	"github.com/countersign-dev/countersign/internal/authz/action"
	"github.com/countersign-dev/countersign/internal/authz/authorization"
	"github.com/countersign-dev/countersign/internal/authz/challenge"
	"github.com/countersign-dev/countersign/internal/authz/signing"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/platform/store"
	"github.com/countersign-dev/countersign/internal/subject"
	"github.com/countersign-dev/countersign/internal/subject/enrollment"
	"github.com/countersign-dev/countersign/internal/subject/session"
	"github.com/countersign-dev/countersign/internal/transport/request"
	"github.com/countersign-dev/countersign/models"
	"github.com/countersign-dev/countersign/web"
)

//go:embed templates
var templates embed.FS

const (
	cookie    = "try"
	maxBody   = 16 << 10 // bytes of what the page's script sends
	tokenLife = 15 * time.Minute
	// Requests an hour from one address. Evidence is counted apart, by its client token.
	visitsAnHour = 60
	movesAnHour  = 2000
)

// Deps are what the page works with. All are required.
type Deps struct {
	// Key is a server key of a sandbox environment.
	Key            string
	BaseURL        string
	Clock          clock.Clock
	Keys           *keyring.Keyring
	Store          Subjects
	Identity       *identity.Service
	Limiter        *ratelimit.Limiter
	Subjects       *subject.Service
	Sessions       *session.Service
	Enrollments    *enrollment.Service
	Actions        *action.Service
	Authorizations *authorization.Service
	Challenges     *challenge.Service
	Proofs         *signing.Service
	// Await waits until the run of an enrollment has ended.
	Await func(ctx context.Context, r enrollment.WorkflowInput) error
}

// Subjects reads one subject.
type Subjects interface {
	Get(ctx context.Context, s store.Scope, id string) (models.Subject, error)
}

// Page is the page and what it does for its visitors.
type Page struct {
	Deps
	router   *web.Router
	offering sync.Mutex // one at a time makes the action that visitors pay under
}

// New makes the page.
func New(d Deps) *Page { return &Page{Deps: d} }

// Section is the part of the site under /try.
func (p *Page) Section() (web.Section, error) {
	files, err := fs.Sub(templates, "templates")
	return web.Section{Prefix: "/try", Templates: files, Routes: func(r *web.Router) {
		p.router = r
		r.Get("/try", "page_try", p.show)
		r.Get("/try/state", "page_try_state", p.state)
		r.Get("/try/decision", "page_try_decision", p.decision)
		r.Post("/try/begin", "page_try_begin", p.begin)
		r.Post("/try/session", "page_try_session", p.session)
		r.Post("/try/token", "page_try_token", p.token)
		r.Post("/try/enroll", "page_try_enroll", p.enroll)
		r.Post("/try/stranger", "page_try_stranger", p.stranger)
		r.Post("/try/pay", "page_try_pay", p.pay)
		r.Post("/try/confirm", "page_try_confirm", p.confirm)
		r.Post("/try/verify", "page_try_verify", p.verify)
		r.Post("/try/forget", "page_try_forget", p.forget)
	}}, err
}

// view is what the template shows.
type view struct {
	Passages []string
	Figures  []figure
	Limits   []string
	Policy   string
}

func (p *Page) show(c *fiber.Ctx) error {
	return p.router.Render(c, http.StatusOK, web.Page{
		Template: "try.html", Title: "Try it", Script: "try.js", Style: "try.css", Wide: true,
		Data: view{Passages: passages, Figures: figures, Limits: limits, Policy: policyText()},
	})
}

// principal is the server key that the page asks by.
func (p *Page) principal(c *fiber.Ctx) (identity.Principal, error) {
	who, err := p.Identity.Authenticate(request.Context(c), p.Key)
	if err != nil {
		return who, err
	}
	if who.Kind != models.Sandbox {
		return who, problem.New(problem.SandboxOnly, "This page is for sandboxes.")
	}
	who.Page, who.RequestID, who.TraceID = "try", request.ID(c), request.TraceID(c)
	return who, nil
}

// take counts a request against the quota of the address it comes from.
func (p *Page) take(c *fiber.Ctx, what string, limit int) error {
	d, err := p.Limiter.Take(request.Context(c), "try:"+what+":"+c.IP(), limit)
	if err != nil || d.Allowed {
		return nil //nolint:nilerr // a limiter that is away refuses nobody
	}
	e := problem.New(problem.RateLimited, "That is a lot of trying from one address. Come back in a while.")
	e.RetryAfter = d.Reset
	return e
}
